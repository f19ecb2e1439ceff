import type { Clock } from '../../clock.js';
import type { StoreLog } from '../log.js';
import type { Link } from './link.js';
import { isFull, readMemory, type ServerMemory } from './server-memory.js';

/** How often a server is asked how full it is. */
const LOOK_MS = 2000;
/** A refusal is over when the server has room again or, where it does not tell, after so long without another. */
const REFUSED_MS = 30_000;

export interface MemoryWatch {
  /** Of each server, as it was told last; null while it was not. */
  readonly latest: readonly ServerMemory[] | null;
  /** Whether Redis refuses what would need memory. */
  readonly full: boolean;
  /** Asks now. @returns null when Redis does not tell. @throws StoreUnavailable */
  look(): Promise<readonly ServerMemory[] | null>;
  /** Redis refused a write for lack of memory. */
  refused(): void;
  stop(): void;
}

export interface MemoryWatchOptions {
  readonly link: () => Pick<Link, 'call'>;
  readonly role: string;
  readonly clock: Clock;
  readonly logger: StoreLog;
}

/** Knows how full a Redis is, and says so once when it begins to refuse writes, and once when it takes them again. */
export function createMemoryWatch({ link, role, clock, logger }: MemoryWatchOptions): MemoryWatch {
  let latest: readonly ServerMemory[] | null = null;
  let full = false;
  let refusedAtMs = Number.NEGATIVE_INFINITY;

  function say(now: boolean): void {
    if (now === full) return;
    full = now;
    const sizes = latest?.map(({ usedBytes, maxBytes }) => ({ usedBytes, maxBytes }));
    if (now)
      logger.error(
        { role, servers: sizes },
        'Redis has no memory left and refuses changes: keys cannot be revoked, nor caches purged. Raise its maxmemory, or remove what else fills it',
      );
    else logger.info({ role }, 'Redis takes changes again');
  }

  async function look(): Promise<readonly ServerMemory[] | null> {
    latest = await link().call(readMemory);
    const hasRoom = latest?.every(({ usedBytes, maxBytes }) => maxBytes === 0 || usedBytes < maxBytes);
    if (latest?.some(isFull)) say(true);
    else if (hasRoom === true || clock.monotonicMs() - refusedAtMs > REFUSED_MS) say(false);
    return latest;
  }

  const timer = setInterval(() => {
    look().catch(() => {
      // A Redis that is away is told of elsewhere.
    });
  }, LOOK_MS).unref();

  return {
    get latest() {
      return latest;
    },
    get full() {
      return full;
    },
    look,
    refused() {
      refusedAtMs = clock.monotonicMs();
      say(true);
    },
    stop: () => clearInterval(timer),
  };
}
