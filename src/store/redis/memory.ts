/** The memory of a Redis, by INFO: how full it is, and how much of it the cache may fill. */
import type { Redis } from 'ioredis';
import type { Clock } from '../../lib/clock.js';
import { oneAtATime } from '../../lib/repeat.js';
import { startTicks, stopTicks } from '../../lib/time.js';
import { StoreUnavailable } from '../port.js';
import { type StoreLog, StoreRefused } from '../refused.js';
import { type RedisClient, serversOf } from './connect.js';
import { bounded, isAnswer, unavailable } from './failure.js';
import type { Link } from './link.js';

/** Memory of one server, as INFO tells it. */
export interface ServerMemory {
  readonly server: Redis;
  /** Bytes that count against the limit. */
  readonly usedBytes: number;
  /** `maxmemory`; 0: no limit. */
  readonly maxBytes: number;
  readonly policy: string;
}

/** @returns of each server; none where INFO says nothing of its memory, or is forbidden */
async function readMemory(client: RedisClient): Promise<readonly ServerMemory[]> {
  try {
    const read = serversOf(client).map(async (server) => parseMemory(server, await server.info('memory')));
    return (await Promise.all(read)).flat();
  } catch (error) {
    if (isAnswer(error)) return [];
    throw error;
  }
}

function parseMemory(server: Redis, info: string): ServerMemory[] {
  const read = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
  const used = Number(read('used_memory'));
  if (!Number.isFinite(used)) return [];
  // Buffers of replicas and of the journal, which the server leaves out when it looks at the limit.
  const usedBytes = used - Number(read('mem_not_counted_for_evict') ?? 0);
  const maxBytes = Number(read('maxmemory') ?? 0);
  return [{ server, usedBytes, maxBytes, policy: read('maxmemory_policy') ?? '' }];
}

/**
 * Makes sure that the server of registry, history and pins may not evict them. Their keys do not expire, and a `volatile-*`
 * policy evicts only keys that do.
 *
 * @throws StoreRefused under an `allkeys-*` policy.
 * @throws StoreUnavailable when the server does not answer within `limitMs`.
 */
export async function refuseEviction(client: RedisClient, limitMs: number, logger: StoreLog): Promise<void> {
  const policies = await bounded(readPolicies(client), limitMs).catch((error: unknown) => {
    throw unavailable('Redis did not tell its eviction policy', error);
  });
  if (policies.includes(''))
    logger.warn(
      {},
      'Redis does not tell its eviction policy; see to it that maxmemory-policy is noeviction or volatile-*, or teams, tokens and history may be evicted',
    );
  const unsafe = policies.find((policy) => policy.startsWith('allkeys-'));
  if (unsafe !== undefined)
    throw new StoreRefused(
      `Redis has maxmemory-policy ${unsafe}, which may evict teams, keys and tokens: set it to noeviction or to a volatile-* policy, or let REDIS_REGISTRY_URL name another Redis for them`,
    );
}

/** By INFO, or where that is forbidden or does not tell it, by CONFIG; '' when neither tells. */
async function readPolicies(client: RedisClient): Promise<readonly string[]> {
  const told = (await readMemory(client)).map(({ policy }) => policy);
  if (told.length > 0 && !told.includes('')) return told;
  return await Promise.all(
    serversOf(client).map(async (server) => {
      try {
        const [, policy = ''] = (await server.config('GET', 'maxmemory-policy')) as string[];
        return policy;
      } catch (error) {
        if (isAnswer(error)) return '';
        throw error;
      }
    }),
  );
}

/** Whether the server refuses writes, or is about to: what could be evicted is evicted before that. */
function isFull({ usedBytes, maxBytes, policy }: ServerMemory): boolean {
  return policy === 'noeviction' && maxBytes > 0 && usedBytes >= maxBytes;
}

/** How often a server is asked how full it is. */
const LOOK_EVERY_MS = 2000;
/** A refusal is over when the server has room again or, where it does not tell, after so long without another. */
const REFUSED_MS = 30_000;

export type MemoryWatch = ReturnType<typeof createMemoryWatch>;

/** Knows how full a Redis is, and logs once when it begins to refuse writes, and once when it takes them again. */
export function createMemoryWatch(link: Pick<Link, 'call'>, role: string, clock: Clock, logger: StoreLog) {
  let latest: readonly ServerMemory[] = [];
  let full = false;
  let refusedAtMs = Number.NEGATIVE_INFINITY;

  function setFull(now: boolean): void {
    if (now === full) return;
    full = now;
    const servers = latest.map(({ usedBytes, maxBytes }) => ({ usedBytes, maxBytes }));
    if (now)
      logger.error(
        { role, servers },
        'Redis has no memory left and refuses changes: keys cannot be revoked, nor caches purged. Raise its maxmemory, or remove what else fills it',
      );
    else logger.info({ role }, 'Redis takes changes again');
  }

  /** Asks now. @returns none when Redis does not tell. @throws StoreUnavailable */
  async function look(): Promise<readonly ServerMemory[]> {
    latest = await link.call('info', readMemory);
    const hasRoom = latest.every(({ usedBytes, maxBytes }) => maxBytes === 0 || usedBytes < maxBytes);
    if (latest.some(isFull)) setFull(true);
    else if ((latest.length > 0 && hasRoom) || clock.monotonicMs() - refusedAtMs > REFUSED_MS) setFull(false);
    return latest;
  }

  const timer = startTicks(() => {
    look().catch(() => {
      // Its link logs that Redis is away.
    });
  }, LOOK_EVERY_MS).unref();

  return {
    /** Of each server, by its last answer; none before. */
    get latest() {
      return latest;
    },
    /** Whether Redis refuses what would need memory. */
    get full() {
      return full;
    },
    look,
    /** Redis refused a write for lack of memory. */
    refused(): void {
      refusedAtMs = clock.monotonicMs();
      setFull(true);
    },
    stop: () => stopTicks(timer),
  };
}

/** Where nothing is set, the cache may fill this part of `maxmemory`; where something is, no more than the other. */
const [USUAL_PART, LARGEST_PART] = [0.5, 0.875];
/** Room is made from this part of the bound on, down to the other, so that writes seldom wait for it. */
const [MAKE_ROOM_ABOVE, MAKE_ROOM_TO] = [0.95, 0.85];
/** Other replicas write at the same time: of what is left one takes no more than this before it looks again. */
const GRANTED_PART = 0.25;
/** A look is good for so long. */
const LOOK_MS = 1000;
/** Keys looked at in one step, and the part of them, those not used for longest, that is removed. */
const [SAMPLE, REMOVED_PART] = [200, 0.3];
const MOST_STEPS = 100;
/** What a key takes at least. */
const KEY_BYTES = 100;

export type CacheBound = ReturnType<typeof createCacheBound>;

/**
 * Keeps the cache from filling the Redis that holds everything else too: by what INFO says of its memory, and by what
 * was written since. Beyond the bound nothing is kept until entries have been removed that were not used for longest.
 *
 * @param pattern of keys of cache entries
 * @param wanted bytes on all servers together; undefined: by their `maxmemory`
 */
export function createCacheBound(
  link: Pick<Link, 'call'>,
  watch: MemoryWatch,
  pattern: string,
  wanted: number | undefined,
  clock: Clock,
  logger: StoreLog,
) {
  /** Bytes that may be written before the next look. */
  let granted = 0;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let making = false;

  const look = oneAtATime(async () => {
    const servers = await watch.look();
    lookedAtMs = clock.monotonicMs();
    const left = servers.map((one) => Math.max(0, boundOf(one, servers.length) - one.usedBytes));
    granted = Math.min(...left) * GRANTED_PART;
    if (servers.some((one) => one.usedBytes > MAKE_ROOM_ABOVE * boundOf(one, servers.length)))
      void makeRoom(servers);
  });

  /** @returns bytes one server may use before nothing more is cached; Infinity without a limit */
  function boundOf({ maxBytes }: ServerMemory, servers: number): number {
    const most = maxBytes === 0 ? Number.POSITIVE_INFINITY : maxBytes;
    return wanted === undefined ? most * USUAL_PART : Math.min(wanted / servers, most * LARGEST_PART);
  }

  /** Behind the writes; one at a time. What is left of it is done after a later look. */
  async function makeRoom(servers: readonly ServerMemory[]): Promise<void> {
    if (making) return;
    making = true;
    try {
      for (const one of servers)
        await removeOldest(one.server, one.usedBytes - boundOf(one, servers.length) * MAKE_ROOM_TO);
    } catch (error) {
      if (!(error instanceof StoreUnavailable))
        logger.warn({ err: error }, 'no room could be made in the cache');
    } finally {
      making = false;
      lookedAtMs = Number.NEGATIVE_INFINITY;
    }
  }

  async function removeOldest(server: Redis, bytes: number): Promise<void> {
    let [freed, cursor] = [0, '0'];
    for (let step = 0; step < MOST_STEPS && freed < bytes; step += 1) {
      const [next, keys] = await link.call('scan', () =>
        server.scan(cursor, 'MATCH', pattern, 'COUNT', SAMPLE),
      );
      cursor = next;
      if (keys.length > 0) freed += await link.call('pipeline', () => removeUnused(server, keys));
      if (cursor === '0' && keys.length === 0) return;
    }
  }

  return {
    /** Bytes that Redis may use before nothing more is cached; null: no bound. */
    get maxBytes() {
      const servers = watch.latest;
      const sum = servers.reduce((total, one) => total + boundOf(one, servers.length), 0);
      return sum > 0 && Number.isFinite(sum) ? sum : null;
    },
    /** Waits until it is known that so many bytes may be written. @throws StoreUnavailable when there is no room */
    async admit(bytes: number): Promise<void> {
      if (clock.monotonicMs() - lookedAtMs > LOOK_MS || granted < bytes) await look();
      if (watch.full || granted < bytes)
        throw new StoreUnavailable('the cache in Redis has no room left for now', 'no-room');
      granted -= bytes;
    },
  };
}

/** Removes those that were not used for longest. @returns bytes freed, as far as is known */
async function removeUnused(server: Redis, keys: readonly string[]): Promise<number> {
  const asked = server.pipeline();
  for (const key of keys) asked.object('IDLETIME', key).memory('USAGE', key);
  const answers = (await asked.exec()) ?? [];
  const found = keys.map((key, at) => ({
    key,
    // Unknown under an LFU policy: then any is removed.
    idle: Number(answers[2 * at]?.[1] ?? 0),
    // Little where it is unknown: then more keys are looked at, and more are removed.
    bytes: Number(answers[2 * at + 1]?.[1] ?? KEY_BYTES),
  }));
  found.sort((one, other) => other.idle - one.idle);
  const removed = found.slice(0, Math.ceil(found.length * REMOVED_PART));
  // One by one: on a node of a cluster they are of several slots.
  const removing = server.pipeline();
  for (const { key } of removed) removing.unlink(key);
  await removing.exec();
  return removed.reduce((sum, { bytes }) => sum + bytes, 0);
}
