import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  RegistryConflict,
  type RegistryDelta,
  type RegistryRecord,
  type RegistrySnapshot,
  type Store,
} from '../../src/store/port.js';
import { type OpenHarness, withStore } from './harness.js';

const IDS = ['a', 'b', 'c', 'd'];
const TOMBSTONES_MAX = 2;

/** What a commit says of one record: what it expects, and what it does. */
const touch = fc.record({
  id: fc.constantFrom(...IDS),
  /** `right`: the revision it has; `wrong`: another; `nothing`: no expectation. */
  expects: fc.constantFrom('right', 'right', 'wrong', 'nothing'),
  write: fc.option(fc.string({ unit: 'grapheme' }), { nil: null, freq: 3 }),
});

const step = fc.record({
  handle: fc.nat({ max: 1 }),
  touches: fc.uniqueArray(touch, { maxLength: 3, selector: ({ id }) => id }),
  audit: fc.array(fc.string(), { maxLength: 2 }),
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** The registry as the port describes it, in the plainest way. */
interface Model {
  version: number;
  readonly records: Map<string, RegistryRecord>;
  /** Deleted ids, oldest deletion first. */
  readonly tombstones: Map<string, number>;
  /** Deletions up to here have been forgotten. */
  floor: number;
  readonly audit: string[];
}

export function describeRegistryModel(open: OpenHarness): void {
  describe('registry, any commits through two handles', () => {
    it('is what the commits make it, and changes() since any load leads to it', () =>
      fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 14 }), (steps) =>
          withStore(
            open,
            async ({ store, another }) => {
              await play([store, await another()], steps);
            },
            { tombstonesMax: TOMBSTONES_MAX },
          ),
        ),
        { numRuns: 15 },
      ));
  });
}

async function play(stores: readonly Store[], steps: readonly Step[]): Promise<void> {
  const model: Model = { version: 0, records: new Map(), tombstones: new Map(), floor: 0, audit: [] };
  const seen: RegistrySnapshot[] = [await loadFrom(stores, 0)];
  for (const one of steps) {
    await commit(stores, one, model);
    const loaded = await loadFrom(stores, 1 - one.handle);
    expect(loaded.version).toBe(model.version);
    expect(loaded.records).toEqual(model.records);
    seen.push(loaded);
    await checkChanges(stores, one.handle, seen, model);
  }
  const lines = await (stores[0] as Store).registry.readAudit(1_000);
  expect(lines.map(({ text }) => text)).toEqual(model.audit.toReversed());
}

const loadFrom = (stores: readonly Store[], handle: number) => (stores[handle] as Store).registry.load();

async function commit(
  stores: readonly Store[],
  { handle, touches, audit }: Step,
  model: Model,
): Promise<void> {
  const revision = (id: string) => model.records.get(id)?.revision ?? 0;
  const expected = touches
    .filter(({ expects }) => expects !== 'nothing')
    .map(({ id, expects }): [string, number] => [id, revision(id) + (expects === 'wrong' ? 1 : 0)]);
  const wrong = touches.filter(({ expects }) => expects === 'wrong').map(({ id }) => id);
  const writes = new Map(touches.map(({ id, write }) => [id, write]));
  const committing = (stores[handle] as Store).registry.commit({ writes, expect: new Map(expected), audit });
  if (wrong.length > 0) {
    const refused = await committing.then(
      () => null,
      (error: unknown) => error,
    );
    expect(refused).toBeInstanceOf(RegistryConflict);
    expect(wrong).toContain((refused as RegistryConflict).id);
    return;
  }
  model.version += 1;
  for (const [id, value] of writes) write(model, id, value);
  forget(model);
  model.audit.push(...audit);
  expect(await committing).toEqual({ version: model.version });
}

function write(model: Model, id: string, value: string | null): void {
  const { records, tombstones, version } = model;
  if (value !== null) {
    records.set(id, { value, revision: version });
    tombstones.delete(id);
  } else if (records.delete(id)) tombstones.set(id, version);
}

/** At the end of a commit, for within one all deletions are of one age. */
function forget(model: Model): void {
  while (model.tombstones.size > TOMBSTONES_MAX) {
    const [oldest, revision] = [...model.tombstones][0] as [string, number];
    model.tombstones.delete(oldest);
    model.floor = revision;
  }
}

/** A delta leads to the present state; there is none where a deletion since has been forgotten. */
async function checkChanges(
  stores: readonly Store[],
  handle: number,
  seen: readonly RegistrySnapshot[],
  model: Model,
): Promise<void> {
  for (const { epoch, version, records } of seen) {
    const delta = await (stores[handle] as Store).registry.changes(epoch, version);
    if (version < model.floor) expect(delta).toBeNull();
    else {
      expect(delta?.version).toBe(model.version);
      expect(withDelta(records, delta as RegistryDelta)).toEqual(model.records);
    }
  }
}

function withDelta(
  records: ReadonlyMap<string, RegistryRecord>,
  delta: RegistryDelta,
): Map<string, RegistryRecord> {
  const result = new Map(records);
  for (const [id, record] of delta.changed) {
    if (record === null) result.delete(id);
    else result.set(id, record);
  }
  return result;
}
