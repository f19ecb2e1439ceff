import type { Result } from 'ioredis';
import { ENDS, SERVER } from './lua.js';

/** How many replicas a server has, and how many of them were heard from lately, as `replicas()` in Lua says. */
export type Replicas = readonly [connected: number, attentive: number];

/**
 * Scripts of what is durable beside the registry: counters and documents. None of their keys expires by itself; see
 * lua.ts.
 */
const LIFETIMES = `${SERVER}${ENDS}`;

/**
 * KEYS: ends, batches (a sorted set of ids by when they are forgotten), groups. ARGV: batch, milliseconds it is
 * remembered, milliseconds the groups live, count of adds; then for each add and each raise: its group's place in KEYS,
 * field, number.
 *
 * Everything is read before anything is written: so whatever may fail (a key of another type, no memory left) fails
 * before anything is done.
 */
const COUNT = `${LIFETIMES}
local batches, batch, MOST = KEYS[2], ARGV[1], ${Number.MAX_SAFE_INTEGER}
local known = tonumber(redis.call('ZSCORE', batches, batch) or 0) > now
local old, totals = {}, {}
if not known then
  for at = 3, #KEYS do
    old[at], totals[at] = lives(KEYS[at]), {}
  end
  for at = 5, #ARGV, 3 do
    local group, field, number = tonumber(ARGV[at]), ARGV[at + 1], tonumber(ARGV[at + 2])
    local have = totals[group][field]
    if not have and old[group] then have = tonumber(redis.call('HGET', KEYS[group], field) or '') end
    if at < 5 + 3 * tonumber(ARGV[4]) then
      totals[group][field] = math.max(-MOST, math.min(MOST, (have or 0) + number))
    else
      totals[group][field] = math.max(have or number, number)
    end
  end
end
-- Also for a batch that is known: a write, so that WAIT covers it where its first answer was lost.
redis.call('ZADD', batches, now + ARGV[2], batch)
redis.call('ZREMRANGEBYSCORE', batches, '-inf', now)
for at, fields in pairs(totals) do
  if not old[at] then redis.call('UNLINK', KEYS[at]) end
  for field, total in pairs(fields) do
    redis.call('HSET', KEYS[at], field, string.format('%.0f', total))
  end
  redis.call('ZADD', ends, now + ARGV[3], KEYS[at])
end
collect(100)
return {replicas()}`;

/** KEYS: ends, groups. For each a flat list of field and number. */
const READ_COUNTERS = `${LIFETIMES}
local groups = {}
for at = 2, #KEYS do
  groups[at - 1] = lives(KEYS[at]) and redis.call('HGETALL', KEYS[at]) or {}
end
return groups`;

/** Documents up to this long are small: those that say that a call was begun. */
const SMALL_NOTE_BYTES = 1024;

/**
 * KEYS: ends, document, how many bytes all documents have. What is large has room up to three quarters of what is allowed, so
 * that what is small goes on finding some.
 */
const NOTES = `${LIFETIMES}
local document, bytes = KEYS[2], KEYS[3]
-- What ended may be of another type, and of no size then.
local function size(key)
  return redis.call('TYPE', key).ok == 'string' and redis.call('STRLEN', key) or 0
end
local function hasRoom(text, most)
  if #text > ${SMALL_NOTE_BYTES} then most = most * 3 / 4 end
  local growth = #text - size(document)
  return growth <= 0 or tonumber(redis.call('GET', bytes) or 0) + growth <= most
end
local function put(text, ms)
  redis.call('INCRBY', bytes, #text - size(document))
  redis.call('SET', document, text)
  redis.call('ZADD', ends, now + ms, document)
end
local function drop(key)
  redis.call('DECRBY', bytes, size(key))
  redis.call('UNLINK', key)
  redis.call('ZREM', ends, key)
  if redis.call('EXISTS', ends) == 0 then redis.call('UNLINK', bytes) end
end
local function collectDocuments(most)
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, most)) do drop(key) end
end`;

/**
 * ARGV: text, milliseconds, bytes that all documents may have. 1 and the replicas when made, 0 and the text that is there,
 * or 2 where there is no room.
 */
const CREATE_NOTE = `${NOTES}
local text = lives(document) and redis.call('GET', document)
if text then return {0, text} end
collectDocuments(10)
if not hasRoom(ARGV[1], tonumber(ARGV[3])) then return {2} end
put(ARGV[1], ARGV[2])
return {1, replicas()}`;

/** KEYS: ends, document. */
const READ_NOTE = `${LIFETIMES}
return lives(KEYS[2]) and redis.call('GET', KEYS[2])`;

/**
 * ARGV: text before, then text after, milliseconds and bytes that all documents may have, if it is to stay. 1 and the
 * replicas when done, 0 when the text is another, 2 where there is no room.
 */
const REPLACE_NOTE = `${NOTES}
if not lives(document) or redis.call('GET', document) ~= ARGV[1] then return {0} end
if not ARGV[2] then drop(document)
elseif not hasRoom(ARGV[2], tonumber(ARGV[4])) then return {2}
else put(ARGV[2], ARGV[3]) end
return {1, replicas()}`;

export const DURABLE_SCRIPTS = {
  dgwCount: { lua: COUNT },
  dgwReadCounters: { lua: READ_COUNTERS },
  dgwCreateDocument: { lua: CREATE_NOTE, numberOfKeys: 3 },
  dgwReadDocument: { lua: READ_NOTE, numberOfKeys: 2 },
  dgwReplaceDocument: { lua: REPLACE_NOTE, numberOfKeys: 3 },
};

type DocumentKeys = [ends: string, document: string, bytes: string];

declare module 'ioredis' {
  interface RedisCommander<Context> {
    dgwCount(keys: number, keysThenRest: readonly (string | number)[]): Result<Replicas, Context>;
    dgwReadCounters(keys: number, ...endsThenGroups: string[]): Result<string[][], Context>;
    dgwCreateDocument(
      ...args: [...keys: DocumentKeys, text: string, ttlMs: number, maxBytes: number]
    ): Result<[made: 1, ...Replicas] | [made: 0, text: string] | [noRoom: 2], Context>;
    dgwReadDocument(ends: string, key: string): Result<string | null, Context>;
    dgwReplaceDocument(
      ...args: [...keys: DocumentKeys, before: string, after: readonly (string | number)[]]
    ): Result<[done: 1, ...Replicas] | [other: 0] | [noRoom: 2], Context>;
  }
}
