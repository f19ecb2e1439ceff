/**
 * Sends scripts of one turn of the event loop together, in order: one write to the socket, one pipeline, whose setup
 * costs as much as a read, and at most one flush of Redis' log. In a cluster each script goes alone, as all keys of a
 * pipeline have to be on one node.
 */
import { type Callback, type ChainableCommander, Cluster } from 'ioredis';
import { nextTurn } from '../../lib/time.js';
import type { RedisClient } from './connect.js';

/** A batch is sent at once when it has so many commands. */
const MOST_COMMANDS = 64;
const NO_REPLY = new Error('Redis did not answer');

interface Batch {
  readonly pipeline: ChainableCommander;
  /** Called after the whole batch; without effect on calls that have their reply. */
  readonly rejects: ((error: unknown) => void)[];
}

const open = new WeakMap<RedisClient, Batch>();

function begin(client: RedisClient): Batch {
  const batch: Batch = { pipeline: client.pipeline(), rejects: [] };
  open.set(client, batch);
  nextTurn(() => send(client, batch));
  return batch;
}

function send(client: RedisClient, batch: Batch): void {
  if (open.get(client) !== batch) return;
  open.delete(client);
  const end = (error: unknown) => {
    for (const reject of batch.rejects) reject(error);
  };
  batch.pipeline.exec().then(() => end(NO_REPLY), end);
}

/**
 * EVAL or EVALSHA.
 * @param isRead the reply has bytes, and the batch waits for the end of the turn. Another script sends its batch after
 *   the current callback, as the rest of the turn may take long
 * @throws the error of the reply
 */
export async function evaluate(
  client: RedisClient,
  how: 'eval' | 'evalsha',
  script: string,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
  isRead = false,
): Promise<unknown> {
  const all = [keys.length, ...keys, ...args] as const;
  if (client instanceof Cluster)
    return isRead ? client.callBuffer(how, script, ...all) : client[how](script, ...all);
  return new Promise((resolve, reject) => {
    const batch = open.get(client) ?? begin(client);
    const { pipeline, rejects } = batch;
    rejects.push(reject);
    // Not after the whole batch: its other replies may be megabytes.
    const done: Callback<unknown> = (error, result) => (error ? reject(error) : resolve(result));
    if (isRead) pipeline.callBuffer(how, script, ...all, done);
    else pipeline[how](script, ...all, done);
    if (pipeline.length >= MOST_COMMANDS) send(client, batch);
    else if (!isRead) process.nextTick(send, client, batch);
  });
}
