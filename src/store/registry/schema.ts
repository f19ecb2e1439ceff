/** The form of the records, as a number in the registry, and the way from an older form to this one. */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { auditLine, GATEWAY_ACTOR } from '../../telemetry/audit.js';
import { StoreRefused } from '../refused.js';
import type { Registry } from './replica.js';
import { updateRecord } from './update-record.js';

export const SCHEMA_RECORD = 'meta/schema';

export type Texts = ReadonlyMap<string, string>;

/**
 * From the records of one form to what is to be written for the next: id to text, null deletes. Pure, and harmless to a
 * release that knows only the older form for as long as an upgrade of all replicas takes.
 */
export type Migration = (records: Texts) => ReadonlyMap<string, string | null>;

/**
 * Migrations in order; the first makes form 1 of records written before forms were numbered. To change the form of a
 * record, add a migration here.
 */
export const MIGRATIONS: readonly Migration[] = [() => new Map()];

/** @returns the records in the present form. @throws StoreRefused when they are of a newer release */
export function migrateRecords(records: Texts, schema: number, migrations = MIGRATIONS): Texts {
  if (schema > migrations.length) throw new StoreRefused(tooNew(schema, migrations.length));
  let migrated = records;
  for (const migration of migrations.slice(schema)) {
    const next = new Map(migrated);
    for (const [id, text] of migration(migrated)) {
      if (text === null) next.delete(id);
      else next.set(id, text);
    }
    migrated = next;
  }
  return migrated;
}

/**
 * Brings the registry to the present form, in one commit; of several replicas that start at once, one does it.
 * @throws StoreRefused when the registry is of a newer release; StoreUnavailable, RegistryConflict
 */
export async function migrateRegistry(
  registry: Registry,
  clock: Clock,
  logger: Logger,
  migrations = MIGRATIONS,
): Promise<void> {
  let moved = null as { from: number; to: number } | null;
  await updateRecord(registry, SCHEMA_RECORD, (text) => {
    const from = Number(text ?? '0');
    const to = migrations.length;
    moved = null;
    const before = new Map(
      registry.list('').flatMap(([id, { value }]) => (id === SCHEMA_RECORD ? [] : [[id, value] as const])),
    );
    const after = migrateRecords(before, from, migrations);
    if (from === to) return null;
    // A registry that was just made needs no log line and no audit.
    const isNew = before.size === 0;
    moved = isNew ? null : { from, to };
    const event = { action: 'registry.migrate', subject: 'registry', before: from, after: to };
    return {
      text: String(to),
      also: [...new Set([...before.keys(), ...after.keys()])]
        .filter((id) => before.get(id) !== after.get(id))
        .map((id) => [id, after.get(id) ?? null, registry.get(id)?.revision ?? 0] as const),
      ...(isNew ? {} : { audit: [auditLine(event, GATEWAY_ACTOR, clock.now())] }),
    };
  });
  if (moved !== null) logger.info(moved, 'migrated the registry to the current form');
}

function tooNew(found: number, known: number): string {
  return `the registry is of a newer release: its records have form ${found}, this release knows ${known}. Start the newer release, or restore a backup made by this one`;
}
