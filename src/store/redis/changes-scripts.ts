/** The scripts of the feed of changes in Redis. redis-changes.ts describes the layout. */
import { readScript, script } from './script.js';

/** `clear(key, kind)`: removes a value of another type. `clock()`: milliseconds. */
const CLEAR = `
local function clear(key, kind)
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then redis.call('UNLINK', key) end
end
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end`;

/**
 * `isBegun(meta)`. `begin(stream, meta, incarnation)`: an empty feed; a Redis without room refuses its first change.
 */
const BEGIN = `${CLEAR}
local function isBegun(meta)
  local known = redis.pcall('HMGET', meta, 'inc', 'count')
  return not known.err and known[1] and known[2] and string.find(known[2], '^%-?%d+$') ~= nil
end
local function begin(stream, meta, incarnation)
  clear(meta, 'hash')
  local created = string.format('%.0f', clock())
  redis.call('HSET', meta, 'inc', incarnation, 'created', created, 'trimmed', '', 'count', 0)
  redis.call('UNLINK', stream)
end
local function isType(reply, kind) return type(reply) == kind end`;

/**
 * `tell(stream, meta, text, count, incarnation)`: appends an entry; without `meta` to the outbox of a month. Returns its id, or the
 * error of a Redis that refuses it: then nothing is changed. `untell` takes the newest entry back.
 */
export const TELL = `${BEGIN}
local function tell(stream, meta, text, count, incarnation)
  if meta and not isBegun(meta) then begin(stream, meta, incarnation) end
  local id = redis.pcall('XADD', stream, '*', 't', text, 'c', count)
  if isType(id, 'table') and string.find(id.err, 'WRONGTYPE') then
    if meta then begin(stream, meta, incarnation) else redis.call('UNLINK', stream) end
    id = redis.pcall('XADD', stream, '*', 't', text, 'c', count)
  end
  if meta and isType(id, 'string') then redis.call('HINCRBY', meta, 'count', count) end
  return id
end
local function untell(stream, meta, id, count)
  redis.call('XDEL', stream, id)
  if meta then redis.call('HINCRBY', meta, 'count', -count) end
end`;

type Entry = readonly [id: Buffer, fields: readonly Buffer[]];

/**
 * KEYS: stream, meta. ARGV: incarnation, if there is none yet; id of the first entry ('': the newest, backwards); number of entries.
 * Returns incarnation, when it began, id of the last entry that was removed ('': none was), of the oldest and of the newest ('': none), entries.
 */
export const readChanges = readScript<
  readonly [
    incarnation: Buffer,
    created: Buffer,
    trimmed: Buffer,
    first: Buffer,
    last: Buffer,
    entries: readonly Entry[],
  ]
>(
  'dgwReadChanges',
  `${BEGIN}
local stream, meta = KEYS[1], KEYS[2]
local newest = redis.pcall('XREVRANGE', stream, '+', '-', 'COUNT', ARGV[2] == '' and ARGV[3] or 1)
if newest.err or not isBegun(meta) then
  begin(stream, meta, ARGV[1])
  newest = {}
end
local known = redis.call('HMGET', meta, 'inc', 'created', 'trimmed')
local oldest = redis.call('XRANGE', stream, '-', '+', 'COUNT', 1)
local entries = ARGV[2] == '' and newest or redis.call('XRANGE', stream, ARGV[2], '+', 'COUNT', ARGV[3])
return {known[1], known[2] or '0', known[3] or '', oldest[1] and oldest[1][1] or '',
  newest[1] and newest[1][1] or '', entries}`,
);

/** KEYS: stream, meta. ARGV: incarnation, if there is none yet; channel ('': no message), text, number of changes. */
export const appendChange = script<string>('dgwAppendChange')`${TELL}
local id = tell(KEYS[1], KEYS[2], ARGV[3], ARGV[4], ARGV[1])
if isType(id, 'string') and ARGV[2] ~= '' then redis.pcall('PUBLISH', ARGV[2], '') end
return id`;

/**
 * KEYS: stream, meta. ARGV: number of changes to keep; with how many more it begins; most entries to remove. Returns 1 if more
 * are to be removed.
 */
export const trimChanges = script<0 | 1>('dgwTrimChanges')`${BEGIN}
local stream, meta, most = KEYS[1], KEYS[2], tonumber(ARGV[1])
if not isBegun(meta) then return 0 end
local count = tonumber(redis.call('HGET', meta, 'count'))
if count <= most + ARGV[2] then return 0 end
local entries = redis.pcall('XRANGE', stream, '-', '+', 'COUNT', ARGV[3])
if entries.err then return 0 end
local removed, last = 0, ''
for _, entry in ipairs(entries) do
  if count <= most then break end
  removed, last, count = removed + 1, entry[1], count - (tonumber(entry[2][4]) or 0)
end
if removed == 0 then count = 0 end
-- Needs no room: Redis takes what follows too, although it is full.
redis.call('XTRIM', stream, 'MAXLEN', redis.call('XLEN', stream) - removed)
redis.call('HSET', meta, 'count', count)
if removed > 0 then redis.call('HSET', meta, 'trimmed', last) end
return count > most and 1 or 0`;

/**
 * Notes months before they are written, or (`NX`) those without a note. KEYS: notes. ARGV: '' or NX; how many milliseconds ago;
 * months.
 */
export const noteMonths = script<number>('dgwNoteMonths')`${CLEAR}
clear(KEYS[1], 'zset')
local at = clock() - ARGV[2]
for n = 3, #ARGV do
  if ARGV[1] == 'NX' then redis.call('ZADD', KEYS[1], 'NX', at, ARGV[n]) else redis.call('ZADD', KEYS[1], at, ARGV[n]) end
end
return 1`;

/**
 * KEYS: notes. ARGV: score, milliseconds, milliseconds, most of each. Returns months and scores: those above the score that are as
 * old as the first number of milliseconds; those that are as old as the second.
 */
export const notedMonths = script<readonly [fresh: string[], old: string[]]>('dgwNotedMonths')`${CLEAR}
clear(KEYS[1], 'zset')
local now = clock()
-- By a clock that was ahead.
local after = tonumber(ARGV[1]) > now and 0 or ARGV[1]
return {
  redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. after, now - ARGV[2], 'WITHSCORES', 'LIMIT', 0, ARGV[4]),
  redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3], 'WITHSCORES', 'LIMIT', 0, ARGV[4])
}`;

/** Removes a note with this score. KEYS: notes. ARGV: month, score. */
export const endNote = script<number>('dgwEndNote')`
if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('ZREM', KEYS[1], ARGV[1]) end
return 0`;

/** `numbers(text)`: a set of them, and the milliseconds of the latest. `msOf(number)`. */
const NUMBERS = `
local function msOf(number) return tonumber(string.sub(number, 1, 15)) or 0 end
local function numbers(text)
  local set, latest = {}, 0
  for number in string.gmatch(text, '%S+') do
    set[number] = true
    latest = math.max(latest, msOf(number))
  end
  return set, latest
end`;

/**
 * Appends entries of the outbox of a month whose numbers were not published yet. What is far behind the latest number was published,
 * or its number would be among those that are remembered; unless that number was given by a clock that was ahead.
 *
 * KEYS: stream, meta, published, notes. ARGV: month, incarnation, channel ('': no message), milliseconds that count as far,
 * milliseconds that a clock may be ahead; number, changes and text of each entry. Returns how many were appended.
 */
export const publishTold = script<number>('dgwPublishTold')`${TELL}${NUMBERS}
local stream, meta, published, notes, month = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1]
clear(published, 'hash')
local now = clock()
local known = redis.call('HGET', published, month) or ''
local seen, latest = numbers(known)
local far = latest > now + ARGV[5] and 0 or latest - ARGV[4]
local fresh = {}
for at = 6, #ARGV, 3 do
  if not seen[ARGV[at]] and msOf(ARGV[at]) > far then fresh[#fresh + 1] = at end
end
if #fresh == 0 then return 0 end
local kept = {}
for _, at in ipairs(fresh) do latest = math.max(latest, msOf(ARGV[at])) end
for number in string.gmatch(known, '%S+') do
  if msOf(number) > latest - ARGV[4] then kept[#kept + 1] = number end
end
for _, at in ipairs(fresh) do kept[#kept + 1] = ARGV[at] end
redis.call('HSET', published, month, table.concat(kept, ' '))
for _, at in ipairs(fresh) do
  local id = tell(stream, meta, ARGV[at + 2], ARGV[at + 1], ARGV[2])
  -- The first one: a Redis that takes it takes the others too.
  if isType(id, 'table') then
    redis.call('HSET', published, month, known)
    return id
  end
end
clear(notes, 'zset')
redis.call('ZADD', notes, now, month)
if ARGV[3] ~= '' then redis.pcall('PUBLISH', ARGV[3], '') end
return #fresh`;

/** Removes an outbox without entries that got none for a time. KEYS: outbox. ARGV: milliseconds. Returns the number of its entries. */
export const tendOutbox = script<number>('dgwTendOutbox')`${CLEAR}
clear(KEYS[1], 'stream')
local length = redis.call('XLEN', KEYS[1])
if length > 0 then return length end
local info = redis.pcall('XINFO', 'STREAM', KEYS[1])
for at = 1, #info, 2 do
  if info[at] == 'last-generated-id' and tonumber(string.match(info[at + 1], '^%d+')) < clock() - ARGV[1] then
    redis.call('UNLINK', KEYS[1])
  end
end
return 0`;

/**
 * Forgets numbers of months without a note that got none for a time. KEYS: published, notes. ARGV: cursor, milliseconds, how many to
 * look at. Returns the next cursor.
 */
export const forgetPublished = script<string>('dgwForgetPublished')`${CLEAR}${NUMBERS}
clear(KEYS[1], 'hash')
clear(KEYS[2], 'zset')
local before = clock() - ARGV[2]
local page = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[3])
for at = 1, #page[2], 2 do
  local _, latest = numbers(page[2][at + 1])
  if latest < before and not redis.call('ZSCORE', KEYS[2], page[2][at]) then redis.call('HDEL', KEYS[1], page[2][at]) end
end
return page[1]`;
