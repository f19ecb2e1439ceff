import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from './connection.js';
import { isAnswer } from './failure.js';

/** Memory of one server, as INFO tells it. */
export interface ServerMemory {
  readonly server: Redis;
  /** Bytes that count against the limit. */
  readonly usedBytes: number;
  /** `maxmemory`; 0: no limit. */
  readonly maxBytes: number;
  readonly policy: string;
}

/** All servers that hold keys. */
function serversOf(client: RedisClient): readonly Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client];
}

/** @returns of each server; null where INFO says nothing of its memory, or is forbidden */
export async function readMemory(client: RedisClient): Promise<readonly ServerMemory[] | null> {
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
export function isFull({ usedBytes, maxBytes, policy }: ServerMemory): boolean {
  return policy === 'noeviction' && maxBytes > 0 && usedBytes >= maxBytes;
}
