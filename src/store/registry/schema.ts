/** Opens the registry at the start of a process: loads it, migrates it, and follows its clock. */
import type { Logger } from 'pino';
import Type from 'typebox';
import type { Clock, MovableClock } from '../../lib/clock.js';
import { recordForm } from '../../lib/record.js';
import { sleep } from '../../lib/time.js';
import { auditLine, GATEWAY_ACTOR } from '../../telemetry/audit.js';
import { StoreRefused } from '../refused.js';
import { updateRecord } from './record-book.js';
import { openRegistry, type Registry, type RegistryOptions } from './replica.js';

/**
 * @param options testClock: whether the clock may be moved
 * @throws StoreUnavailable; StoreRefused when the records are of a newer release
 */
export async function openPresentRegistry(
  options: RegistryOptions & { readonly clock: MovableClock; readonly testClock: boolean },
) {
  const { clock, logger, testClock } = options;
  const registry = await openRegistry(options);
  await migrateRegistry(registry, clock, logger);
  return {
    registry,
    /** Null where the clock must not be moved. */
    sharedClock: testClock ? followSharedClock(registry, clock) : null,
    /** Runs `work` when another registry replaced the known one. @param failed logged when it fails */
    onAnotherRegistry: (failed: string, work: () => Promise<void>) =>
      registry.onAnother(() => void retryFor(registry, logger, failed, work)),
  };
}

const FIRST_WAIT_MS = 500;
const MOST_WAIT_MS = 30_000;

/** Runs `work` until it succeeds, or another registry comes. */
async function retryFor(
  registry: Registry,
  logger: Logger,
  failed: string,
  work: () => Promise<void>,
): Promise<void> {
  const { epoch } = registry;
  for (let waitMs = FIRST_WAIT_MS; registry.epoch === epoch; waitMs = Math.min(2 * waitMs, MOST_WAIT_MS)) {
    try {
      return await work();
    } catch (error) {
      logger.error({ err: error }, `${failed} in the registry that replaced the known one; trying again`);
    }
    await sleep(waitMs, { ref: false });
  }
}

const CLOCK_RECORD = 'clock';
const ClockRecord = recordForm(Type.Object({ offsetMs: Type.Number() }));

export type SharedClock = ReturnType<typeof followSharedClock>;

/** The test clock of all replicas: an offset in the registry. Only for use with `GATEWAY_TEST_CLOCK`. */
export function followSharedClock(registry: Registry, clock: MovableClock) {
  const follow = () => {
    const text = registry.get(CLOCK_RECORD)?.value;
    clock.moveTo(text === undefined ? 0 : ClockRecord.read(text, CLOCK_RECORD).offsetMs);
  };
  follow();
  registry.onChange(CLOCK_RECORD, follow);
  return {
    /** @param audit a line stored with it */
    moveTo: (offsetMs: number, audit: string): Promise<void> =>
      updateRecord(registry, CLOCK_RECORD, (text) => {
        const before = text === null ? null : ClockRecord.read(text, CLOCK_RECORD);
        return { text: JSON.stringify({ ...before, offsetMs }), audit: [audit] };
      }),
  };
}

// The form of the records, as a number in the registry, and the way from an older form to this one.

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
 * Migrates the registry to the present form, in one commit by one replica.
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
    // A new registry needs no log line and no audit.
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
