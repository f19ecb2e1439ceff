/** The scripts of the feed of changes in Redis. redis-changes.ts describes the layout. */
import { readScript, script } from './script.js';

/** `begin(stream, meta, incarnation)`: an empty feed. A Redis without room refuses its first change. */
const BEGIN = `
local function begin(stream, meta, incarnation)
  local kind = redis.call('TYPE', meta).ok
  if kind ~= 'hash' and kind ~= 'none' then redis.call('UNLINK', meta) end
  local time = redis.call('TIME')
  local created = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
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
  if meta and not isType(redis.pcall('HGET', meta, 'inc'), 'string') then begin(stream, meta, incarnation) end
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
 * KEYS: stream, meta. ARGV: incarnation, if there is none yet; id of the first entry ('': only the newest); number of entries.
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
local newest = redis.pcall('XREVRANGE', stream, '+', '-', 'COUNT', 1)
if newest.err or not isType(redis.pcall('HGET', meta, 'inc'), 'string') then
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
export const trimChanges = script<0 | 1>('dgwTrimChanges')`
local stream, meta, most = KEYS[1], KEYS[2], tonumber(ARGV[1])
local count = redis.pcall('HGET', meta, 'count')
count = type(count) == 'string' and tonumber(count) or 0
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
