import type { Result } from 'ioredis';
import { CLOCK_LEAD_MAX_MS } from '../port.js';
import { ENDS } from './lua.js';

/**
 * Scripts of token buckets and presence, which may not be evicted and do not expire by themselves: see lua.ts.
 */

/**
 * A bucket is a hash of `used`, the permits not back yet, and `at`, the latest time it has seen. Numbers are written
 * so that they are read back exactly.
 * KEYS: ends, bucket. ARGV: want, capacity, refill per millisecond, now, milliseconds to live. The same sums as in quota-bucket.ts.
 */
const TAKE = `${ENDS}
local bucket = KEYS[2]
local want, capacity, refill, asked = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local found = lives(bucket) and redis.call('HMGET', bucket, 'used', 'at') or {}
local used, at = tonumber(found[1] or 0), tonumber(found[2] or asked)
if refill > 0 then used = math.min(used, capacity) end
if asked > at then
  used = math.max(0, used - (asked - at) * refill)
  at = asked
elseif at - asked > ${CLOCK_LEAD_MAX_MS} then at = asked end
local granted = math.min(want, math.max(0, math.floor(capacity - used)))
used = string.format('%.17g', used + granted)
at = string.format('%.17g', at)
if want > 0 then
  redis.call('HSET', bucket, 'used', used, 'at', at)
  redis.call('ZADD', ends, now + ARGV[5], bucket)
  collect(10)
end
return {granted, used, at}`;

/** KEYS: ends, bucket. ARGV: permits. What is used after that; null when there is no bucket. */
const GIVE = `${ENDS}
local used = lives(KEYS[2]) and redis.call('HGET', KEYS[2], 'used')
if not used then return false end
used = string.format('%.17g', math.max(0, tonumber(used) - tonumber(ARGV[1])))
redis.call('HSET', KEYS[2], 'used', used)
return used`;

/**
 * KEYS: ends, the set of ids, what is known of this one. ARGV: id, info, milliseconds. Replicas of the first versions
 * let the set and what is theirs expire.
 */
const BEAT = `${ENDS}
redis.call('SET', KEYS[3], ARGV[2])
redis.call('ZADD', ends, now + ARGV[3], KEYS[3])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('PERSIST', KEYS[2])
return 1`;

/** KEYS: ends, the set of ids. A flat list of id and info; lapsed ids leave the set. */
const PRESENT = `${ENDS}
collect(1000)
local present = {}
for _, id in ipairs(redis.call('SMEMBERS', KEYS[2])) do
  local info = redis.call('GET', KEYS[2] .. ':' .. id)
  if info then
    present[#present + 1] = id
    present[#present + 1] = info
  else redis.call('SREM', KEYS[2], id) end
end
return present`;

export const DATA_SCRIPTS = {
  dgwTake: { lua: TAKE, numberOfKeys: 2 },
  dgwGive: { lua: GIVE, numberOfKeys: 2 },
  dgwBeat: { lua: BEAT, numberOfKeys: 3 },
  dgwPresent: { lua: PRESENT, numberOfKeys: 2 },
};

declare module 'ioredis' {
  interface RedisCommander<Context> {
    dgwTake(
      ...args: [
        ...keys: [ends: string, bucket: string],
        ...numbers: [want: number, capacity: number, refill: number, nowMs: number, ttlMs: number],
      ]
    ): Result<[granted: number, used: string, atMs: string], Context>;
    dgwGive(ends: string, bucket: string, count: number): Result<string | null, Context>;
    dgwBeat(
      ...args: [ends: string, ids: string, key: string, id: string, info: string, ttlMs: number]
    ): Result<number, Context>;
    dgwPresent(ends: string, ids: string): Result<string[], Context>;
  }
}
