/** Changes of the registry that are repeated after conflicts with other replicas. */
import { GatewayError } from '../../errors.js';
import { randomShare } from '../../lib/chance.js';
import { sleep } from '../../lib/time.js';
import { type RegistryCommit, RegistryConflict, type RegistryRecord } from '../port.js';
import { createTurns } from '../turns.js';
import type { Registry } from './replica.js';

function changedInBetween(what: string, cause: unknown, help = 'Repeat the call.'): GatewayError {
  const detail = `${what} changed in between; nothing was done.`;
  return new GatewayError('conflict', { detail, help, cause });
}

interface Conflict {
  /** The beginning of the error's sentence, e.g. `The teams were`; absent for background work. */
  readonly what?: string | undefined;
  /** Default: repeat the call. */
  readonly help?: string;
  readonly tries?: number;
}

const MAX_TRIES = 10;
const CONFLICT_WAIT_MS = 10;

/**
 * Commits a change, planned again after each conflict.
 * @param plan from the current registry; null: nothing to write. Its errors are thrown
 * @throws GatewayError `conflict`, or RegistryConflict without `what`; StoreUnavailable
 */
export async function commitChange(
  registry: Pick<Registry, 'commit' | 'refresh'>,
  { what, help, tries = 1 }: Conflict,
  plan: () => RegistryCommit | null,
): Promise<void> {
  for (let nth = 1; ; nth++) {
    const change = plan();
    if (change === null) return;
    try {
      return await registry.commit(change);
    } catch (error) {
      if (!(error instanceof RegistryConflict)) throw error;
      if (nth === tries) throw what === undefined ? error : changedInBetween(what, error, help);
      // Random, as replicas would conflict again after equal waits.
      await sleep(randomShare() * nth * CONFLICT_WAIT_MS);
      await registry.refresh();
    }
  }
}

export interface RecordChange {
  readonly text: string;
  /** Other records written with it; null deletes. With a revision, only if they still have it. */
  readonly also?: readonly (readonly [id: string, text: string | null, revision?: number])[];
  readonly audit?: readonly string[];
}

const turnsOf = new WeakMap<Registry, ReturnType<typeof createTurns>>();

/**
 * Changes one record. Changes of a process take turns, so that only other replicas cause conflicts.
 * @param step from the record's text (null: absent) to the change; null: no change. It may be called more than once
 * @param what see {@link Conflict}; absent for background work
 * @throws after ten tries GatewayError `conflict`, or RegistryConflict without `what`; StoreUnavailable, and errors
 *   of `step`
 */
export function updateRecord(
  registry: Registry,
  id: string,
  step: (text: string | null) => RecordChange | null,
  what?: string,
): Promise<void> {
  const turns = turnsOf.get(registry) ?? createTurns();
  turnsOf.set(registry, turns);
  const plan = (): RegistryCommit | null => {
    const before = registry.get(id);
    const change = step(before?.value ?? null);
    if (change === null) return null;
    const { text, also = [], audit = [] } = change;
    const expected = also.flatMap(([other, , revision]) =>
      revision === undefined ? [] : [[other, revision] as const],
    );
    return {
      writes: new Map([[id, text], ...also.map(([other, value]) => [other, value] as const)]),
      expect: new Map([[id, before?.revision ?? 0], ...expected]),
      audit,
    };
  };
  return turns(id, () => commitChange(registry, { what, tries: MAX_TRIES }, plan));
}

type Others = readonly (readonly [record: string, RegistryRecord])[];

/**
 * Records with a common prefix as parsed values, which are remembered.
 * @param max number of records; beyond it the oldest are deleted
 * @param read parses a text; throws if it is damaged
 * @param forget the other records that a write deletes; default: the oldest beyond `max`
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
     * @param step from the value before (null: absent) to the one after; null or the same value: no change. It may be
     *   called more than once
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
