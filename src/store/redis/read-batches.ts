/**
 * Reads of hashes that are asked for in one turn of the event loop go to Redis together: one write to the socket, and one
 * of ioredis's pipelines, which takes as long to set up as a read itself. In a cluster each goes by itself, for all keys of
 * a pipeline have to be on one node.
 */
import { type ChainableCommander, Cluster } from 'ioredis';
import { nextTurn } from '../../lib/time.js';
import type { RedisClient } from './connect.js';

/** Of one hash. */
export interface HashRead {
  readonly hash: string;
  /** Null: all there are. */
  readonly fields: readonly string[] | null;
}

type Reply = [error: Error | null, result: unknown];
/** As ioredis's pipelines have it. */
export type Replies = Reply[] | null;

export type ReadHashes = (client: RedisClient, reads: readonly HashRead[]) => Promise<Replies>;

/** From so many reads on they do not wait for more: one message holds them all. */
const MOST_READS = 64;

interface Batch {
  readonly pipeline: ChainableCommander;
  /** Told when the whole has been answered, without replies, or has failed. */
  readonly waiting: { resolve(none: null): void; reject(error: unknown): void }[];
}

export function createReadBatches(): ReadHashes {
  const open = new Map<RedisClient, Batch>();

  function begin(client: RedisClient): Batch {
    const batch: Batch = { pipeline: client.pipeline(), waiting: [] };
    open.set(client, batch);
    nextTurn(() => send(client, batch));
    return batch;
  }

  function send(client: RedisClient, batch: Batch): void {
    if (open.get(client) !== batch) return;
    open.delete(client);
    batch.pipeline.exec().then(
      () => {
        // To those that have their replies this says nothing more.
        for (const { resolve } of batch.waiting) resolve(null);
      },
      (error: unknown) => {
        for (const { reject } of batch.waiting) reject(error);
      },
    );
  }

  return (client, reads) => {
    if (client instanceof Cluster) {
      const pipeline = client.pipeline();
      for (const read of reads) add(pipeline, read);
      // What was moved to another node meanwhile it asks for there: only the whole has the replies.
      return pipeline.exec();
    }
    return new Promise((resolve, reject) => {
      const batch = open.get(client) ?? begin(client);
      batch.waiting.push({ resolve, reject });
      // Each is answered as soon as its replies are there: behind them the pipeline may bring megabytes for others.
      const replies: Reply[] = [];
      let missing = reads.length;
      for (const [at, read] of reads.entries())
        add(batch.pipeline, read, (error, result) => {
          replies[at] = [error ?? null, result];
          missing -= 1;
          if (missing === 0) resolve(replies);
        });
      if (batch.pipeline.length >= MOST_READS) send(client, batch);
    });
  };
}

function add(
  pipeline: ChainableCommander,
  { hash, fields }: HashRead,
  done: (error: Error | null | undefined, result: unknown) => void = () => {},
): void {
  if (fields === null) pipeline.hgetallBuffer(hash, done);
  else pipeline.hmgetBuffer(hash, ...fields, done);
}
