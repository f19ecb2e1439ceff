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
