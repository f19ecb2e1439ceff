/**
 * Lifetimes of keys that do not expire by themselves: a server with a `volatile-*` policy evicts what expires, and a
 * cache beside it will bring it to that. Instead `ends`, a sorted set at KEYS[1], says when each key ends; what has
 * ended counts as absent, and is deleted by later writes, a few at a time. All times are the server's.
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
