import type { Result } from 'ioredis';

/**
 * Writes days of one series and month. What is written is small, and only when a day has changed, so that its way through
 * Lua, which copies it, costs less than a second round trip.
 *
 * KEYS: the month's hash. ARGV: count of days; for each its field, its stamp ('' for none), its new value, which begins with
 * another stamp, how many contents follow, and how many names; contents by name; names of contents to be removed; and after
 * the days facts by their fields. One 1 or 0 for each day.
 */
const WRITE_HISTORY = `
local hash, at, done = KEYS[1], 2, {}
for i = 1, tonumber(ARGV[1]) do
  local day, stamp, value = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local added, removed = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local present = redis.call('HGET', hash, day)
  local same = (present and string.sub(present, 1, 6) or '') == stamp
  at = at + 5
  if same then redis.call('HSET', hash, day, value) end
  for _ = 1, added do
    if same then redis.call('HSET', hash, day .. ':' .. ARGV[at], ARGV[at + 1]) end
    at = at + 2
  end
  for _ = 1, removed do
    if same then redis.call('HDEL', hash, day .. ':' .. ARGV[at]) end
    at = at + 1
  end
  done[i] = same and 1 or 0
end
while at < #ARGV do
  redis.call('HSETNX', hash, ARGV[at], ARGV[at + 1])
  at = at + 2
end
return done`;

export const HISTORY_SCRIPTS = { dgwWriteHistory: { lua: WRITE_HISTORY, numberOfKeys: 1 } };

declare module 'ioredis' {
  interface RedisCommander<Context> {
    dgwWriteHistory(hash: string, rest: readonly (string | number | Buffer)[]): Result<number[], Context>;
  }
}
