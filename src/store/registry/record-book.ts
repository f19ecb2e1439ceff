/**
 * Records of one kind, one for each id, as parsed values. A text is parsed once while it is remembered; beyond a bound the oldest
 * records are deleted. Replicas share them; they change rarely.
 */
import { GatewayError } from '../../errors.js';
import { randomShare } from '../../lib/chance.js';
import { sleep } from '../../lib/time.js';
import { type RegistryCommit, RegistryConflict, type RegistryRecord } from '../port.js';
import { createTurns } from '../turns.js';
import type { Registry } from './replica.js';

// Changes of the registry, and what becomes of them when another replica changed the same in between.

/** For operators. @param what e.g. `The teams were`. @param help what to do, where repeating the call alone is not it */
function changedInBetween(what: string, cause: unknown, help = 'Repeat the call.'): GatewayError {
  return new GatewayError('conflict', {
    detail: `${what} changed in between; nothing was done.`,
    help,
    cause,
  });
}

interface Conflict {
  /** What an operator is told was changed, e.g. `The teams were`. */
  readonly what: string;
  readonly help?: string;
  /** How often the change is planned anew before that; 1 when not given. */
  readonly tries?: number;
}

/**
 * Commits a change that is planned anew after each conflict.
 * @param plan from the registry as it is now; null: there is nothing to write. What it throws is thrown
 * @throws GatewayError `conflict`; StoreUnavailable
 */
export async function commitChange(
  registry: Pick<Registry, 'commit' | 'refresh'>,
  { what, help, tries = 1 }: Conflict,
  plan: () => RegistryCommit | null,
): Promise<void> {
  for (let left = tries; ; left--) {
    const change = plan();
    if (change === null) return;
    try {
      await registry.commit(change);
      return;
    } catch (error) {
      if (!(error instanceof RegistryConflict)) throw error;
      if (left <= 1) throw changedInBetween(what, error, help);
      await registry.refresh();
    }
  }
}

const MAX_TRIES = 10;
const CONFLICT_WAIT_MS = 10;

export interface RecordChange {
  readonly text: string;
  /** Other records that are written with it; null deletes. With a revision only if they still have it. */
  readonly also?: readonly (readonly [id: string, text: string | null, revision?: number])[];
  readonly audit?: readonly string[];
}

/** Changes of records of each registry, in turns. */
const turnsOf = new WeakMap<Registry, ReturnType<typeof createTurns>>();

/**
 * Changes of one record take turns within a process: of many at once all but one would lose to each other at every
 * write of the disk. Conflicts come from other replicas.
 *
 * @param step from the record's text (null: there is none) to the change, or null to leave it as it is. It may be
 *   called more than once.
 * @param what see {@link Conflict}; where nobody waits for an answer there is none
 * @throws after ten tries GatewayError `conflict`, or RegistryConflict without `what`; StoreUnavailable, and what `step` throws
 */
export function updateRecord(
  registry: Registry,
  id: string,
  step: (text: string | null) => RecordChange | null,
  what?: string,
): Promise<void> {
  const turns = turnsOf.get(registry) ?? createTurns();
  turnsOf.set(registry, turns);
  return turns(id, async () => {
    for (let tries = 1; ; tries++) {
      const before = registry.get(id);
      const change = step(before?.value ?? null);
      if (change === null) return;
      const { text, also = [], audit = [] } = change;
      const expected = also.flatMap(([other, , revision]) =>
        revision === undefined ? [] : [[other, revision] as const],
      );
      try {
        return await registry.commit({
          writes: new Map([[id, text], ...also.map(([other, value]) => [other, value] as const)]),
          expect: new Map([[id, before?.revision ?? 0], ...expected]),
          audit,
        });
      } catch (error) {
        if (!(error instanceof RegistryConflict)) throw error;
        if (tries === MAX_TRIES) throw what === undefined ? error : changedInBetween(what, error);
        // Replicas that keep the same step would lose to the same one each time.
        await sleep(randomShare() * tries * CONFLICT_WAIT_MS);
        await registry.refresh();
      }
    }
  });
}

type Others = readonly (readonly [record: string, RegistryRecord])[];

/**
 * @param max records that are kept
 * @param read of a record's text, which is damaged where it throws
 * @param forget what is deleted with a write, of all other records; the oldest beyond the bound when not given
 */
export function createRecordBook<T>(
  registry: Registry,
  {
    prefix,
    max,
    read,
    forget = oldestBeyond(max),
  }: {
    readonly prefix: string;
    readonly max: number;
    readonly read: (text: string, record: string) => T;
    readonly forget?: (others: Others) => NonNullable<RecordChange['also']>;
  },
) {
  let values = new Map<string, { readonly text: string; readonly value: T }>();

  function valueIn(record: string, text: string): T {
    const known = values.get(record);
    if (known?.text === text) return known.value;
    const value = read(text, record);
    if (values.size > max) values = new Map();
    values.set(record, { text, value });
    return value;
  }

  return {
    /** @throws DamagedRecord */
    get(id: string): T | null {
      const text = registry.get(prefix + id)?.value;
      return text === undefined ? null : valueIn(prefix + id, text);
    },
    list: (): readonly (readonly [id: string, value: T])[] =>
      registry
        .list(prefix)
        .map(([record, { value }]) => [record.slice(prefix.length), valueIn(record, value)] as const),
    /**
     * @param step from the value before (null: there is none) to the one after; null or the same value leaves the record as it is.
     *   It may be called more than once.
     * @throws RegistryConflict; StoreUnavailable; DamagedRecord
     */
    change(id: string, step: (before: T | null) => T | null): Promise<void> {
      const record = prefix + id;
      return updateRecord(registry, record, (text) => {
        const before = text === null ? null : valueIn(record, text);
        const after = step(before);
        if (after === null || after === before) return null;
        const others = registry.list(prefix).filter(([other]) => other !== record);
        return { text: JSON.stringify(after), also: forget(others) };
      });
    },
  };
}

function oldestBeyond(max: number) {
  return (others: Others): [string, null][] =>
    [...others]
      .sort(([, a], [, b]) => a.revision - b.revision)
      .slice(0, Math.max(0, others.length + 1 - max))
      .map(([record]) => [record, null]);
}
