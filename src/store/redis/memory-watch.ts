import type { Redis } from 'ioredis';
import type { Clock } from '../../clock.js';
import { startTicks, stopTicks } from '../../time.js';
import type { StoreLog } from '../log.js';
import { type RedisClient, serversOf } from './connection.js';
import { isAnswer } from './failure.js';
import { createLink, type Link, type LinkOptions } from './link.js';

/** Memory of one server, as INFO tells it. */
export interface ServerMemory {
  readonly server: Redis;
  /** Bytes that count against the limit. */
  readonly usedBytes: number;
  /** `maxmemory`; 0: no limit. */
  readonly maxBytes: number;
  readonly policy: string;
}

/** @returns of each server; null where INFO says nothing of its memory, or is forbidden */
async function readMemory(client: RedisClient): Promise<readonly ServerMemory[] | null> {
  try {
    const read = await Promise.all(
      serversOf(client).map(async (server) => parseMemory(server, await server.info('memory'))),
    );
    return read.includes(null) ? null : (read as ServerMemory[]);
  } catch (error) {
    if (isAnswer(error)) return null;
    throw error;
  }
}

function parseMemory(server: Redis, info: string): ServerMemory | null {
  const read = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
  const used = Number(read('used_memory'));
  if (!Number.isFinite(used)) return null;
  // Buffers of replicas and of the journal, which the server leaves out when it looks at the limit.
  const usedBytes = used - Number(read('mem_not_counted_for_evict') ?? 0);
  const maxBytes = Number(read('maxmemory') ?? 0);
  return { server, usedBytes, maxBytes, policy: read('maxmemory_policy') ?? '' };
}

/** Whether the server refuses writes, or is about to: what could be evicted is evicted before that. */
function isFull({ usedBytes, maxBytes, policy }: ServerMemory): boolean {
  return policy === 'noeviction' && maxBytes > 0 && usedBytes >= maxBytes;
}

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
function createMemoryWatch({ link, role, clock, logger }: MemoryWatchOptions): MemoryWatch {
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

  const timer = startTicks(() => {
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
    stop: () => stopTicks(timer),
  };
}

interface WatchedLink {
  readonly link: Link;
  readonly memory: MemoryWatch;
}

/** A link to a server, and a watch over the server's memory by way of it; whatever the link is refused, the watch hears. */
export function createWatchedLink(options: Omit<LinkOptions, 'onOutOfMemory'>): WatchedLink {
  const { role, clock, logger } = options;
  const memory = createMemoryWatch({ link: () => link, role, clock, logger });
  const link = createLink({ ...options, onOutOfMemory: memory.refused });
  return { link, memory };
}
