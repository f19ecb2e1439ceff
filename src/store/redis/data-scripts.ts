import type { Result } from 'ioredis';
import { CLOCK_LEAD_MAX_MS, VERSION_LEAD_MAX_MS } from '../port.js';
import { HEAD_BYTES, MARK } from './versioned-value.js';

/** Scripts of what may be lost: cache entries, token buckets, presence. */

/**
 * Makes way for newer content: deletes the entries that a write of that version replaces. ARGV: for each key the
 * version. The values themselves follow as plain commands of the same transaction: through Lua each would be copied
 * twice more. It is sent whole each time, as a transaction cannot find out in between that the server has lost it.
 */
export const MAKE_WAY = `
for i, key in ipairs(KEYS) do
  local head, new = redis.pcall('GETRANGE', key, 0, ${HEAD_BYTES - 1}), tonumber(ARGV[i])
  local m, n, a, b, c, d, e, f = string.byte(type(head) == 'string' and head or '', 1, ${HEAD_BYTES})
  local present = f and ((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f
  if m ~= ${MARK[0]} or n ~= ${MARK[1]} then present = nil end
  if not present or present <= new or present > new + ${VERSION_LEAD_MAX_MS} then redis.call('UNLINK', key) end
end`;

/**
 * A bucket is a hash of `used`, the permits not back yet, and `at`, the latest time it has seen. Numbers are written
 * so that they are read back exactly.
 * ARGV: want, capacity, refill per millisecond, now, milliseconds to live. The same sums as in quota-bucket.ts.
 */
const TAKE = `
local want, capacity, refill, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local found = redis.call('HMGET', KEYS[1], 'used', 'at')
local used, at = tonumber(found[1] or 0), tonumber(found[2] or now)
if now > at then
  used = math.max(0, used - (now - at) * refill)
  at = now
elseif at - now > ${CLOCK_LEAD_MAX_MS} then at = now end
local granted = math.min(want, math.max(0, math.floor(capacity - used)))
used = string.format('%.17g', used + granted)
at = string.format('%.17g', at)
if want > 0 then
  redis.call('HSET', KEYS[1], 'used', used, 'at', at)
  redis.call('PEXPIRE', KEYS[1], ARGV[5])
end
return {granted, used, at}`;

/** ARGV: permits. What is used after that; null when there is no bucket. */
const GIVE = `
local used = redis.call('HGET', KEYS[1], 'used')
if not used then return false end
used = string.format('%.17g', math.max(0, tonumber(used) - tonumber(ARGV[1])))
redis.call('HSET', KEYS[1], 'used', used)
return used`;

/** KEYS: the set of ids, what is known of this one. ARGV: id, info, milliseconds. */
const BEAT = `
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
redis.call('SADD', KEYS[1], ARGV[1])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 1`;

/** KEYS: the set of ids. A flat list of id and info; lapsed ids leave the set. */
const PRESENT = `
local present = {}
for _, id in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local info = redis.call('GET', KEYS[1] .. ':' .. id)
  if info then
    present[#present + 1] = id
    present[#present + 1] = info
  else redis.call('SREM', KEYS[1], id) end
end
return present`;

export const DATA_SCRIPTS = {
  dgwTake: { lua: TAKE, numberOfKeys: 1 },
  dgwGive: { lua: GIVE, numberOfKeys: 1 },
  dgwBeat: { lua: BEAT, numberOfKeys: 2 },
  dgwPresent: { lua: PRESENT, numberOfKeys: 1 },
};

declare module 'ioredis' {
  interface RedisCommander<Context> {
    dgwTake(
      ...args: [key: string, want: number, capacity: number, refill: number, nowMs: number, ttlMs: number]
    ): Result<[granted: number, used: string, atMs: string], Context>;
    dgwGive(key: string, count: number): Result<string | null, Context>;
    dgwBeat(
      ...args: [ids: string, key: string, id: string, info: string, ttlMs: number]
    ): Result<number, Context>;
    dgwPresent(ids: string): Result<string[], Context>;
  }
}
