/** Functions that several scripts share. */

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

/**
 * Which server this is, new at each of its starts; and how many replicas it has, and how many of them were heard
 * from in the last seconds (`lag` is -1 at times). INFO may be forbidden to this user: then '' and no replicas.
 */
export const SERVER = `
local function info(section)
  local text = redis.pcall('INFO', section)
  return type(text) == 'string' and text or ''
end
local function server()
  return string.match(info('server'), 'run_id:(%w+)') or ''
end
local function replicas()
  local text = info('replication')
  local connected, attentive = tonumber(string.match(text, 'connected_slaves:(%d+)') or 0), 0
  for state, lag in string.gmatch(text, 'slave%d+:[^\\r\\n]*state=(%a+)[^\\r\\n]*lag=(%-?%d+)') do
    if state == 'online' and tonumber(lag) <= 2 then attentive = attentive + 1 end
  end
  return connected, attentive
end`;
