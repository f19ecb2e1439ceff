/** The memory of a Redis, by INFO, and how much of it the cache may fill. */
import type { Redis } from 'ioredis';
import type { Clock } from '../../lib/clock.js';
import { oneAtATime } from '../../lib/repeat.js';
import { startTicks, stopTicks } from '../../lib/time.js';
import { StoreUnavailable } from '../port.js';
import { type StoreLog, StoreRefused } from '../refused.js';
import { type RedisClient, serversOf } from './connect.js';
import { bounded, isAnswer, unavailable } from './failure.js';
import type { Link } from './link.js';

export interface ServerMemory {
  readonly server: Redis;
  /** Bytes that count against the limit. */
  readonly usedBytes: number;
  /** `maxmemory`; 0: no limit. */
  readonly maxBytes: number;
  readonly policy: string;
}

/** @returns one for each server; none if INFO is forbidden, or does not report the memory */
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
  // The server does not count the buffers of replicas and of the journal against the limit.
  const usedBytes = used - Number(read('mem_not_counted_for_evict') ?? 0);
  const maxBytes = Number(read('maxmemory') ?? 0);
  return [{ server, usedBytes, maxBytes, policy: read('maxmemory_policy') ?? '' }];
}

/**
 * Makes sure that Redis cannot evict registry, history and pins. Their keys do not expire, and a `volatile-*` policy
 * evicts only keys that do.
 * @throws StoreRefused under an `allkeys-*` policy; StoreUnavailable after `limitMs`
 */
export async function refuseEviction(client: RedisClient, limitMs: number, logger: StoreLog): Promise<void> {
  const policies = await bounded(readPolicies(client), limitMs).catch((error: unknown) => {
    throw unavailable('Redis did not tell its eviction policy', error);
  });
  if (policies.includes(''))
    logger.warn(
      {},
      'Redis does not report its eviction policy; make sure that maxmemory-policy is noeviction or volatile-*, or teams, tokens and history may be evicted',
    );
  const unsafe = policies.find((policy) => policy.startsWith('allkeys-'));
  if (unsafe !== undefined)
    throw new StoreRefused(
      `Redis has maxmemory-policy ${unsafe}, which may evict teams, keys and tokens: set it to noeviction or to a volatile-* policy, or let REDIS_REGISTRY_URL name another Redis for them`,
    );
}

/** By INFO, or else by CONFIG; '' if both are forbidden or do not report it. */
async function readPolicies(client: RedisClient): Promise<readonly string[]> {
  const reported = (await readMemory(client)).map(({ policy }) => policy);
  if (reported.length > 0 && !reported.includes('')) return reported;
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

const LOOK_EVERY_MS = 2000;
/** A refusal ends when the server has room again or, if it does not report its memory, after this time. */
const REFUSED_MS = 30_000;
const FULL =
  'Redis has no memory left and refuses changes: keys cannot be revoked, nor caches purged. Raise its maxmemory, or remove what else fills it';

/** Logs once when Redis begins to refuse writes, and once when it accepts them again. */
export class MemoryWatch {
  /** One for each server, as last reported. */
  latest: readonly ServerMemory[] = [];
  /** Whether Redis refuses writes that need memory. */
  full = false;
  #refusedAtMs = Number.NEGATIVE_INFINITY;
  // The link logs when Redis is away.
  readonly #timer = startTicks(() => void this.look().catch(() => {}), LOOK_EVERY_MS).unref();

  constructor(
    readonly link: Pick<Link, 'call'>,
    readonly role: string,
    readonly clock: Clock,
    readonly logger: StoreLog,
  ) {}

  /** @returns none if Redis does not report its memory. @throws StoreUnavailable */
  async look(): Promise<readonly ServerMemory[]> {
    this.latest = await this.link.call('info', readMemory);
    const over = this.latest.filter(({ usedBytes, maxBytes }) => maxBytes > 0 && usedBytes >= maxBytes);
    const hasRoom = this.latest.length > 0 && over.length === 0;
    if (over.some(({ policy }) => policy === 'noeviction')) this.#setFull(true);
    else if (hasRoom || this.clock.monotonicMs() - this.#refusedAtMs > REFUSED_MS) this.#setFull(false);
    return this.latest;
  }

  /** Redis refused a write for lack of memory. */
  refused(): void {
    this.#refusedAtMs = this.clock.monotonicMs();
    this.#setFull(true);
  }

  stop(): void {
    stopTicks(this.#timer);
  }

  #setFull(full: boolean): void {
    if (full === this.full) return;
    this.full = full;
    const { role, logger } = this;
    const servers = this.latest.map(({ usedBytes, maxBytes }) => ({ usedBytes, maxBytes }));
    if (full) logger.error({ role, servers }, FULL);
    else logger.info({ role }, 'Redis accepts changes again');
  }
}

/** Of `maxmemory`: what may be used of it by all before no history is kept, and no pins are written any more. */
export const USED_PART = 0.85;
/** A write takes so many times its bytes at most: Redis allocates in steps. */
const GROSS = 1.5;

export type Memory = Pick<MemoryWatch, 'latest'>;

/**
 * The rest of the server's memory is for teams, keys and tokens, which must be changed whatever lies beside them. Between two
 * looks at the server the writes of this process count.
 */
export function createRoom(memory: Memory, what: string, usedPart = USED_PART) {
  let seen = memory.latest;
  let written = 0;
  /** @throws StoreUnavailable where there is no room for so many bytes */
  return (bytes: number): void => {
    if (memory.latest !== seen) written = 0;
    seen = memory.latest;
    const isOver = ({ usedBytes, maxBytes }: ServerMemory) =>
      maxBytes > 0 && usedBytes + written + bytes * GROSS > maxBytes * usedPart;
    if (seen.some(isOver)) throw new StoreUnavailable(`Redis has no room for ${what}`, 'no-room');
    written += bytes * GROSS;
  };
}

/** Share of `maxmemory` that the cache may fill; and if a bound is configured. */
const [USUAL_PART, LARGEST_PART] = [0.5, 0.875];
/** Entries are removed above the first share of the bound, down to the second, so that writes seldom wait. */
const [MAKE_ROOM_ABOVE, MAKE_ROOM_TO] = [0.95, 0.85];
/** Share of the room that this replica fills before it looks again, as others write at the same time. */
const GRANTED_PART = 0.25;
/** How long a look is valid. */
const LOOK_MS = 1000;
/** Keys removed in the first step, doubled with each further one, up to the second number. */
const [FIRST_SAMPLE, LARGEST_SAMPLE] = [10, 1000];
const MOST_STEPS = 100;

/**
 * Keeps the cache from filling a Redis, as a `noeviction` server would refuse durable writes. Near the bound, cache entries
 * are removed at random; above it nothing is cached.
 */
export class CacheBound {
  /** Bytes that may be written before the next look. */
  #granted = 0;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /** Of SCAN. */
  readonly #cursors = new WeakMap<Redis, string>();
  readonly #makeRoom = oneAtATime(() => this.#removeEntries());
  readonly #look = oneAtATime(async () => {
    const servers = await this.watch.look();
    this.#lookedAtMs = this.watch.clock.monotonicMs();
    const left = servers.map((one) => Math.max(0, this.#boundOf(one, servers.length) - one.usedBytes));
    this.#granted = Math.min(...left) * GRANTED_PART;
    if (this.#above(MAKE_ROOM_ABOVE).length > 0) void this.#makeRoom();
  });

  /**
   * @param pattern of the keys of cache entries
   * @param wanted bytes on all servers together; undefined: derived from their `maxmemory`
   */
  constructor(
    readonly watch: MemoryWatch,
    readonly pattern: string,
    readonly wanted: number | undefined,
  ) {}

  /** Null: no bound. */
  get maxBytes(): number | null {
    const servers = this.watch.latest;
    const sum = servers.reduce((total, one) => total + this.#boundOf(one, servers.length), 0);
    return sum > 0 && Number.isFinite(sum) ? sum : null;
  }

  /** @throws StoreUnavailable if there is no room for so many bytes */
  async admit(bytes: number): Promise<void> {
    const age = this.watch.clock.monotonicMs() - this.#lookedAtMs;
    if (age > LOOK_MS || this.#granted < bytes) await this.#look();
    if (this.watch.full || this.#granted < bytes)
      throw new StoreUnavailable('the cache in Redis has no room left for now', 'no-room');
    this.#granted -= bytes;
  }

  /** Of one server; Infinity: no bound. */
  #boundOf({ maxBytes }: ServerMemory, servers: number): number {
    const most = maxBytes === 0 ? Number.POSITIVE_INFINITY : maxBytes;
    return this.wanted === undefined
      ? most * USUAL_PART
      : Math.min(this.wanted / servers, most * LARGEST_PART);
  }

  /** The servers that use more than this share of their bound. */
  #above(part: number): Redis[] {
    const servers = this.watch.latest;
    const isAbove = (one: ServerMemory) => one.usedBytes > part * this.#boundOf(one, servers.length);
    return servers.filter(isAbove).map(({ server }) => server);
  }

  async #removeEntries(): Promise<void> {
    const { link, logger } = this.watch;
    try {
      for (let step = 0; step < MOST_STEPS && this.#above(MAKE_ROOM_TO).length > 0; step += 1) {
        const count = Math.min(FIRST_SAMPLE * 2 ** step, LARGEST_SAMPLE);
        for (const server of this.#above(MAKE_ROOM_TO))
          await link.call('unlink', () => this.#removeSample(server, count));
        await this.watch.look();
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailable))
        logger.warn({ err: error }, 'could not remove entries of the cache');
    }
    this.#lookedAtMs = Number.NEGATIVE_INFINITY;
  }

  /** SCAN visits keys in the order of their hashes: a random sample. */
  async #removeSample(server: Redis, count: number): Promise<void> {
    const from = this.#cursors.get(server) ?? '0';
    const [next, keys] = await server.scan(from, 'MATCH', this.pattern, 'COUNT', count);
    this.#cursors.set(server, next);
    // One by one, as the keys of a cluster node are in several slots.
    const removing = server.pipeline();
    for (const key of keys) removing.unlink(key);
    if (keys.length > 0) await removing.exec();
  }
}
