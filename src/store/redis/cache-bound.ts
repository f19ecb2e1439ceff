import type { Redis } from 'ioredis';
import type { Clock } from '../../clock.js';
import { oneAtATime } from '../../repeat.js';
import type { StoreLog } from '../log.js';
import { StoreUnavailable } from '../port.js';
import type { Link } from './link.js';
import type { MemoryWatch, ServerMemory } from './memory-watch.js';

/** Where nothing is set, the cache may fill this part of `maxmemory`; where something is, no more than the other. */
const [USUAL_PART, LARGEST_PART] = [0.5, 0.875];
/** Room is made from this part of the bound on, down to the other, so that writes seldom wait for it. */
const [MAKE_ROOM_ABOVE, MAKE_ROOM_TO] = [0.95, 0.85];
/** Other replicas write at the same time: of what is left one takes no more than this before it looks again. */
const GRANTED_PART = 0.25;
/** A look is good for so long. */
const LOOK_MS = 1000;
/** Keys looked at in one step, and the part of them, those not used for longest, that goes. */
const [SAMPLE, GOES_PART] = [200, 0.3];
const MOST_STEPS = 100;
/** What a key takes at least. */
const KEY_BYTES = 100;

export interface CacheBound {
  /** Waits until it is known that so many bytes may be written. @throws StoreUnavailable when there is no room */
  admit(bytes: number): Promise<void>;
  /** Bytes that Redis may use before nothing more is cached; null: no bound. */
  readonly maxBytes: number | null;
}

export interface CacheBoundOptions {
  readonly link: Link;
  readonly watch: MemoryWatch;
  /** Of keys of cache entries. */
  readonly pattern: string;
  /** Of all servers together; unset: by their `maxmemory`. */
  readonly maxBytes: number | undefined;
  readonly clock: Clock;
  readonly logger: StoreLog;
}

/**
 * Keeps the cache from filling the Redis that holds everything else too: by what INFO says of its memory, and by what
 * was written since. Beyond the bound nothing is kept until those entries have gone that were not used for longest.
 */
export function createCacheBound(options: CacheBoundOptions): CacheBound {
  const { link, watch, clock, logger } = options;
  /** Bytes that may be written before the next look. */
  let granted = 0;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  let making = false;

  const look = oneAtATime(async () => {
    const servers = await watch.look();
    lookedAtMs = clock.monotonicMs();
    const rooms = (servers ?? []).map((one) => roomOf(one, servers?.length ?? 1));
    granted = Math.min(...rooms.map(({ left }) => left)) * GRANTED_PART;
    if (rooms.some(({ used }) => used > MAKE_ROOM_ABOVE)) void makeRoom(servers ?? []);
  });

  function roomOf({ usedBytes, maxBytes }: ServerMemory, servers: number) {
    const bound = boundOf(options.maxBytes, maxBytes, servers);
    return { left: Math.max(0, bound - usedBytes), used: usedBytes / bound, bound };
  }

  /** Behind the writes; one at a time. What is left of it is done after a later look. */
  async function makeRoom(servers: readonly ServerMemory[]): Promise<void> {
    if (making) return;
    making = true;
    try {
      for (const one of servers) {
        const { bound } = roomOf(one, servers.length);
        await removeOldest(one.server, one.usedBytes - bound * MAKE_ROOM_TO);
      }
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
      const [next, keys] = await link.call(() =>
        server.scan(cursor, 'MATCH', options.pattern, 'COUNT', SAMPLE),
      );
      cursor = next;
      if (keys.length > 0) freed += await link.call(() => removeUnused(server, keys));
      if (cursor === '0' && keys.length === 0) return;
    }
  }

  return {
    get maxBytes() {
      const servers = watch.latest ?? [];
      const bounds = servers.map(({ maxBytes }) => boundOf(options.maxBytes, maxBytes, servers.length));
      const sum = bounds.reduce((total, one) => total + one, 0);
      return sum > 0 && Number.isFinite(sum) ? sum : null;
    },
    async admit(bytes) {
      const isOld = () => clock.monotonicMs() - lookedAtMs > LOOK_MS;
      if (isOld() || granted < bytes) {
        await look();
      }
      if (watch.full || granted < bytes)
        throw new StoreUnavailable('the cache in Redis has no room left for now', 'no-room');
      granted -= bytes;
    },
  };
}

/** @returns bytes one server may use before nothing more is cached; Infinity without a limit */
function boundOf(wanted: number | undefined, maxBytes: number, servers: number): number {
  const most = maxBytes === 0 ? Number.POSITIVE_INFINITY : maxBytes;
  if (wanted === undefined) return most * USUAL_PART;
  return Math.min(wanted / servers, most * LARGEST_PART);
}

/** Removes those that were not used for longest. @returns bytes freed, as far as is known */
async function removeUnused(server: Redis, keys: readonly string[]): Promise<number> {
  const asked = server.pipeline();
  for (const key of keys) asked.object('IDLETIME', key).memory('USAGE', key);
  const told = (await asked.exec()) ?? [];
  const found = keys.map((key, at) => ({
    key,
    // Under an LFU policy it is not told, and then any goes.
    idle: Number(told[2 * at]?.[1] ?? 0),
    // Where it is not told it is little: then more is looked at, and more goes.
    bytes: Number(told[2 * at + 1]?.[1] ?? KEY_BYTES),
  }));
  found.sort((one, other) => other.idle - one.idle);
  const gone = found.slice(0, Math.ceil(found.length * GOES_PART));
  const removing = server.pipeline();
  for (const { key } of gone) removing.unlink(key);
  await removing.exec();
  return gone.reduce((sum, { bytes }) => sum + bytes, 0);
}
