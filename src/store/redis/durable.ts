/**
 * Durable data beside the registry: counters, charges and documents. Their keys do not expire, see script.ts. Each script
 * reads everything before it writes anything: a failure (a key of another type, no memory left) leaves everything unchanged.
 */
import { type Charge, type Charges, OPEN_CHARGES_MAX } from '../charges-port.js';
import {
  BATCH_MEMORY_MS,
  checkBatch,
  checkCharge,
  checkDocument,
  checkNote,
  tooManyOpen,
  wholeMs,
} from '../check-input.js';
import { type Counters, type Documents, StoreUnavailable } from '../port.js';
import type { Keys } from './keys.js';
import { type Durable, durableScript, ENDS, pairsOf, script } from './script.js';

/**
 * KEYS: ends, batches (a sorted set of ids by when they are forgotten), groups. ARGV: batch, milliseconds it is
 * remembered, count of adds; then for each group the milliseconds it lives; then for each add and each raise: its group's
 * place in KEYS, field, number.
 */
const count = durableScript<1>('dgwCount')`${ENDS}
local batches, batch, MOST = KEYS[2], ARGV[1], ${Number.MAX_SAFE_INTEGER}
local known = tonumber(redis.call('ZSCORE', batches, batch) or 0) > now
local old, totals, first = {}, {}, #KEYS + 2
if not known then
  for at = 3, #KEYS do
    old[at], totals[at] = lives(KEYS[at]), {}
  end
  for at = first, #ARGV, 3 do
    local group, field, number = tonumber(ARGV[at]), ARGV[at + 1], tonumber(ARGV[at + 2])
    local have = totals[group][field]
    if not have and old[group] then have = tonumber(redis.call('HGET', KEYS[group], field) or '') end
    if at < first + 3 * tonumber(ARGV[3]) then
      totals[group][field] = math.max(-MOST, math.min(MOST, (have or 0) + number))
    else
      totals[group][field] = math.max(have or number, number)
    end
  end
end
-- Also for a batch that is known: a write, so that WAIT covers it where its first answer was lost.
redis.call('ZADD', batches, now + ARGV[2], batch)
redis.call('ZREMRANGEBYSCORE', batches, '-inf', now)
for at, fields in pairs(totals) do
  if not old[at] then redis.call('UNLINK', KEYS[at]) end
  for field, total in pairs(fields) do
    redis.call('HSET', KEYS[at], field, string.format('%.0f', total))
  end
  redis.call('ZADD', ends, now + ARGV[at + 1], KEYS[at])
end
collect(100)
return {1, replicas()}`;

/** KEYS: ends, groups. For each a flat list of field and number. */
const readCounters = script<string[][]>('dgwReadCounters')`${ENDS}
local groups = {}
for at = 2, #KEYS do
  groups[at - 1] = lives(KEYS[at]) and redis.call('HGETALL', KEYS[at]) or {}
end
return groups`;

export function createRedisCounters(durable: Durable, { ends, batches, group }: Keys['counters']): Counters {
  return {
    async add(batchId, adds, raises, ttlMs) {
      const lifetimes = checkBatch(adds, raises, ttlMs);
      if (lifetimes.size === 0) return;
      const names = [...lifetimes.keys()];
      // Places in KEYS are counted from 1, and the first two are no groups.
      const placeOf = new Map(names.map((name, at) => [name, at + 3]));
      const changes = [
        ...adds.map(({ group, field, by }) => [placeOf.get(group) ?? 0, field, by]),
        ...raises.map(({ group, field, to }) => [placeOf.get(group) ?? 0, field, to]),
      ];
      const args = [batchId, BATCH_MEMORY_MS, adds.length, ...lifetimes.values(), ...changes.flat()];
      await count(durable, [ends, batches, ...names.map(group)], args, { batchId });
    },
    async read(groups) {
      if (groups.length === 0) return [];
      const rows = await readCounters(durable.link, [ends, ...groups.map(group)], []);
      return rows.map((row) => new Map(pairsOf(row).map(([field, count]) => [field, Number(count)])));
    },
  };
}

/**
 * KEYS: `ends`, a sorted set of purses by when they are empty; what is charged to each, a hash; open charges, a hash of id
 * to amount, purse and note, a line each; a sorted set of ids of charges that have ended, by when they are forgotten.
 */
const CHARGES = `${ENDS}
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

/** ARGV: id, purse, amount, most, milliseconds the purse lasts, what is kept of the charge. The outcome, and what is charged. */
const makeCharge = durableScript<[kind: 'made' | 'over' | 'ended' | 'full', charged: string]>(
  'dgwCharge',
)`${CHARGES}
local id, purse, amount = ARGV[1], ARGV[2], tonumber(ARGV[3])
local charged, isOver = total(purse), hasEnded(id)
local isOpen = redis.call('HEXISTS', open, id) == 1
if isOver then return {{'ended', text(charged)}} end
if not isOpen then
  if amount > tonumber(ARGV[4]) - charged then return {{'over', text(charged)}} end
  if redis.call('HLEN', open) >= ${OPEN_CHARGES_MAX} then return {{'full', ''}} end
  charged = charged + amount
  redis.call('HSET', open, id, ARGV[6])
  put(purse, charged)
end
-- Also for one that is open already: a write, so that WAIT covers it where its first answer was lost.
redis.call('ZADD', ends, now + ARGV[5], purse)
collectPurses()
return {{'made', text(charged)}, replicas()}`;

/** The part of an open charge before its note. */
const HEAD = "'^(%d+)\\n([^\\n]*)\\n'";

/** ARGV: id, note. 1 when it was open, else 0. */
const noteCharge = durableScript<0 | 1>('dgwNoteCharge')`${CHARGES}
local found = redis.call('HGET', open, ARGV[1])
if not found then return {0} end
local amount, purse = string.match(found, ${HEAD})
redis.call('HSET', open, ARGV[1], amount .. '\\n' .. purse .. '\\n' .. ARGV[2])
return {1, replicas()}`;

/** ARGV: id, 'kept' or 'back'. 1 when it was open, else 0. */
const endCharge = durableScript<0 | 1>('dgwEndCharge')`${CHARGES}
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
const readCharged = script<string>('dgwCharged')`${CHARGES}
return text(total(ARGV[1]))`;

export function createRedisCharges(durable: Durable, keys: Keys['charges']): Charges {
  return {
    async charge(ask) {
      checkCharge(ask);
      const { id, purse, amount, max, note, ttlMs } = ask;
      const args = [id, purse, amount, max, wholeMs(ttlMs, 1), `${amount}\n${purse}\n${note}`];
      const [[kind, text], unconfirmed] = await makeCharge(durable, keys, args, { charge: id });
      if (kind === 'full') throw tooManyOpen();
      const charged = Number(text);
      return kind !== 'made' || unconfirmed === null ? { kind, charged } : { kind, charged, unconfirmed };
    },
    async note(id, note) {
      checkNote(note);
      const [wasOpen] = await noteCharge(durable, keys, [id, note], { charge: id });
      return wasOpen === 1;
    },
    async end(id, how) {
      const [wasOpen] = await endCharge(durable, keys, [id, how], { charge: id });
      return wasOpen === 1;
    },
    charged: async (purse) => Number(await readCharged(durable.link, keys, [purse])),
    async open() {
      const found = await durable.link.call('hgetall', (client) => client.hgetall(keys[2]));
      return Object.entries(found).map(([id, kept]) => readCharge(id, kept));
    },
  };
}

/** @throws StoreUnavailable */
function readCharge(id: string, kept: string): Charge {
  const read = /^(\d+)\n([^\n]*)\n([\s\S]*)$/.exec(kept);
  if (read === null) throw new StoreUnavailable('a charge in the store has an unknown form');
  const [, amount, purse = '', note = ''] = read;
  return { id, purse, amount: Number(amount), note };
}

/** A longer document is large. */
const SMALL_DOCUMENT_BYTES = 1024;

/** KEYS: ends, document, bytes of all documents. Large documents may fill three quarters of the limit. */
const DOCUMENTS = `${ENDS}
local document, bytes = KEYS[2], KEYS[3]
-- What ended may be of another type, and of no size then.
local function size(key)
  return redis.call('TYPE', key).ok == 'string' and redis.call('STRLEN', key) or 0
end
local function hasRoom(text, most)
  if #text > ${SMALL_DOCUMENT_BYTES} then most = most * 3 / 4 end
  local growth = #text - size(document)
  return growth <= 0 or tonumber(redis.call('GET', bytes) or 0) + growth <= most
end
local function put(text, ms)
  redis.call('INCRBY', bytes, #text - size(document))
  redis.call('SET', document, text)
  redis.call('ZADD', ends, now + ms, document)
end
local function drop(key)
  redis.call('DECRBY', bytes, size(key))
  redis.call('UNLINK', key)
  redis.call('ZREM', ends, key)
  if redis.call('EXISTS', ends) == 0 then redis.call('UNLINK', bytes) end
end
local function collectDocuments(most)
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, most)) do drop(key) end
end`;

/** ARGV: text, milliseconds, limit of bytes. 1: created; 0 and the existing text; or 2: no room. */
const createDocument = durableScript<[made: 1] | [made: 0, text: string] | [noRoom: 2]>(
  'dgwCreateDocument',
)`${DOCUMENTS}
local text = lives(document) and redis.call('GET', document)
if text then return {{0, text}} end
collectDocuments(10)
if not hasRoom(ARGV[1], tonumber(ARGV[3])) then return {{2}} end
put(ARGV[1], ARGV[2])
return {{1}, replicas()}`;

/** KEYS: ends, document. */
const readDocument = script<string | null>('dgwReadDocument')`${ENDS}
return lives(KEYS[2]) and redis.call('GET', KEYS[2])`;

/** ARGV: text before; unless it is deleted, text after, milliseconds, limit of bytes. 1: done; 0: another text; 2: no room. */
const replaceDocument = durableScript<0 | 1 | 2>('dgwReplaceDocument')`${DOCUMENTS}
if not lives(document) or redis.call('GET', document) ~= ARGV[1] then return {0} end
if not ARGV[2] then drop(document)
elseif not hasRoom(ARGV[2], tonumber(ARGV[4])) then return {2}
else put(ARGV[2], ARGV[3]) end
return {1, replicas()}`;

/** @param maxBytes of all documents, as records in the same Redis must not be refused for them */
export function createRedisDocuments(
  durable: Durable,
  { ends, bytes, document }: Keys['documents'],
  maxBytes: number,
): Documents {
  const noRoom = () =>
    new StoreUnavailable(`documents may not have more than ${maxBytes} bytes together`, 'no-room');
  return {
    async create(key, text, ttlMs) {
      checkDocument(text);
      const args = [text, wholeMs(ttlMs, 1), maxBytes];
      const change = { document: key };
      const [[made, present]] = await createDocument(durable, [ends, document(key), bytes], args, change);
      if (made === 2) throw noRoom();
      return present ?? null;
    },
    get: (key) => readDocument(durable.link, [ends, document(key)], []),
    async replace(key, before, after, ttlMs) {
      if (after !== null) checkDocument(after);
      const args = after === null ? [before] : [before, after, wholeMs(ttlMs, 1), maxBytes];
      const [done] = await replaceDocument(durable, [ends, document(key), bytes], args, { document: key });
      if (done === 2) throw noRoom();
      return done === 1;
    },
  };
}
