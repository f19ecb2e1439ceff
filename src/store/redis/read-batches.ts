/**
 * Reads of hashes that are asked for in one turn of the event loop go to Redis together: one write to the socket, and one
 * of ioredis's pipelines, which takes as long to set up as a read itself. In a cluster each goes by itself, for all keys of
 * a pipeline have to be on one node.
 */
import { Cluster } from 'ioredis';
import type { RedisClient } from './connection.js';

/** Of one hash. */
export interface HashRead {
  readonly hash: string;
  /** Null: all there are. */
  readonly fields: readonly string[] | null;
}

/** As ioredis's pipelines have it. */
export type Replies = [error: Error | null, result: unknown][] | null;

export type ReadHashes = (client: RedisClient, reads: readonly HashRead[]) => Promise<Replies>;

/** From so many reads on they do not wait for more: whoever is first would wait for the answers of all. */
const MOST_READS = 64;

interface Batch {
  readonly reads: HashRead[];
  /** Settles as the whole does. */
  readonly replies: Promise<Replies>;
  send(): void;
}

export function createReadBatches(): ReadHashes {
  const open = new Map<RedisClient, Batch>();

  function begin(client: RedisClient): Batch {
    const reads: HashRead[] = [];
    let send = () => {};
    const replies = new Promise<Replies>((resolve, reject) => {
      send = () => {
        if (open.get(client) !== batch) return;
        open.delete(client);
        exec(client, reads).then(resolve, reject);
      };
    });
    const batch: Batch = { reads, replies, send };
    open.set(client, batch);
    setImmediate(send);
    return batch;
  }

  return async (client, reads) => {
    if (client instanceof Cluster) return exec(client, reads);
    const batch = open.get(client) ?? begin(client);
    const from = batch.reads.length;
    batch.reads.push(...reads);
    if (batch.reads.length >= MOST_READS) batch.send();
    const replies = await batch.replies;
    return replies?.slice(from, from + reads.length) ?? null;
  };
}

function exec(client: RedisClient, reads: readonly HashRead[]): Promise<Replies> {
  const pipeline = client.pipeline();
  for (const { hash, fields } of reads) {
    if (fields === null) pipeline.hgetallBuffer(hash);
    else pipeline.hmgetBuffer(hash, ...fields);
  }
  return pipeline.exec();
}
