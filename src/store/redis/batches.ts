/**
 * Sends scripts and reads of one turn of the event loop together, in order: one write to the socket, one pipeline, whose setup
 * costs as much as a read, and at most one flush of Redis' log. In a cluster each goes alone, as all keys of a pipeline
 * have to be on one node.
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
 * @param isRead the reply has bytes, and the batch waits for the end of the turn. Another script sends its batch after
 *   the current callback, as the rest of the turn may take long
 * @throws the error of the reply
 */
export function evaluate(
  client: RedisClient,
  how: 'eval' | 'evalsha',
  script: string,
  keys: readonly string[],
  args: Arguments,
  isRead = false,
): Promise<unknown> {
  return sendTogether(client, how, [script, keys.length, ...keys, ...args], isRead);
}

type Arguments = readonly (string | number | Buffer)[];

/** @returns values of keys of one slot, in order; null for what is none. @throws the error of the reply */
export function readValues(client: RedisClient, keys: readonly string[]): Promise<(Buffer | null)[]> {
  return sendTogether(client, 'mget', keys, true) as Promise<(Buffer | null)[]>;
}

async function sendTogether(client: RedisClient, name: string, args: Arguments, isRead: boolean) {
  if (client instanceof Cluster)
    return isRead ? client.callBuffer(name, ...args) : client.call(name, ...args);
  return new Promise<unknown>((resolve, reject) => {
    const batch = open.get(client) ?? begin(client);
    const { pipeline, rejects } = batch;
    rejects.push(reject);
    // Not after the whole batch: its other replies may be megabytes.
    const done: Callback<unknown> = (error, result) => (error ? reject(error) : resolve(result));
    if (isRead) pipeline.callBuffer(name, ...args, done);
    else pipeline.call(name, ...args, done);
    if (pipeline.length >= MOST_COMMANDS) send(client, batch);
    else if (!isRead) process.nextTick(send, client, batch);
  });
}
