/**
 * The registry in Redis. Its keys are, in this order:
 * 1. meta: a hash of `epoch`, `version`, `floor`, below which deletions have been forgotten, and `birth`, which tells
 *    one making of the same epoch from another;
 * 2. records: a hash of id to text;
 * 3. revisions: a sorted set of ids, deleted ones included, by the version of their last change;
 * 4. tombstones: a sorted set of deleted ids by the version of their deletion;
 * 5. audit: a stream of lines.
 */
import { randomId } from '../../lib/chance.js';
import {
  ANOTHER_REGISTRY,
  ANOTHER_VERSION,
  RegistryConflict,
  type RegistryLimits,
  type RegistryRecord,
  type RegistryStore,
} from '../port.js';
import { StoreRefused } from '../refused.js';
import type { Keys } from './keys.js';
import { type Durable, durableScript, pairsOf, SERVER, script } from './script.js';

/** Identifies the server and the creation of its registry. After a change a replica must load, to find what was lost. */
const HOME = `${SERVER}
local function home()
  return server() .. '/' .. (redis.call('HGET', KEYS[1], 'birth') or '')
end`;

/** ARGV: an epoch, should there be none; or '' to leave it so. Records and revisions are flat lists. */
const loadRegistry = script<
  [epoch: string, version: number | undefined, server: string, records: string[], revisions: string[]]
>('dgwLoad')`${HOME}
local epoch = redis.call('HGET', KEYS[1], 'epoch')
if not epoch then
  epoch = ARGV[1]
  if epoch == '' then return {'', 0, home(), {}, {}} end
  redis.call('HSET', KEYS[1], 'epoch', epoch)
end
local version = tonumber(redis.call('HGET', KEYS[1], 'version') or 0)
return {
  epoch, version, home(),
  redis.call('HGETALL', KEYS[2]),
  redis.call('ZRANGE', KEYS[3], 0, -1, 'WITHSCORES')
}`;

/** ARGV: epoch, version, server. Null when only a load can tell. */
const readChanges = script<
  [version: number, rows: [id: string, revision: number, present: number, value: string][]] | null
>('dgwChanges')`${HOME}
local meta = redis.call('HMGET', KEYS[1], 'epoch', 'version', 'floor')
local since, version, floor = tonumber(ARGV[2]), tonumber(meta[2] or 0), tonumber(meta[3] or 0)
if meta[1] ~= ARGV[1] or since > version or since < floor then return false end
if ARGV[3] ~= '' and ARGV[3] ~= home() then return false end
local changed = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[2], '+inf', 'WITHSCORES')
local rows = {}
for i = 1, #changed, 2 do
  local value = redis.call('HGET', KEYS[2], changed[i])
  rows[#rows + 1] = {changed[i], tonumber(changed[i + 1]), value and 1 or 0, value or ''}
end
return {version, rows}`;

/**
 * ARGV: epoch, version, birth, most audit lines, count of records; then those: id, text, revision; then audit lines.
 * 1 when it was made, 0 when there is a registry, or what is left of one.
 */
const createRegistry = durableScript<0 | 1>('dgwCreate')`
local meta, records, revisions, tombstones, audit = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
if redis.call('EXISTS', meta) == 1 or redis.call('EXISTS', records) == 1 then return {0} end
redis.call('DEL', revisions, tombstones)
redis.call('HSET', meta, 'epoch', ARGV[1], 'version', ARGV[2], 'floor', ARGV[2], 'birth', ARGV[3])
local at = 6
for _ = 1, tonumber(ARGV[5]) do
  redis.call('HSET', records, ARGV[at], ARGV[at + 1])
  redis.call('ZADD', revisions, ARGV[at + 2], ARGV[at])
  at = at + 3
end
for line = at, #ARGV do
  redis.call('XADD', audit, 'MAXLEN', '=', ARGV[4], '*', 'line', ARGV[line])
end
return {1, replicas()}`;

/**
 * ARGV: an epoch should there be none, most audit lines, most tombstones, then three counts: of expectations, writes
 * and audit lines; the epoch and the version that are expected, or ''; then what was counted: id and revision; 'set' or
 * 'delete', id and text; line.
 */
const commitToRegistry = durableScript<[kind: 'done', version: number] | [kind: 'conflict', id: string]>(
  'dgwCommit',
)`
local meta, records, revisions, tombstones, audit = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
if ARGV[7] ~= '' and redis.call('HGET', meta, 'epoch') ~= ARGV[7] then
  return {{'conflict', '${ANOTHER_REGISTRY}'}}
end
if ARGV[8] ~= '' and (redis.call('HGET', meta, 'version') or '0') ~= ARGV[8] then
  return {{'conflict', '${ANOTHER_VERSION}'}}
end
local at = 9
for _ = 1, tonumber(ARGV[4]) do
  local id, have = ARGV[at], 0
  if redis.call('HEXISTS', records, id) == 1 then
    have = tonumber(redis.call('ZSCORE', revisions, id) or 0)
  end
  if have ~= tonumber(ARGV[at + 1]) then return {{'conflict', id}} end
  at = at + 2
end
redis.call('HSETNX', meta, 'epoch', ARGV[1])
local version = redis.call('HINCRBY', meta, 'version', 1)
for _ = 1, tonumber(ARGV[5]) do
  local id = ARGV[at + 1]
  if ARGV[at] == 'set' then
    redis.call('HSET', records, id, ARGV[at + 2])
    redis.call('ZADD', revisions, version, id)
    redis.call('ZREM', tombstones, id)
  elseif redis.call('HDEL', records, id) == 1 then
    redis.call('ZADD', revisions, version, id)
    redis.call('ZADD', tombstones, version, id)
  end
  at = at + 3
end
local excess = redis.call('ZCARD', tombstones) - tonumber(ARGV[3])
if excess > 0 then
  local forgotten = redis.call('ZPOPMIN', tombstones, excess)
  for i = 1, #forgotten, 2 do redis.call('ZREM', revisions, forgotten[i]) end
  redis.call('HSET', meta, 'floor', forgotten[#forgotten])
end
for _ = 1, tonumber(ARGV[6]) do
  redis.call('XADD', audit, 'MAXLEN', '=', ARGV[2], '*', 'line', ARGV[at])
  at = at + 1
end
return {{'done', version}, replicas()}`;

export function createRedisRegistry(
  durable: Durable,
  keys: Keys['registry'],
  limits: RegistryLimits,
): RegistryStore {
  const { link } = durable;
  /**
   * The server that the last load came from. After a failover or a restart another one answers: it may have lost
   * commits and counted on from there, and a delta from it would not be one to what was loaded.
   */
  let server = '';
  let asked = '';

  return {
    async load(absent = 'create') {
      const reply = await loadRegistry(link, keys, [absent === 'create' ? randomId() : '']);
      const [epoch, version, loadedFrom, records, revisions] = reply;
      // Lua ends an array at a version that is no number.
      if (version === undefined)
        throw new StoreRefused(
          'the registry in Redis is damaged: its version is no number; restore Redis from a backup',
        );
      asked = loadedFrom;
      if (epoch !== '') server = loadedFrom;
      const revisionOf = new Map(pairsOf(revisions));
      const joined = pairsOf(records).map(([id, value]): [string, RegistryRecord] => [
        id,
        { value, revision: Number(revisionOf.get(id) ?? 0) },
      ]);
      return { epoch, version, records: new Map(joined) };
    },

    async create({ epoch, version, records, audit }) {
      const rows = [...records].flatMap(([id, { value, revision }]) => [id, value, revision]);
      const args = [epoch, version, randomId(), limits.auditMax, records.size, ...rows, ...audit];
      const [made] = await createRegistry(durable, keys, args, { version });
      return made === 1;
    },

    movedOn() {
      const [before, now] = [server, asked].map((home) => home.split('/')[0] ?? '');
      return before !== '' && now !== '' && before !== now;
    },

    async changes(epoch, version) {
      const delta = await readChanges(link, keys, [epoch, version, server]);
      if (delta === null) return null;
      const [latest, rows] = delta;
      const changed = rows.map(([id, revision, present, value]): [string, RegistryRecord | null] => [
        id,
        present === 1 ? { value, revision } : null,
      ]);
      return { epoch, version: latest, changed: new Map(changed) };
    },

    async commit({ writes, expect = new Map<string, number>(), audit = [], epoch = '', version = '' }) {
      const { auditMax, tombstonesMax } = limits;
      const args = [
        ...[randomId(), auditMax, tombstonesMax, expect.size, writes.size, audit.length, epoch, version],
        ...[...expect].flat(),
        ...[...writes].flatMap(([id, value]) => (value === null ? ['delete', id, ''] : ['set', id, value])),
        ...audit,
      ];
      const change = ([, at]: readonly [string, string | number]) => ({ version: at });
      const [answer, unconfirmed] = await commitToRegistry(durable, keys, args, change);
      if (answer[0] === 'conflict') throw new RegistryConflict(answer[1]);
      return { version: answer[1], ...(unconfirmed === null ? {} : { unconfirmed }) };
    },

    async readAudit(limit, before) {
      if (limit < 1 || (before !== undefined && !/^\d{1,20}-\d{1,20}$/.test(before))) return [];
      const end = before === undefined ? '+' : `(${before}`;
      const entries = await link.call('xrevrange', (client) =>
        client.xrevrange(keys[4], end, '-', 'COUNT', limit),
      );
      return entries.map(([id, [, text]]) => ({ id, text: text ?? '' }));
    },
  };
}
