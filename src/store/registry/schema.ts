/** Opens the registry at startup: loads it, migrates it, and follows its clock. */
import type { Logger } from 'pino';
import Type from 'typebox';
import type { Clock, MovableClock } from '../../lib/clock.js';
import { recordForm } from '../../lib/record.js';
import { sleep } from '../../lib/time.js';
import { auditLine, GATEWAY_ACTOR } from '../../telemetry/audit.js';
import { StoreRefused } from '../refused.js';
import { updateRecord } from './record-book.js';
import { openRegistry, type Registry, type RegistryOptions } from './replica.js';

/** @throws StoreUnavailable; StoreRefused if the records are of a newer release */
export async function openPresentRegistry(
  options: RegistryOptions & { readonly clock: MovableClock; readonly testClock: boolean },
) {
  const { clock, logger, testClock } = options;
  const registry = await openRegistry(options);
  await migrateRegistry(registry, clock, logger);
  return {
    registry,
    /** Null without `testClock`. */
    sharedClock: testClock ? followSharedClock(registry, clock) : null,
    /** Runs `work` whenever another registry replaced the known one. @param failed logged if it fails */
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

/** The test clock of all replicas (`GATEWAY_TEST_CLOCK`): an offset in the registry. */
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

/** Holds the number of the records' form. */
export const SCHEMA_RECORD = 'meta/schema';

export type Texts = ReadonlyMap<string, string>;

/**
 * From the records of one form to the writes that make the next: id to text, null deletes. Pure. During an upgrade a release
 * that knows only the older form must be able to read them.
 */
export type Migration = (records: Texts) => ReadonlyMap<string, string | null>;

/** In order; the first makes form 1 of records from before forms were numbered. Changing a record's form needs one more. */
export const MIGRATIONS: readonly Migration[] = [() => new Map()];

/** @returns the records in the current form. @throws StoreRefused if they are of a newer release */
export function migrateRecords(records: Texts, schema: number, migrations = MIGRATIONS): Texts {
  if (schema > migrations.length)
    throw new StoreRefused(
      `the registry is of a newer release: its records have form ${schema}, this release knows ${migrations.length}. Start the newer release, or restore a backup made by this one`,
    );
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
 * Migrates the registry to the current form, in one commit by one replica.
 * @throws StoreRefused if the registry is of a newer release; StoreUnavailable, RegistryConflict
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
