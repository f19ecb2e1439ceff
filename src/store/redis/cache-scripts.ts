/** The scripts that write and read cache entries in Redis. redis-cache.ts describes the layout. */
import { MARK, PACKED_MARK, POINTER_MARK, STAMP_BYTES } from '../entry-stamp.js';
import { VERSION_LEAD_MAX_MS } from '../port.js';

/** Bodies above it have keys of their own: a hash is read by its fields, and dropped as a whole. */
export const OWN_KEY_ABOVE_BYTES = 256 * 1024;
/** Bodies up to it lie behind their heads: a field of their own would cost as much again as a small day has bytes. */
export const BEHIND_HEAD_BYTES = 1024;

const HEX_OF = `
local function hexOf(bytes)
  return (string.gsub(bytes, '.', function(one) return string.format('%02x', string.byte(one)) end))
end`;

/**
 * Writes entries of one group in the place of older ones: their heads, with small bodies behind them. Larger bodies and
 * facts follow as plain commands of the same transaction, each only if absent: Lua would copy them twice more. The text
 * is sent each time, as a transaction cannot be repeated if the server has lost the script.
 *
 * KEYS: the group's hash; its month in history, or the hash again; for each entry the key of a large body. ARGV: now and
 * the longest lifetime of the entries, milliseconds; for each entry its field, its version, and its head with a small
 * body, '' to delete it.
 *
 * An entry of which a part is lost is dropped with what is left of it. So are fields that are over, and facts and
 * bodies without a head; but where a head is of another form, its facts are unknown, and all of them stay.
 */
export const WRITE_GROUP = `${HEX_OF}
local hash, month, now, longest = KEYS[1], KEYS[2], tonumber(ARGV[1]), tonumber(ARGV[2])
local kind = redis.call('TYPE', hash).ok
if kind ~= 'hash' and kind ~= 'none' then redis.call('UNLINK', hash) end

local function number(text, from, to)
  local sum = 0
  for at = from, to do sum = sum * 256 + string.byte(text, at) end
  return sum
end
local function stampOf(head)
  if not head or #head < 15 then return nil end
  local m, n = string.byte(head, 1, 2)
  if m ~= ${MARK[0]} then return nil end
  local stamp = {version = number(head, 3, 8), ends = number(head, 9, 14), bytes = 0, size = #head}
  if n == ${POINTER_MARK} then
    stamp.name = string.sub(head, 15)
  elseif (n == ${MARK[1]} or n == ${PACKED_MARK}) and #head >= ${STAMP_BYTES} then
    stamp.bytes, stamp.facts = number(head, 15, 18), 'f:' .. hexOf(string.sub(head, 19, ${STAMP_BYTES}))
  else
    return nil
  end
  return stamp
end
local function isWhole(stamp, field, own)
  if stamp.name then
    local names = {'p:' .. stamp.name, field .. ':' .. stamp.name}
    return redis.call('HEXISTS', month, names[1]) + redis.call('HEXISTS', month, names[2]) > 0
  end
  if redis.call('HEXISTS', hash, stamp.facts) == 0 then return false end
  if stamp.bytes > ${OWN_KEY_ABOVE_BYTES} then return redis.call('TYPE', own).ok == 'string' end
  if stamp.bytes <= ${BEHIND_HEAD_BYTES} then return stamp.size >= ${STAMP_BYTES} + stamp.bytes end
  return redis.call('HEXISTS', hash, 'd:' .. field) == 1
end

local taken = false
for i = 3, #KEYS do
  local at = 3 * i - 6
  local field, new, head = ARGV[at], tonumber(ARGV[at + 1]), ARGV[at + 2]
  local present = stampOf(redis.call('HGET', hash, 'h:' .. field))
  if not (present and present.ends > now and present.version > new
    and present.version <= new + ${VERSION_LEAD_MAX_MS} and isWhole(present, field, KEYS[i])) then
    redis.call('HDEL', hash, 'h:' .. field, 'd:' .. field)
    redis.call('UNLINK', KEYS[i])
    if head ~= '' then
      redis.call('HSET', hash, 'h:' .. field, head)
      taken = true
    end
  end
end

local used, facts, foreign = {}, {}, false
for _, name in ipairs(redis.call('HKEYS', hash)) do
  local mark, field = string.sub(name, 1, 2), string.sub(name, 3)
  if mark == 'f:' then facts[#facts + 1] = name
  elseif mark == 'd:' and redis.call('HEXISTS', hash, 'h:' .. field) == 0 then redis.call('HDEL', hash, name)
  elseif mark == 'h:' then
    local stamp = stampOf(redis.call('HGET', hash, name))
    if not stamp then foreign = true
    elseif stamp.ends <= now then redis.call('HDEL', hash, name, 'd:' .. field)
    elseif stamp.facts then used[stamp.facts] = true end
  end
end
if not foreign then
  for _, name in ipairs(facts) do
    if not used[name] then redis.call('HDEL', hash, name) end
  end
end
if taken and redis.call('PTTL', hash) < longest then redis.call('PEXPIRE', hash, longest) end`;

/**
 * Reads groups: all parts of their entries but bodies with their own keys. It does little for each entry, as it reads
 * most hits.
 *
 * KEYS: for each group its hash, and its month in history, or the hash again. ARGV: for each group the number of its
 * heads, and their names. Returns for each group: heads; names and values of its other fields; names and values of
 * contents, and of their facts, in the month.
 */
export const READ_GROUPS = `${HEX_OF}
local byte, sub = string.byte, string.sub
local function get(key, names)
  if #names == 0 then return {} end
  local values = redis.pcall('HMGET', key, unpack(names))
  return values.err and {} or values
end
local groups, at = {}, 1
for k = 1, #KEYS, 2 do
  local hash, month, count = KEYS[k], KEYS[k + 1], tonumber(ARGV[at])
  local heads, own, past, seen = get(hash, {unpack(ARGV, at + 1, at + count)}), {}, {}, {}
  for i, head in ipairs(heads) do
    local m, n
    if head then m, n = byte(head, 1, 2) end
    if m == ${MARK[0]} and n == ${POINTER_MARK} then
      local name = sub(head, 15)
      past[#past + 1] = sub(ARGV[at + i], 3) .. ':' .. name
      if not seen[name] then past[#past + 1] = 'p:' .. name end
      seen[name] = true
    elseif m == ${MARK[0]} and (n == ${MARK[1]} or n == ${PACKED_MARK}) and #head >= ${STAMP_BYTES} then
      local facts, a, b, c, d = sub(head, 19, ${STAMP_BYTES}), byte(head, 15, 18)
      if not seen[facts] then own[#own + 1] = 'f:' .. hexOf(facts) end
      seen[facts] = true
      local bytes = ((a * 256 + b) * 256 + c) * 256 + d
      if bytes > ${BEHIND_HEAD_BYTES} and bytes <= ${OWN_KEY_ABOVE_BYTES} then
        own[#own + 1] = 'd:' .. sub(ARGV[at + i], 3)
      end
    end
  end
  local contents, facts = get(month, past), {}
  for i, content in ipairs(contents) do
    if content and sub(past[i], 1, 2) ~= 'p:' then facts[#facts + 1] = 'f:' .. hexOf(sub(content, 8, 23)) end
  end
  groups[#groups + 1] = {heads, own, get(hash, own), past, contents, facts, get(month, facts)}
  at = at + count + 1
end
return groups`;
