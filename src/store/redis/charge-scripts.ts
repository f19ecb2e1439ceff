import type { Result } from 'ioredis';
import { OPEN_CHARGES_MAX } from '../charges-port.js';
import { BATCH_MEMORY_MS } from '../check-input.js';
import type { Replicas } from './durable-scripts.js';
import { ENDS, SERVER } from './lua.js';

/**
 * Scripts of charges. KEYS: `ends`, a sorted set of purses by when they are empty; what is charged to each, a hash; open
 * charges, a hash of id to amount, purse and note, a line each; a sorted set of ids of charges that have ended, by when
 * they are forgotten. None of the keys expires by itself; see lua.ts.
 *
 * Everything is read before anything is written: so whatever may fail (a key of another type, no memory left) fails
 * before anything is done.
 */
const CHARGES = `${SERVER}${ENDS}
local purses, open, ended = KEYS[2], KEYS[3], KEYS[4]
local function total(purse)
  local known = tonumber(redis.call('HGET', purses, purse) or 0)
  return lives(purse) and known or 0
end
local function hasEnded(id)
  return tonumber(redis.call('ZSCORE', ended, id) or 0) > now
end
-- As text, also in answers: clients do not read the largest integers exactly.
local function text(amount)
  return string.format('%.0f', amount)
end
local function put(purse, amount)
  redis.call('HSET', purses, purse, text(amount))
end
local function collectPurses()
  for _, purse in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, 100)) do
    redis.call('HDEL', purses, purse)
    redis.call('ZREM', ends, purse)
  end
end`;

/**
 * ARGV: id, purse, amount, most, milliseconds the purse lasts, what is kept of the charge. The outcome, what is charged,
 * and the replicas where it was made.
 */
const CHARGE = `${CHARGES}
local id, purse, amount = ARGV[1], ARGV[2], tonumber(ARGV[3])
local charged, isOver = total(purse), hasEnded(id)
local isOpen = redis.call('HEXISTS', open, id) == 1
if isOver then return {'ended', text(charged)} end
if not isOpen then
  if amount > tonumber(ARGV[4]) - charged then return {'over', text(charged)} end
  if redis.call('HLEN', open) >= ${OPEN_CHARGES_MAX} then return {'full', ''} end
  charged = charged + amount
  redis.call('HSET', open, id, ARGV[6])
  put(purse, charged)
end
-- Also for one that is open already: a write, so that WAIT covers it where its first answer was lost.
redis.call('ZADD', ends, now + ARGV[5], purse)
collectPurses()
return {'made', text(charged), replicas()}`;

/** What of an open charge stands in front of its note. */
const HEAD = "'^(%d+)\\n([^\\n]*)\\n'";

/** ARGV: id, note. 1 and the replicas when it was open, else 0. */
const NOTE = `${CHARGES}
local found = redis.call('HGET', open, ARGV[1])
if not found then return {0} end
local amount, purse = string.match(found, ${HEAD})
redis.call('HSET', open, ARGV[1], amount .. '\\n' .. purse .. '\\n' .. ARGV[2])
return {1, replicas()}`;

/** ARGV: id, 'kept' or 'back'. 1 when it was open, else 0; and the replicas. */
const END = `${CHARGES}
local id, isBack = ARGV[1], ARGV[2] == 'back'
local found = redis.call('HGET', open, id)
local amount, purse = string.match(found or '', ${HEAD})
local isThere = isBack and found and lives(purse)
local charged = isThere and total(purse)
hasEnded(id)
redis.call('ZADD', ended, now + ${BATCH_MEMORY_MS}, id)
redis.call('ZREMRANGEBYSCORE', ended, '-inf', now)
if found then redis.call('HDEL', open, id) end
if isThere then put(purse, math.max(0, charged - tonumber(amount))) end
return {found and 1 or 0, replicas()}`;

/** ARGV: purse. */
const CHARGED = `${CHARGES}
return text(total(ARGV[1]))`;

export const CHARGE_SCRIPTS = {
  dgwCharge: { lua: CHARGE, numberOfKeys: 4 },
  dgwNoteCharge: { lua: NOTE, numberOfKeys: 4 },
  dgwEndCharge: { lua: END, numberOfKeys: 4 },
  dgwCharged: { lua: CHARGED, numberOfKeys: 4 },
};

type Four = readonly [string, string, string, string];

declare module 'ioredis' {
  interface RedisCommander<Context> {
    dgwCharge(
      ...args: [
        ...keys: Four,
        ...names: [id: string, purse: string],
        ...numbers: [amount: number, max: number, ttlMs: number],
        kept: string,
      ]
    ): Result<
      ['made', charged: string, ...Replicas] | [outcome: 'over' | 'ended' | 'full', charged: string],
      Context
    >;
    dgwNoteCharge(
      ...args: [...keys: Four, id: string, note: string]
    ): Result<[0] | [1, ...Replicas], Context>;
    dgwEndCharge(
      ...args: [...keys: Four, id: string, how: string]
    ): Result<[open: number, ...Replicas], Context>;
    dgwCharged(...args: [...keys: Four, purse: string]): Result<string, Context>;
  }
}
