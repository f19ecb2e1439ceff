import type { Result } from 'ioredis';
import { ENDS } from './lifetimes-lua.js';
import { SERVER } from './server-lua.js';

/** How many replicas a server has, and how many of them were heard from lately, as `replicas()` in Lua says. */
export type Replicas = readonly [connected: number, attentive: number];

/**
 * Scripts of what is durable beside the registry: tallies and notes. None of their keys expires by itself; see
 * lifetimes-lua.ts.
 */
const LIFETIMES = `${SERVER}${ENDS}`;

/**
 * KEYS: ends, batches (a sorted set of ids by when they are forgotten), books. ARGV: batch, milliseconds it is
 * remembered, milliseconds the books live, count of adds; then for each add and each raise: its book's place in KEYS,
 * field, number.
 *
 * Everything is read before anything is written: so whatever may fail (a key of another type, no memory left) fails
 * before anything is done.
 */
const TALLY = `${LIFETIMES}
local batches, batch, MOST = KEYS[2], ARGV[1], ${Number.MAX_SAFE_INTEGER}
local known = tonumber(redis.call('ZSCORE', batches, batch) or 0) > now
local old, totals = {}, {}
if not known then
  for at = 3, #KEYS do
    old[at], totals[at] = lives(KEYS[at]), {}
  end
  for at = 5, #ARGV, 3 do
    local book, field, number = tonumber(ARGV[at]), ARGV[at + 1], tonumber(ARGV[at + 2])
    local have = totals[book][field]
    if not have and old[book] then have = tonumber(redis.call('HGET', KEYS[book], field) or '') end
    if at < 5 + 3 * tonumber(ARGV[4]) then
      totals[book][field] = math.max(-MOST, math.min(MOST, (have or 0) + number))
    else
      totals[book][field] = math.max(have or number, number)
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

/** KEYS: ends, books. For each a flat list of field and number. */
const READ_TALLIES = `${LIFETIMES}
local books = {}
for at = 2, #KEYS do
  books[at - 1] = lives(KEYS[at]) and redis.call('HGETALL', KEYS[at]) or {}
end
return books`;

/** KEYS: ends, note. ARGV: text, milliseconds. 1 and the replicas when made, else 0 and the text that is there. */
const CREATE_NOTE = `${LIFETIMES}
local text = lives(KEYS[2]) and redis.call('GET', KEYS[2])
if text then return {0, text} end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('ZADD', ends, now + ARGV[2], KEYS[2])
collect(10)
return {1, replicas()}`;

/** KEYS: ends, note. */
const READ_NOTE = `${LIFETIMES}
return lives(KEYS[2]) and redis.call('GET', KEYS[2])`;

/**
 * KEYS: ends, note. ARGV: text before, then text after and milliseconds, if it is to stay. The replicas; null when
 * the text is another.
 */
const REPLACE_NOTE = `${LIFETIMES}
if not lives(KEYS[2]) or redis.call('GET', KEYS[2]) ~= ARGV[1] then return false end
if ARGV[2] then
  redis.call('SET', KEYS[2], ARGV[2])
  redis.call('ZADD', ends, now + ARGV[3], KEYS[2])
else
  redis.call('UNLINK', KEYS[2])
  redis.call('ZREM', ends, KEYS[2])
end
return {replicas()}`;

export const DURABLE_SCRIPTS = {
  dgwTally: { lua: TALLY },
  dgwReadTallies: { lua: READ_TALLIES },
  dgwCreateNote: { lua: CREATE_NOTE, numberOfKeys: 2 },
  dgwReadNote: { lua: READ_NOTE, numberOfKeys: 2 },
  dgwReplaceNote: { lua: REPLACE_NOTE, numberOfKeys: 2 },
};

declare module 'ioredis' {
  interface RedisCommander<Context> {
    dgwTally(keys: number, keysThenRest: readonly (string | number)[]): Result<Replicas, Context>;
    dgwReadTallies(keys: number, ...endsThenBooks: string[]): Result<string[][], Context>;
    dgwCreateNote(
      ...args: [ends: string, key: string, text: string, ttlMs: number]
    ): Result<[made: 1, ...Replicas] | [made: 0, text: string], Context>;
    dgwReadNote(ends: string, key: string): Result<string | null, Context>;
    dgwReplaceNote(
      ...args: [ends: string, key: string, before: string, afterAndMs: readonly (string | number)[]]
    ): Result<Replicas | null, Context>;
  }
}
