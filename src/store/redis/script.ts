/** Sends Lua scripts, and defines the functions that several of them share. */
import { createHash } from 'node:crypto';
import type { Unconfirmed } from '../port.js';
import type { StoreLog } from '../refused.js';
import { evaluate } from './batches.js';
import type { RedisClient } from './connect.js';
import { answersOf, describeFailure } from './failure.js';
import type { Link } from './link.js';

type Arguments = readonly (string | number | Buffer)[];

/** The scripts that were sent over the current connection of a client. */
const sentOver = new WeakMap<RedisClient, Set<string>>();

function scriptsOf(client: RedisClient): Set<string> {
  const known = sentOver.get(client);
  if (known !== undefined) return known;
  const sent = new Set<string>();
  sentOver.set(client, sent);
  client.on('close', () => sent.clear());
  return sent;
}

/**
 * A tag of an atomic script's text. It is sent whole over each new connection, then by its hash, and whole again if the server
 * has lost it.
 * @param name for traces
 */
export function script<Reply>(name: string) {
  return (text: TemplateStringsArray, ...parts: readonly (string | number)[]) =>
    sender<Reply>(name, String.raw({ raw: text }, ...parts));
}

/** A script that reads: sent at the end of the turn, with bytes as its reply. */
export const readScript = <Reply>(name: string, lua: string) => sender<Reply>(name, lua, true);

function sender<Reply>(name: string, lua: string, isRead = false) {
  const sha = createHash('sha1').update(lua).digest('hex');
  return (link: Pick<Link, 'call'>, keys: readonly string[], args: Arguments): Promise<Reply> =>
    link.call(name, async (client) => {
      const sent = scriptsOf(client);
      if (sent.has(sha))
        try {
          return (await evaluate(client, 'evalsha', sha, keys, args, isRead)) as Reply;
        } catch (error) {
          if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
        }
      sent.add(sha);
      return (await evaluate(client, 'eval', lua, keys, args, isRead)) as Reply;
    });
}

/** The pairs of a flat list, as Lua returns a hash. */
export function pairsOf(flat: readonly string[]): [name: string, value: string][] {
  return flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? '']] : []));
}

/** Where durable changes are made, and how many replicas must confirm them within which time. */
export interface Durable {
  readonly link: Pick<Link, 'call'>;
  readonly replicaWaitMs: number;
  readonly minReplicas: number;
  readonly logger: StoreLog;
}

/** A script whose change replicas must confirm. It returns its answer, and `replicas()` if it changed anything. */
export function durableScript<Answer>(name: string) {
  return (text: TemplateStringsArray, ...parts: readonly (string | number)[]) => {
    const lua = `${REPLICAS}${String.raw({ raw: text }, ...parts)}`;
    const send = sender<[Answer, connected?: number, attentive?: number]>(name, lua);
    /**
     * @param change identifies it in the log
     * @returns the answer, and the confirmations when they are fewer than `minReplicas`
     */
    return async (
      durable: Durable,
      keys: readonly [string, ...string[]],
      args: Arguments,
      change: object | ((answer: Answer) => object),
    ): Promise<[Answer, Unconfirmed | null]> => {
      const [answer, connected, attentive = 0] = await send(durable.link, keys, args);
      if (connected === undefined) return [answer, null];
      const what = typeof change === 'function' ? change(answer) : change;
      // In a cluster, any of the keys leads to the server of the change.
      return [answer, await awaitReplicas(keys[0], connected, attentive, what, durable)];
    };
  };
}

/**
 * Waits until the replicas have the last change, except those silent for seconds. A missing confirmation is logged, as a
 * failover could lose the change.
 */
async function awaitReplicas(
  key: string,
  connected: number,
  attentive: number,
  what: object,
  { link, replicaWaitMs, minReplicas, logger }: Durable,
): Promise<Unconfirmed | null> {
  // INFO may be forbidden to this user: then no replica is known.
  const waitFor = connected === 0 ? minReplicas : attentive;
  if (connected === 0 && minReplicas === 0) return null;
  let confirmed = 0;
  let fault = 'no answer in time';
  try {
    const [, count] = await link.call('pipeline', async (client) =>
      answersOf(await client.pipeline().exists(key).wait(waitFor, replicaWaitMs).exec()),
    );
    confirmed = Number(count);
  } catch (error) {
    fault = describeFailure(error);
  }
  if (confirmed < connected || confirmed < minReplicas) {
    logger.warn(
      { ...what, replicas: connected, confirmed, minReplicas, fault },
      'a change was made, but not every replica of Redis has confirmed it',
    );
  }
  return confirmed < minReplicas ? { replicas: confirmed, wanted: minReplicas } : null;
}

/** '' if INFO is forbidden to this user. */
const INFO = `
local function info(section)
  local text = redis.pcall('INFO', section)
  return type(text) == 'string' and text or ''
end`;

/** Identifies the server and its start. */
export const SERVER = `${INFO}
local function server()
  return string.match(info('server'), 'run_id:(%w+)') or ''
end`;

/** The numbers of connected replicas, and of those with contact in the last seconds (`lag` is -1 at times). */
const REPLICAS = `${INFO}
local function replicas()
  local text = info('replication')
  local connected, attentive = tonumber(string.match(text, 'connected_slaves:(%d+)') or 0), 0
  for state, lag in string.gmatch(text, 'slave%d+:[^\\r\\n]*state=(%a+)[^\\r\\n]*lag=(%-?%d+)') do
    if state == 'online' and tonumber(lag) <= 2 then attentive = attentive + 1 end
  end
  return connected, attentive
end`;

/**
 * Lifetimes of keys without a TTL, as a `volatile-*` policy evicts keys that have one. `ends`, a sorted set at
 * KEYS[1], has the end of each key, by the server's time. An ended key counts as absent; later writes delete some of them.
 */
export const ENDS = `
local ends = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function lives(key)
  return tonumber(redis.call('ZSCORE', ends, key) or 0) > now
end
local function collect(most)
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, most)) do
    redis.call('UNLINK', key)
    redis.call('ZREM', ends, key)
  end
end`;
