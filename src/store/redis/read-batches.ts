/**
 * Reads of hashes that are asked for in one turn of the event loop go to Redis together: one write to the socket, and one
 * of ioredis's pipelines, which takes as long to set up as a read itself. In a cluster each goes by itself, for all keys of
 * a pipeline have to be on one node.
 */
import { Cluster } from 'ioredis';
import { nextTurn } from '../../time.js';
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

/** From so many reads on they do not wait for more: one message holds them all. */
const MOST_READS = 64;

/** One asker's part of a batch. */
interface Asked {
  readonly reads: readonly HashRead[];
  readonly settle: (replies: Replies) => void;
  readonly fail: (error: unknown) => void;
}

interface Batch {
  readonly asked: Asked[];
  send(): void;
}

export function createReadBatches(): ReadHashes {
  const open = new Map<RedisClient, Batch>();

  function begin(client: RedisClient): Batch {
    const asked: Asked[] = [];
    const batch: Batch = {
      asked,
      send() {
        if (open.get(client) !== batch) return;
        open.delete(client);
        exec(client, asked);
      },
    };
    open.set(client, batch);
    nextTurn(batch.send);
    return batch;
  }

  return async (client, reads) => {
    // What was moved to another node meanwhile it asks for there: only the whole has the replies.
    if (client instanceof Cluster) return pipelineOf(client, reads, () => {}).exec();
    return new Promise((settle, fail) => {
      const batch = open.get(client) ?? begin(client);
      batch.asked.push({ reads, settle, fail });
      if (batch.asked.reduce((sum, one) => sum + one.reads.length, 0) >= MOST_READS) batch.send();
    });
  };
}

/** Tells each its replies as soon as they are there: behind them the same pipeline may bring megabytes for others. */
function exec(client: RedisClient, asked: readonly Asked[]): void {
  const takers = asked.flatMap(({ reads, settle }) => {
    const replies: NonNullable<Replies> = [];
    let missing = reads.length;
    return reads.map((_, at) => (reply: [error: Error | null, result: unknown]) => {
      replies[at] = reply;
      missing -= 1;
      if (missing === 0) settle(replies);
    });
  });
  const all = asked.flatMap(({ reads }) => reads);
  pipelineOf(client, all, (at, reply) => takers[at]?.(reply))
    .exec()
    .then(
      (replies) => {
        // Whoever has been told is not told again: only of nothing asked, or of no replies at all.
        for (const { settle } of asked) settle(replies === null ? null : []);
      },
      (error: unknown) => {
        for (const { fail } of asked) fail(error);
      },
    );
}

function pipelineOf(
  client: RedisClient,
  reads: readonly HashRead[],
  tell: (at: number, reply: [error: Error | null, result: unknown]) => void,
) {
  const pipeline = client.pipeline();
  for (const [at, { hash, fields }] of reads.entries()) {
    const done = (error: Error | null | undefined, result: unknown) => tell(at, [error ?? null, result]);
    if (fields === null) pipeline.hgetallBuffer(hash, done);
    else pipeline.hmgetBuffer(hash, ...fields, done);
  }
  return pipeline;
}
