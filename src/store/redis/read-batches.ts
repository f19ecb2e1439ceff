/**
 * Sends all reads of hashes of one turn of the event loop together: one write to the socket and one pipeline, whose
 * setup costs as much as a read. In a cluster each read goes alone, as all keys of a pipeline have to be on one node.
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
/** As in pipelines of ioredis. */
export type Replies = Reply[] | null;

export type ReadHashes = (client: RedisClient, reads: readonly HashRead[]) => Promise<Replies>;

/** A batch is sent at once when it has so many reads. */
const MOST_READS = 64;

interface Batch {
  readonly pipeline: ChainableCommander;
  /** Settled after the whole batch, without replies, or when it failed. */
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
        // Has no effect on those that have their replies.
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
      // Slots moved meanwhile are asked for again by the pipeline: only its result has all replies.
      return pipeline.exec();
    }
    return new Promise((resolve, reject) => {
      const batch = open.get(client) ?? begin(client);
      batch.waiting.push({ resolve, reject });
      // Each read is answered as soon as its replies are there: the rest of the pipeline may bring megabytes.
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
