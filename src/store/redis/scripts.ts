import type { Result } from 'ioredis';
import { ANOTHER_REGISTRY, ANOTHER_VERSION } from '../port.js';
import { CHARGE_SCRIPTS } from './charge-scripts.js';
import { DATA_SCRIPTS } from './data-scripts.js';
import { DURABLE_SCRIPTS, type Replicas } from './durable-scripts.js';
import { HISTORY_SCRIPTS } from './history-script.js';
import { SERVER } from './lua.js';

/**
 * The scripts that make several steps one. ioredis sends them by their hash, and whole when the server has lost
 * them (NOSCRIPT after a restart).
 *
 * The registry's keys are, in this order:
 * 1. meta: a hash of `epoch`, `version`, `floor`, below which deletions have been forgotten, and `birth`, which tells
 *    one making of the same epoch from another;
 * 2. records: a hash of id to text;
 * 3. revisions: a sorted set of ids, deleted ones included, by the version of their last change;
 * 4. tombstones: a sorted set of deleted ids by the version of their deletion;
 * 5. audit: a stream of lines.
 */

/**
 * ARGV: owner, milliseconds. One 1 or 0 per key. It is sent whole each time: sent again because the server has lost it, it
 * would be overtaken by the reads behind it.
 */
export const CLAIM = `
local held = {}
for i, key in ipairs(KEYS) do
  local owner = redis.call('GET', key)
  if not owner or owner == ARGV[1] then
    redis.call('SET', key, ARGV[1], 'PX', ARGV[2])
    held[i] = 1
  else
    held[i] = 0
  end
end
return held`;

/** ARGV: owner, milliseconds. One 1 or 0 per key. */
const RENEW = `
local held = {}
for i, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then
    held[i] = redis.call('PEXPIRE', key, ARGV[2])
  else
    held[i] = 0
  end
end
return held`;

/** ARGV: owner; then, where something is to be said of it, the channel and the message. */
const RELEASE = `
for _, key in ipairs(KEYS) do
  if redis.call('GET', key) == ARGV[1] then redis.call('DEL', key) end
end
if ARGV[2] then redis.call('PUBLISH', ARGV[2], ARGV[3]) end
return 1`;

/** A server, or a registry made once more on it, that others have not loaded from: they must, to see what is lost. */
const HOME = `${SERVER}
local function home()
  return server() .. '/' .. (redis.call('HGET', KEYS[1], 'birth') or '')
end`;

/** ARGV: an epoch, should there be none; or '' to leave it so. */
const LOAD = `${HOME}
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if not epoch then
  epoch = ARGV[1]
  if epoch == '' then return {'', 0, home(), {}, {}} end
  redis.call('HSET', KEYS[1], 'epoch', epoch)
end
local version = tonumber(redis.call('HGET', KEYS[1], 'version') or 0)
return {
  epoch, version, home(),
  redis.call('HGETALL', KEYS[2]),
  redis.call('ZRANGE', KEYS[3], 0, -1, 'WITHSCORES')
}`;

/** ARGV: epoch, version, server. Null when only a load can tell. */
const CHANGES = `${HOME}
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'version', 'floor')
local since, version, floor = tonumber(ARGV[2]), tonumber(meta[2] or 0), tonumber(meta[3] or 0)
if meta[1] ~= ARGV[1] or since > version or since < floor then return false end
if ARGV[3] ~= '' and ARGV[3] ~= home() then return false end
local changed = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[2], '+inf', 'WITHSCORES')
local rows = {}
for i = 1, #changed, 2 do
  local value = redis.call('HGET', KEYS[2], changed[i])
  rows[#rows + 1] = {changed[i], tonumber(changed[i + 1]), value and 1 or 0, value or ''}
end
return {version, rows}`;

/**
 * ARGV: epoch, version, birth, most audit lines, count of records; then those: id, text, revision; then audit lines.
 * 1 when it was made, 0 when there is a registry, or what is left of one.
 */
const CREATE = `${SERVER}
local meta, records, revisions, tombstones, audit = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
if redis.call('EXISTS', meta) == 1 or redis.call('EXISTS', records) == 1 then return {0} end
redis.call('DEL', revisions, tombstones)
redis.call('HSET', meta, 'epoch', ARGV[1], 'version', ARGV[2], 'floor', ARGV[2], 'birth', ARGV[3])
local at = 6
for _ = 1, tonumber(ARGV[5]) do
  redis.call('HSET', records, ARGV[at], ARGV[at + 1])
  redis.call('ZADD', revisions, ARGV[at + 2], ARGV[at])
  at = at + 3
end
for line = at, #ARGV do
  redis.call('XADD', audit, 'MAXLEN', '=', ARGV[4], '*', 'line', ARGV[line])
end
return {1, replicas()}`;

/**
 * ARGV: an epoch should there be none, most audit lines, most tombstones, then three counts: of expectations, writes
 * and audit lines; the epoch and the version that are expected, or ''; then what was counted: id and revision; 'set' or
 * 'delete', id and text; line.
 */
const COMMIT = `${SERVER}
local meta, records, revisions, tombstones, audit = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
if ARGV[7] ~= '' and redis.call('HGET', meta, 'epoch') ~= ARGV[7] then
  return {'conflict', '${ANOTHER_REGISTRY}'}
end
if ARGV[8] ~= '' and (redis.call('HGET', meta, 'version') or '0') ~= ARGV[8] then
  return {'conflict', '${ANOTHER_VERSION}'}
end
local at = 9
for _ = 1, tonumber(ARGV[4]) do
  local id, have = ARGV[at], 0
  if redis.call('HEXISTS', records, id) == 1 then
    have = tonumber(redis.call('ZSCORE', revisions, id) or 0)
  end
  if have ~= tonumber(ARGV[at + 1]) then return {'conflict', id} end
  at = at + 2
end
redis.call('HSETNX', meta, 'epoch', ARGV[1])
local version = redis.call('HINCRBY', meta, 'version', 1)
for _ = 1, tonumber(ARGV[5]) do
  local id = ARGV[at + 1]
  if ARGV[at] == 'set' then
    redis.call('HSET', records, id, ARGV[at + 2])
    redis.call('ZADD', revisions, version, id)
    redis.call('ZREM', tombstones, id)
  elseif redis.call('HDEL', records, id) == 1 then
    redis.call('ZADD', revisions, version, id)
    redis.call('ZADD', tombstones, version, id)
  end
  at = at + 3
end
local excess = redis.call('ZCARD', tombstones) - tonumber(ARGV[3])
if excess > 0 then
  local forgotten = redis.call('ZPOPMIN', tombstones, excess)
  for i = 1, #forgotten, 2 do redis.call('ZREM', revisions, forgotten[i]) end
  redis.call('HSET', meta, 'floor', forgotten[#forgotten])
end
for _ = 1, tonumber(ARGV[6]) do
  redis.call('XADD', audit, 'MAXLEN', '=', ARGV[2], '*', 'line', ARGV[at])
  at = at + 1
end
return {'done', version, replicas()}`;

export const SCRIPTS = {
  ...DATA_SCRIPTS,
  ...DURABLE_SCRIPTS,
  ...CHARGE_SCRIPTS,
  ...HISTORY_SCRIPTS,
  dgwRenew: { lua: RENEW },
  dgwRelease: { lua: RELEASE },
  dgwLoad: { lua: LOAD, numberOfKeys: 5 },
  dgwChanges: { lua: CHANGES, numberOfKeys: 5 },
  dgwCreate: { lua: CREATE, numberOfKeys: 5 },
  dgwCommit: { lua: COMMIT, numberOfKeys: 5 },
};

type Five = readonly [string, string, string, string, string];

declare module 'ioredis' {
  interface RedisCommander<Context> {
    dgwRenew(keys: number, ...keysThenOwnerAndMs: (string | number)[]): Result<number[], Context>;
    dgwRelease(keys: number, ...keysThenOwnerAndNews: string[]): Result<number, Context>;
    dgwLoad(...args: [...keys: Five, epoch: string]): Result<LoadReply, Context>;
    dgwChanges(
      ...args: [...keys: Five, epoch: string, version: number, server: string]
    ): Result<ChangesReply, Context>;
    dgwCreate(...args: [...keys: Five, rest: (string | number)[]]): Result<CreateReply, Context>;
    dgwCommit(...args: [...keys: Five, rest: (string | number)[]]): Result<CommitReply, Context>;
  }
}

/** Records and revisions come as flat lists of id and text, id and number. */
export type LoadReply = [
  epoch: string,
  version: number,
  server: string,
  records: string[],
  revisions: string[],
];

export type ChangesReply =
  | [version: number, rows: [id: string, revision: number, present: number, value: string][]]
  | null;

/** `connected`: the server's replicas; `attentive`: those among them that were heard from lately. */
export type CommitDone = [outcome: 'done', version: number, connected: number, attentive: number];

export type CreateReply = [made: 0] | [made: 1, ...Replicas];

export type CommitReply = CommitDone | [outcome: 'conflict', id: string];
