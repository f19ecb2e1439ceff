/** How cache entries lie in Redis, and the script that writes them. */
import { MARK, STAMP_BYTES } from '../entry-stamp.js';
import { VERSION_LEAD_MAX_MS } from '../port.js';

/** Bodies above it have keys of their own: a hash is read by its fields, and dropped as a whole. */
export const OWN_KEY_ABOVE_BYTES = 256 * 1024;
/** Bodies up to it lie behind their heads: a field of their own would cost as much again as a small day has bytes. */
export const BEHIND_HEAD_BYTES = 1024;

/**
 * Writes entries of one group in the place of older ones: their heads, with small bodies behind them. Larger bodies and
 * facts follow as plain commands of the same transaction, each only where there is none: through Lua they would be copied
 * twice more. It is sent whole each time, as a transaction cannot find out in between that the server has lost it.
 *
 * KEYS: the group's hash; for each entry the key that a large body has. ARGV: now, the longest lifetime of the entries,
 * milliseconds; for each entry its field, its version, and its head with a small body; '' for one that is gone at once.
 *
 * An entry of which a part is lost is dropped with what is left of it. So are fields that are over, and facts and
 * bodies without a head; but where a head is of another form, its facts are unknown, and all of them stay.
 */
export const WRITE_GROUP = `
local hash, now, longest = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local kind = redis.call('TYPE', hash).ok
if kind ~= 'hash' and kind ~= 'none' then redis.call('UNLINK', hash) end

local function number(text, from, to)
  local sum = 0
  for at = from, to do sum = sum * 256 + string.byte(text, at) end
  return sum
end
local function stampOf(head)
  if not head or #head < ${STAMP_BYTES} then return nil end
  local m, n = string.byte(head, 1, 2)
  if m ~= ${MARK[0]} or n ~= ${MARK[1]} then return nil end
  local facts = string.gsub(string.sub(head, 19, ${STAMP_BYTES}), '.', function(one)
    return string.format('%02x', string.byte(one))
  end)
  return {version = number(head, 3, 8), ends = number(head, 9, 14), bytes = number(head, 15, 18), facts = 'f:' .. facts,
    size = #head}
end
local function isWhole(stamp, field, own)
  if redis.call('HEXISTS', hash, stamp.facts) == 0 then return false end
  if stamp.bytes > ${OWN_KEY_ABOVE_BYTES} then return redis.call('TYPE', own).ok == 'string' end
  if stamp.bytes <= ${BEHIND_HEAD_BYTES} then return stamp.size >= ${STAMP_BYTES} + stamp.bytes end
  return redis.call('HEXISTS', hash, 'd:' .. field) == 1
end

local taken = false
for i = 2, #KEYS do
  local at = 3 * i - 3
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
    else used[stamp.facts] = true end
  end
end
if not foreign then
  for _, name in ipairs(facts) do
    if not used[name] then redis.call('HDEL', hash, name) end
  end
end
if taken and redis.call('PTTL', hash) < longest then redis.call('PEXPIRE', hash, longest) end`;

/**
 * A body at a key of its own: a mark (2 bytes) · the entry's version (6, big endian) · its bytes. What does not start with
 * the mark is of somebody else.
 */
const HEAD_BYTES = 8;

export function encodeVersioned(value: Buffer, version: number): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + value.length);
  bytes.set(MARK);
  bytes.writeUIntBE(version, MARK.length, HEAD_BYTES - MARK.length);
  value.copy(bytes, HEAD_BYTES);
  return bytes;
}

/** @returns the value, as a view of the bytes; null for what is none of this version */
export function decodeVersioned(bytes: Buffer | null, version: number): Buffer | null {
  if (bytes === null || bytes.length < HEAD_BYTES) return null;
  if (bytes[0] !== MARK[0] || bytes[1] !== MARK[1]) return null;
  if (bytes.readUIntBE(MARK.length, HEAD_BYTES - MARK.length) !== version) return null;
  return bytes.subarray(HEAD_BYTES);
}
