/** Backup and restore of what people made: teams, keys (hashes), sealed tokens, and the pepper the hashes hang on. */
import Type, { type Static } from 'typebox';
import Value from 'typebox/value';
import { KEY_PREFIX, TEAM_PREFIX } from '../auth/directory.js';
import { PEPPER_RECORD, resealPepper } from '../auth/pepper.js';
import { Team } from '../auth/team.js';
import type { Clock } from '../clock.js';
import { VAULT_RECORD } from '../credential/keeper.js';
import { SealError, type Sealer } from '../credential/seal.js';
import { readVault } from '../credential/vault-text.js';
import { type FieldFault, GatewayError } from '../errors.js';
import type { Registry } from '../registry/mirror.js';
import { MIGRATIONS, migrateRecords, type Texts } from '../registry/schema.js';
import { RegistryConflict } from '../store/port.js';
import { StoreRefused } from '../store/refused.js';
import { type Actor, auditLine } from '../telemetry/audit.js';

const FORMAT = 'dsp-gateway-registry';
const closed = { additionalProperties: false };

export const Backup = Type.Object(
  {
    format: Type.Literal(FORMAT),
    schema: Type.Integer({ minimum: 0, description: 'Form of the records.' }),
    exportedAt: Type.String({ description: 'ISO time, for people.' }),
    records: Type.Array(
      Type.Object(
        {
          id: Type.String({
            pattern: `^(${TEAM_PREFIX}|${KEY_PREFIX}).{1,100}$|^(${VAULT_RECORD}|${PEPPER_RECORD})$`,
          }),
          text: Type.String(),
        },
        closed,
      ),
      { description: 'Teams, keys, the vault and the pepper, as they are stored.' },
    ),
  },
  closed,
);
export type Backup = Static<typeof Backup>;

/** A key as stored, see `KeyRecord`. */
const Key = Type.Object({
  id: Type.String(),
  teamId: Type.String(),
  label: Type.String(),
  createdAt: Type.String(),
  expiresAt: Type.Union([Type.String(), Type.Null()]),
  revokedAt: Type.Union([Type.String(), Type.Null()]),
  secrets: Type.Array(
    Type.Object({
      hash: Type.String(),
      prefix: Type.String(),
      validUntil: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
});

export interface BackupParts {
  readonly registry: Registry;
  readonly sealer: Sealer;
  readonly clock: Clock;
}

export function exportRegistry({ registry, clock }: BackupParts): Backup {
  const records = backedUp(registry).map(([id, { value }]) => ({ id, text: value }));
  return {
    format: FORMAT,
    schema: MIGRATIONS.length,
    exportedAt: new Date(clock.now()).toISOString(),
    records: records.sort((a, b) => (a.id < b.id ? -1 : 1)),
  };
}

export interface Imported {
  readonly teams: number;
  readonly keys: number;
  /** Whether anything was there before. */
  readonly replaced: boolean;
}

/**
 * Puts a backup in the place of what is there, all or nothing. Whatever is not part of a backup stays: purges, what was
 * learned of reports, the audit.
 * @param replace without it, a registry that holds teams or keys is left alone
 * @throws GatewayError `conflict`, `invalid_body`; StoreUnavailable
 */
export async function importRegistry(
  backup: Backup,
  replace: boolean,
  actor: Actor,
  { registry, sealer, clock }: BackupParts,
): Promise<Imported> {
  const records = readRecords(backup, sealer);
  const present = backedUp(registry);
  const counts = { teams: countOf(records.keys(), TEAM_PREFIX), keys: countOf(records.keys(), KEY_PREFIX) };
  const isFilled = present.some(([id]) => id.startsWith(TEAM_PREFIX) || id.startsWith(KEY_PREFIX));
  if (isFilled && !replace) throw conflict('There are teams or keys already; repeat with "replace": true.');
  const imported = { ...counts, replaced: isFilled };
  const event = {
    action: 'registry.import',
    subject: 'registry',
    before: {
      teams: countOf(
        present.map(([id]) => id),
        TEAM_PREFIX,
      ),
      keys: countOf(
        present.map(([id]) => id),
        KEY_PREFIX,
      ),
    },
    after: { ...counts, exportedAt: backup.exportedAt },
  };
  try {
    await registry.commit({
      writes: new Map<string, string | null>([
        // A backup without tokens is no reason to lose the ones that are there.
        ...present.flatMap(([id]) => (id === VAULT_RECORD ? [] : [[id, null] as const])),
        ...records,
      ]),
      expect: new Map([
        ...[...records.keys()].map((id) => [id, 0] as const),
        ...present.map(([id, { revision }]) => [id, revision] as const),
      ]),
      audit: [auditLine(event, actor, clock.now())],
    });
  } catch (error) {
    if (!(error instanceof RegistryConflict)) throw error;
    throw conflict('The registry was changed in between; try again.');
  }
  return imported;
}

function backedUp(registry: Registry) {
  return registry
    .list('')
    .filter(
      ([id]) =>
        id.startsWith(TEAM_PREFIX) ||
        id.startsWith(KEY_PREFIX) ||
        id === VAULT_RECORD ||
        id === PEPPER_RECORD,
    );
}

/** Checks every record before any is written: what cannot be read would be found out by callers. */
function readRecords(backup: Backup, sealer: Sealer): Texts {
  const given = new Map(backup.records.map(({ id, text }) => [id, text]));
  if (given.size < backup.records.length) throw invalid([{ param: 'records', message: 'name an id twice' }]);
  const records = migrated(given, backup.schema);
  const faults = [...records].flatMap(([id, text]) => faultOf(id, text, sealer));
  if (!records.has(PEPPER_RECORD)) faults.push({ param: PEPPER_RECORD, message: 'is missing' });
  if (faults.length > 0) throw invalid(faults.slice(0, 20));
  return records;
}

function migrated(records: Texts, schema: number): Texts {
  try {
    return migrateRecords(records, schema);
  } catch (error) {
    if (!(error instanceof StoreRefused)) throw error;
    throw invalid([
      { param: 'schema', message: `is of a newer release; this one reads up to ${MIGRATIONS.length}` },
    ]);
  }
}

function faultOf(id: string, text: string, sealer: Sealer): FieldFault[] {
  try {
    if (id === PEPPER_RECORD) resealPepper(text, sealer);
    else if (id === VAULT_RECORD) readVault(text, sealer);
    else if (id.startsWith(TEAM_PREFIX)) return checked(id, text, Team, id.slice(TEAM_PREFIX.length));
    else return checked(id, text, Key, id.slice(KEY_PREFIX.length));
    return [];
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    return [{ param: id, message: error.message }];
  }
}

function checked(param: string, text: string, schema: typeof Team | typeof Key, id: string): FieldFault[] {
  try {
    const value: unknown = JSON.parse(text);
    if (Value.Check(schema, value) && (value as { id: string }).id === id) return [];
  } catch {
    // Told below, without the parser's words: they quote the record.
  }
  return [{ param, message: 'is damaged' }];
}

function countOf(ids: Iterable<string>, prefix: string): number {
  return [...ids].filter((id) => id.startsWith(prefix)).length;
}

function conflict(detail: string): GatewayError {
  return new GatewayError('conflict', { detail });
}

function invalid(errors: FieldFault[]): GatewayError {
  return new GatewayError('invalid_body', { status: 422, errors });
}
