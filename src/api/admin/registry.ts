/** The registry as a whole: export and import. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import { isIsoDate } from '../../config/values.js';
import { type FieldFault, GatewayError } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import { parseOrNull } from '../../lib/json.js';
import { readVault, VAULT_RECORD } from '../../platform/credential/keeper.js';
import { SealError, type Sealer } from '../../platform/credential/seal.js';
import { laterPurges, PURGES_RECORD, PurgeList } from '../../reports/cache/purges.js';
import type { Services } from '../../server/services.js';
import { StoreRefused } from '../../store/refused.js';
import { commitChange } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { MIGRATIONS, migrateRecords, type Texts } from '../../store/registry/schema.js';
import { TEAM_PREFIX } from '../../teams/auth/directory.js';
import { KEY_PREFIX, KeyRecord, LIFE_PREFIX, LifeRecord } from '../../teams/auth/key-record.js';
import { PEPPER_RECORD, resealPepper, TOKEN_PEPPER_RECORD } from '../../teams/auth/pepper.js';
import { isPeoples, revocationsFor } from '../../teams/auth/succession-rules.js';
import { Team } from '../../teams/auth/team.js';
import { addressFaults } from '../../teams/declared/team-faults.js';
import { type Actor, auditLine } from '../../telemetry/audit.js';
import type { AnswerOf } from '../operations/operation.js';
import {
  type Backup as BackupSchema,
  exportRegistry as exportOperation,
  FORMAT,
  importRegistry as importOperation,
  PREFIXES,
  SINGLE,
} from '../operations/registry.js';
import { invalidMembers, refuseFaults } from './members.js';
import { serve } from './serve.js';

/** Bounds of the admin API for keys, beyond the stored form. */
const IssuedKey = Type.Object({
  id: Type.String({ pattern: '^[A-Za-z0-9_-]{1,100}$' }),
  teamId: Type.String({ minLength: 1 }),
  label: Type.String({ maxLength: 200 }),
  secrets: Type.Array(Type.Unknown(), { minItems: 1, maxItems: 2 }),
});

/** Records that the admin API would refuse, and unreadable ones. `param` is the record's id, or a path in it. */
function recordFaults(records: Texts, sealer: Sealer): FieldFault[] {
  const faults = [...records].flatMap(([id, text]) => faultsOf(id, text, records, sealer));
  if (!records.has(PEPPER_RECORD)) faults.push({ param: PEPPER_RECORD, message: 'is missing' });
  return faults;
}

function faultsOf(id: string, text: string, records: Texts, sealer: Sealer): FieldFault[] {
  if (SEALED.has(id)) return sealFaults(id, text, sealer);
  const value = parseOrNull(text);
  if (id === PURGES_RECORD) return PurgeList.is(value) ? [] : [damaged(id)];
  if (id.startsWith(LIFE_PREFIX)) return LifeRecord.is(value) ? [] : [damaged(id)];
  if (id.startsWith(TEAM_PREFIX)) {
    if (!Value.Check(Team, value) || value.id !== id.slice(TEAM_PREFIX.length)) return [damaged(id)];
    return addressFaults(value.ipAllow, `${id}.`);
  }
  if (!KeyRecord.is(value) || !Value.Check(IssuedKey, value) || value.id !== id.slice(KEY_PREFIX.length))
    return [damaged(id)];
  return [...dateFaults(id, value), ...teamFaults(id, value, records)];
}

const SEALED = new Set([PEPPER_RECORD, TOKEN_PEPPER_RECORD, VAULT_RECORD]);

function sealFaults(id: string, text: string, sealer: Sealer): FieldFault[] {
  try {
    if (id === VAULT_RECORD) readVault(text, sealer);
    else resealPepper(text, sealer);
    return [];
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    return [{ param: id, message: error.message }];
  }
}

function dateFaults(id: string, key: KeyRecord): FieldFault[] {
  const dates: readonly (readonly [string, string | null])[] = [
    ['createdAt', key.createdAt],
    ['expiresAt', key.expiresAt],
    ['revokedAt', key.revokedAt],
    ...key.secrets.map(({ validUntil }, at) => [`secrets.${at}.validUntil`, validUntil] as const),
  ];
  return dates.flatMap(([name, date]) =>
    date === null || isIsoDate(date)
      ? []
      : [mustBe(`${id}.${name}`, 'an ISO date, e.g. 2027-11-01T00:00:00Z')],
  );
}

/** Revoked keys of deleted teams are allowed. Any other key without a team would open a later team of the same name. */
function teamFaults(id: string, key: KeyRecord, records: Texts): FieldFault[] {
  const text = records.get(LIFE_PREFIX + key.teamId);
  const life = text === undefined ? 0 : (LifeRecord.parse(text)?.life ?? 0);
  const isOver = key.revokedAt !== null || (key.life ?? 0) < life;
  if (isOver || records.has(TEAM_PREFIX + key.teamId)) return [];
  return [{ param: `${id}.teamId`, message: `must be a team of the backup; it has no ${key.teamId}` }];
}

function damaged(param: string): FieldFault {
  return { param, message: 'is damaged' };
}

export type Backup = Static<typeof BackupSchema>;

type BackupParts = Pick<Services, 'registry' | 'sealer' | 'clock'>;

function exportRegistry({ registry, clock }: BackupParts): Backup {
  const records = backedUp(registry).map(([id, { value }]) => ({ id, text: value }));
  return {
    format: FORMAT,
    schema: MIGRATIONS.length,
    exportedAt: new Date(clock.now()).toISOString(),
    records: records.sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
}

/** Learned data, such as divisibility, changes the registry at the same time. */
const MAX_TRIES = 10;

/**
 * Replaces the registry by a backup, all or nothing. Learned data and the audit stay. Keys revoked since the backup stay
 * revoked.
 * @param replace without it, a registry with teams or keys is not replaced
 * @throws GatewayError `conflict`, `invalid_body`; StoreUnavailable
 */
async function importRegistry(
  backup: Backup,
  replace: boolean,
  actor: Actor,
  { registry, sealer, clock }: BackupParts,
): Promise<AnswerOf<typeof importOperation>['imported']> {
  const records = readRecords(backup, sealer);
  const counts = countsOf(records.keys());
  let imported: AnswerOf<typeof importOperation>['imported'] = { ...counts, replaced: false };
  const plan = () => {
    const present: Texts = new Map(backedUp(registry).map(([id, { value }]) => [id, value]));
    const isFilled = isPeoples(present.keys());
    if (isFilled && !replace)
      throw new GatewayError('conflict', {
        detail: 'The registry already has teams or keys.',
        help: 'Repeat with "replace": true to replace them.',
      });
    const { writes, stillRevoked } = planImport(present, records);
    const event = {
      action: 'registry.import',
      subject: 'registry',
      before: countsOf(present.keys()),
      after: { ...counts, ...stillRevoked, exportedAt: backup.exportedAt },
    };
    imported = { ...counts, replaced: isFilled, ...stillRevoked };
    // At exactly this version: a key issued at the same time must not survive the import.
    return { writes, audit: [auditLine(event, actor, clock.now())], version: registry.version };
  };
  const { refresh } = registry;
  const commit = (change: ReturnType<typeof plan>) =>
    registry.loss === null ? registry.commit(change) : registry.recreate(change);
  await commitChange({ commit, refresh }, { what: 'The registry was', tries: MAX_TRIES }, plan);
  return imported;
}

function planImport(present: Texts, backup: Texts) {
  const revocations = revocationsFor(present, backup);
  const writes = new Map<string, string | null>([
    ...[...present.keys()].map((id) => [id, null] as const),
    ...backup,
    ...revocations,
    ...purgesAfter(present, backup),
    ...tokensAfter(present, backup),
  ]);
  const revoked = [...revocations].filter(
    ([id, text]) =>
      id.startsWith(KEY_PREFIX) && isRevoked(id, text) && !isRevoked(id, backup.get(id) ?? text),
  );
  return { writes, stillRevoked: revoked.length === 0 ? {} : { stillRevoked: revoked.length } };
}

function isRevoked(id: string, text: string): boolean {
  return KeyRecord.read(text, id).revokedAt !== null;
}

/** Keeps the list with the higher counter, so that no purge number is used twice. */
function purgesAfter(present: Texts, backup: Texts): [string, string][] {
  const [here, there] = [present.get(PURGES_RECORD), backup.get(PURGES_RECORD)];
  const list = there === undefined ? here : laterPurges(here, there);
  return list === undefined ? [] : [[PURGES_RECORD, list]];
}

/** A backup without tokens keeps the current ones, with the pepper of their fingerprints. */
function tokensAfter(present: Texts, backup: Texts): [string, string][] {
  const vault = present.get(VAULT_RECORD);
  if (backup.has(VAULT_RECORD) || vault === undefined) return [];
  const pepper = present.get(TOKEN_PEPPER_RECORD) ?? present.get(PEPPER_RECORD);
  return [
    [VAULT_RECORD, vault],
    ...(pepper === undefined ? [] : [[TOKEN_PEPPER_RECORD, pepper] as [string, string]]),
  ];
}

function backedUp(registry: Registry) {
  return registry
    .list('')
    .filter(([id]) => SINGLE.includes(id) || PREFIXES.some((prefix) => id.startsWith(prefix)));
}

/** Checks every record before any is written. */
function readRecords(backup: Backup, sealer: Sealer): Texts {
  const given = new Map(backup.records.map(({ id, text }) => [id, text]));
  if (given.size < backup.records.length)
    throw invalidMembers({ param: 'records', message: 'must not repeat an id' });
  const records = migrated(given, backup.schema);
  const faults = recordFaults(records, sealer);
  refuseFaults(faults.slice(0, 20));
  return records;
}

function migrated(records: Texts, schema: number): Texts {
  try {
    return migrateRecords(records, schema);
  } catch (error) {
    if (!(error instanceof StoreRefused)) throw error;
    const message = `is from a newer release; this one supports up to ${MIGRATIONS.length}`;
    throw invalidMembers({ param: 'schema', message });
  }
}

function countsOf(ids: Iterable<string>): { readonly teams: number; readonly keys: number } {
  const all = [...ids];
  const countOf = (prefix: string) => all.filter((id) => id.startsWith(prefix)).length;
  return { teams: countOf(TEAM_PREFIX), keys: countOf(KEY_PREFIX) };
}

export function registerRegistry(app: FastifyInstance, parts: BackupParts): void {
  serve(app, exportOperation, async () => exportRegistry(parts));
  serve(app, importOperation, async ({ body, actor }) => {
    const { replace = false, ...backup } = body;
    return { imported: await importRegistry(backup, replace, actor, parts) };
  });
}
