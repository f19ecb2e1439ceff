/** The scripts of days in Redis. redis-days.ts describes the layout. */
import { ORDER_LEAD_MAX_US } from '../days-port.js';
import { DAYS_AT, DAYS_IN_TABLE } from '../month-table.js';
import { TELL } from './changes-scripts.js';
import { readScript, script } from './script.js';

/** Sizes of parts that a script reads along: of one, and of all in a trip. A script copies values twice. */
const [ALONG_BYTES, ALL_ALONG_BYTES] = [16_384, 65_536];

/** The table (month-table.ts) is preceded by stamp (6) and checksum (4). */
const TABLE_AT = 10;
/** Positions in Lua, from 1. */
const [ORDER_FROM, DAY_BEFORE] = [TABLE_AT + 1, TABLE_AT + DAYS_AT];
const COUNT_FROM = DAY_BEFORE + DAYS_IN_TABLE + 1;

/** `indexOf(hash)`: the index with its stamp; false without one. */
const INDEX_OF = `
local function indexOf(hash)
  local index = redis.pcall('HGET', hash, 'i')
  if type(index) == 'string' and #index >= 6 then return index end
  return false
end`;

/**
 * `monthOf(hash, index, days, earlier)`: the index, or what stands for it; names and values of small parts of the days, as they
 * fit into `room`, and of their earlier revisions if they are wanted.
 */
const READ_MONTH = `${INDEX_OF}
local room = ${ALL_ALONG_BYTES}
local function partsOf(index)
  local parts, at = {}, ${COUNT_FROM + 1}
  for n = 1, string.byte(index, ${COUNT_FROM}) or 0 do
    local length = string.byte(index, at) or 0
    local a, b, c, d = string.byte(index, at + length + 1, at + length + 4)
    if not d then return parts end
    parts[n] = {'p:' .. string.sub(index, at + 1, at + length), ((a * 256 + b) * 256 + c) * 256 + d}
    at = at + length + 5
  end
  return parts
end
local function monthOf(hash, index, days, earlier)
  if not index then return {false} end
  local parts, names, seen = index == 0 and {} or partsOf(index), {}, {}
  for at = 1, #days do
    local day = string.byte(days, at)
    if earlier then names[#names + 1] = string.format('e:%02d', day) end
    local n = index == 0 and 0 or string.byte(index, ${DAY_BEFORE} + day) or 0
    local part = parts[n]
    if part and not seen[n] and part[2] <= ${ALONG_BYTES} and part[2] <= room then
      seen[n] = true
      room = room - part[2]
      names[#names + 1] = part[1]
    end
  end
  if #names == 0 then return {index} end
  return {index, names, redis.call('HMGET', hash, unpack(names))}
end`;

/** Index (0: as known), names of fields, their values. */
export type MonthReply = readonly [
  index: Buffer | 0 | null,
  names?: readonly Buffer[],
  values?: readonly (Buffer | null)[],
];

/** KEYS: months. ARGV: for each the wanted days, as bytes, and whether with earlier revisions (1 or 0). */
export const readDays = readScript<readonly MonthReply[]>(
  'dgwReadDays',
  `${READ_MONTH}
local months = {}
for at, hash in ipairs(KEYS) do
  months[at] = monthOf(hash, indexOf(hash), ARGV[2 * at - 1], ARGV[2 * at] == '1')
end
return months`,
);

/**
 * Takes free locks. A Redis without room grants them all: other replicas may fetch the same.
 *
 * KEYS: the locks of a series; months that were read. ARGV: owner, milliseconds, number of names, the names; for each month
 * its known stamp ('': none) and the days. Returns the order, as text; 1 or 0 for each name; each month, without its index if
 * it has the known stamp; the clock in microseconds, as text.
 */
export const claimDays = readScript<
  readonly [order: Buffer, held: readonly number[], months: readonly MonthReply[], clockUs: Buffer]
>(
  'dgwClaimDays',
  `${READ_MONTH}
local locks, owner, count = KEYS[1], ARGV[1], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function endOf(value) return tonumber(string.match(value, ' (%d+)$')) or 0 end
local held, taken = {}, {}
if count > 0 then
  local values = redis.pcall('HMGET', locks, unpack(ARGV, 4, 3 + count))
  for at = 1, count do
    local value = values[at]
    local isFree = not value or endOf(value) <= now or string.match(value, '^%S+') == owner
    held[at] = isFree and 1 or 0
    if isFree then
      taken[#taken + 1] = ARGV[3 + at]
      taken[#taken + 1] = owner .. ' ' .. string.format('%.0f', now + ARGV[2])
    end
  end
  if #taken > 0 then
    local set = redis.pcall('HSET', locks, unpack(taken))
    if type(set) == 'number' then
      -- Locks of owners that ended without releasing them.
      if set > 0 and redis.call('HLEN', locks) > 200 then
        local all = redis.call('HGETALL', locks)
        for at = 1, #all, 2 do
          if endOf(all[at + 1]) <= now then redis.call('HDEL', locks, all[at]) end
        end
      end
      redis.call('PEXPIRE', locks, math.max(ARGV[2], redis.call('PTTL', locks)))
    end
  end
end
local order = time[1] * 1000000 + time[2]
local clock = string.format('%.0f', order)
local latest = order + ${ORDER_LEAD_MAX_US}
local months = {}
for at = 2, #KEYS do
  local stamp, days = ARGV[2 * at + count], ARGV[2 * at + count + 1]
  local index = indexOf(KEYS[at])
  if index then
    local before = 0
    for n = ${ORDER_FROM}, ${DAY_BEFORE} do before = before * 256 + (string.byte(index, n) or 0) end
    if before <= latest then order = math.max(order, before + 1) end
  end
  if string.sub(index or '', 1, 6) == stamp and index then index = 0 end
  months[at - 1] = monthOf(KEYS[at], index, days, true)
end
return {string.format('%.0f', order), held, months, clock}`,
);

/** KEYS: the locks of a series. ARGV: owner, milliseconds, names. One 1 or 0 for each name. */
export const renewDays = script<number[]>('dgwRenewDays')`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = {}
for at = 3, #ARGV do
  local value = redis.call('HGET', KEYS[1], ARGV[at])
  held[at - 2] = 0
  if value and string.match(value, '^%S+') == ARGV[1] and tonumber(string.match(value, ' (%d+)$')) > now then
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[1] .. ' ' .. string.format('%.0f', now + ARGV[2]))
    redis.call('PEXPIRE', KEYS[1], math.max(ARGV[2], redis.call('PTTL', KEYS[1])))
    held[at - 2] = 1
  end
end
return held`;

/** `release(locks, owner, first, last)` of names in ARGV. */
const RELEASE = `
local function release(locks, owner, first, last)
  if last < first then return end
  local values, ended = redis.pcall('HMGET', locks, unpack(ARGV, first, last)), {}
  for at = first, last do
    local value = values[at - first + 1]
    if value and string.match(value, '^%S+') == owner then ended[#ended + 1] = ARGV[at] end
  end
  if #ended > 0 then redis.pcall('HDEL', locks, unpack(ended)) end
end`;

/** KEYS: the locks of a series. ARGV: channel ('': no message), message, owner, names. */
export const releaseDays = script<number>('dgwReleaseDays')`${RELEASE}
release(KEYS[1], ARGV[3], 4, #ARGV)
if ARGV[1] ~= '' then redis.pcall('PUBLISH', ARGV[1], ARGV[2]) end
return 1`;

/**
 * Writes a month that has its stamp. The first change is one command that needs room: a Redis without room, or without the right,
 * refuses it, and nothing is changed. What follows must not fail: Redis takes nothing back. A removal begins with one that needs no
 * room, after which Redis takes all others of the script, although it is full.
 *
 * KEYS: the month; the locks of its series; where it tells: the stream and its meta (or an outbox alone). ARGV: stamp ('': none);
 * the new index; milliseconds until the end ('': none; negative: although it had a later one, or none); numbers of fields that were
 * sent ahead, to set, and to remove; 1 for a removal; text of the feed, its changes, an incarnation, channel ('': no message);
 * fields sent ahead; fields and values; fields to remove; channel ('': no message), message, owner, names of locks. Returns 1 if it
 * was written, 0 if the month has another stamp, -1 if a field that was sent ahead is not there.
 */
export const writeDays = script<-1 | 0 | 1>('dgwWriteDays')`${RELEASE}${TELL}
local hash, locks = KEYS[1], KEYS[2]
local index = redis.pcall('HGET', hash, 'i')
local isForeign = type(index) == 'table'
if isForeign or (index and #index < 6) then index = false end
if string.sub(index or '', 1, 6) ~= ARGV[1] then return 0 end
local ahead, set, removed = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
for at = 12, 11 + ahead do
  if isForeign or redis.call('HEXISTS', hash, ARGV[at]) == 0 then return -1 end
end
local at = 12 + ahead
if ARGV[7] == '1' then redis.pcall('HDEL', hash, '') end
local told = false
if KEYS[3] then
  told = tell(KEYS[3], KEYS[4], ARGV[8], ARGV[9], ARGV[10])
  if type(told) == 'table' then return told end
end
if isForeign then redis.call('UNLINK', hash) end
local done = redis.pcall('HSET', hash, 'i', ARGV[2], unpack(ARGV, at, at + 2 * set - 1))
if type(done) == 'table' then
  if told then untell(KEYS[3], KEYS[4], told, ARGV[9]) end
  return done
end
at = at + 2 * set
if removed > 0 then redis.pcall('HDEL', hash, unpack(ARGV, at, at + removed - 1)) end
at = at + removed
if ARGV[3] == '' then
  if index then redis.pcall('PERSIST', hash) end
elseif tonumber(ARGV[3]) < 0 then redis.pcall('PEXPIRE', hash, -ARGV[3])
else
  local left = redis.pcall('PTTL', hash)
  if left < tonumber(ARGV[3]) and (left ~= -1 or not index) then redis.pcall('PEXPIRE', hash, ARGV[3]) end
end
release(locks, ARGV[at + 2], at + 3, #ARGV)
if ARGV[at] ~= '' then redis.pcall('PUBLISH', ARGV[at], ARGV[at + 1]) end
if told and ARGV[11] ~= '' then redis.pcall('PUBLISH', ARGV[11], '') end
return 1`;

/**
 * Removes a month that has its stamp. KEYS: the month; where it tells, as for a write. ARGV: stamp ('': none); text of the feed, its
 * changes, an incarnation, channel. Returns 1 if it had the stamp.
 */
export const removeDays = script<0 | 1>('dgwRemoveDays')`${INDEX_OF}${TELL}
if string.sub(indexOf(KEYS[1]) or '', 1, 6) ~= ARGV[1] then return 0 end
if KEYS[2] then
  redis.pcall('HDEL', KEYS[1], '')
  local told = tell(KEYS[2], KEYS[3], ARGV[2], ARGV[3], ARGV[4])
  if type(told) == 'table' then return told end
end
redis.call('UNLINK', KEYS[1])
if KEYS[2] and ARGV[5] ~= '' then redis.pcall('PUBLISH', ARGV[5], '') end
return 1`;
