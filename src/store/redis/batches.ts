/**
 * Sends commands of one turn of the event loop together, in order: one write to the socket, one pipeline, whose setup costs
 * as much as a read, and at most one flush of Redis' log. In a cluster each call goes alone, as all keys of a pipeline have
 * to be on one node.
 */
import { type ChainableCommander, Cluster } from 'ioredis';
import { nextTurn } from '../../lib/time.js';
import type { RedisClient } from './connect.js';

type Reply = [error: Error | null, result: unknown];
/** As in pipelines of ioredis. */
export type Replies = Reply[] | null;

type Done = (error: Error | null | undefined, result: unknown) => void;
/** Adds one command. */
type Command = (pipeline: ChainableCommander, done: Done) => void;

/** A batch is sent at once when it has so many commands. */
const MOST_COMMANDS = 64;

interface Batch {
  readonly pipeline: ChainableCommander;
  /** Settled after the whole batch, without replies, or when it failed. */
  readonly waiting: { resolve(none: null): void; reject(error: unknown): void }[];
}

const open = new WeakMap<RedisClient, Batch>();

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

/** @param soon sends the batch after the current callback: the rest of the turn may take long */
function inBatch(client: RedisClient, commands: readonly Command[], soon = false): Promise<Replies> {
  if (client instanceof Cluster) {
    const pipeline = client.pipeline();
    for (const command of commands) command(pipeline, () => {});
    // Slots moved meanwhile are asked for again by the pipeline: only its result has all replies.
    return pipeline.exec();
  }
  return new Promise((resolve, reject) => {
    const batch = open.get(client) ?? begin(client);
    batch.waiting.push({ resolve, reject });
    // Each call is answered as soon as its replies are there: the rest of the pipeline may bring megabytes.
    const replies: Reply[] = [];
    let missing = commands.length;
    for (const [at, command] of commands.entries())
      command(batch.pipeline, (error, result) => {
        replies[at] = [error ?? null, result];
        missing -= 1;
        if (missing === 0) resolve(replies);
      });
    if (batch.pipeline.length >= MOST_COMMANDS) send(client, batch);
    else if (soon) process.nextTick(send, client, batch);
  });
}

/** EVAL or EVALSHA. @throws the error of the reply */
export async function evaluate(
  client: RedisClient,
  how: 'eval' | 'evalsha',
  script: string,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
  isRead = false,
): Promise<unknown> {
  const command: Command = (pipeline, done) =>
    isRead
      ? pipeline.callBuffer(how, script, keys.length, ...keys, ...args, done)
      : pipeline[how](script, keys.length, ...keys, ...args, done);
  const replies = await inBatch(client, [command], !isRead);
  const [error, result] = replies?.[0] ?? [new Error('Redis did not answer')];
  if (error !== null) throw error;
  return result;
}
