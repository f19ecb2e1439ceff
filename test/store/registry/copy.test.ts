import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RegistryDelta, RegistryRecord, RegistrySnapshot } from '../../../src/store/port.js';
import { createRegistryCopy } from '../../../src/store/registry/lost.js';
import { runs } from '../../support/runs.js';

type Writes = ReadonlyMap<string, string | null>;

/** The store's registry: every state it ever had, so that an answer can be one of the past. */
function createHistory() {
  const states: RegistrySnapshot[] = [{ epoch: 'e', version: 0, records: new Map() }];
  const latest = () => states.at(-1) as RegistrySnapshot;
  return {
    latest,
    commit(writes: Writes): number {
      const { version, records } = latest();
      const next = new Map(records);
      for (const [id, value] of writes) {
        if (value === null) next.delete(id);
        else next.set(id, { value, revision: version + 1 });
      }
      states.push({ epoch: 'e', version: version + 1, records: next });
      return version + 1;
    },
    snapshotAt: (version: number) => states[version] as RegistrySnapshot,
    deltaAt(from: number, version: number): RegistryDelta {
      const changed = new Map<string, RegistryRecord | null>();
      const { records } = states[version] as RegistrySnapshot;
      for (const state of states.slice(0, version + 1)) {
        for (const id of state.records.keys()) {
          const record = records.get(id) ?? null;
          const before = (states[from] as RegistrySnapshot).records.get(id);
          // As the store does: what was made and deleted in between is told as deleted.
          if (record?.revision !== before?.revision || record === null) changed.set(id, record);
        }
      }
      return { epoch: 'e', version, changed };
    },
  };
}

/** What may happen to a replica, in any order. `pick` chooses among what is possible. */
type Step =
  | { readonly do: 'other' | 'own'; readonly writes: Writes }
  | { readonly do: 'begin' | 'answer' | 'end' | 'load'; readonly pick: number }
  | { readonly do: 'resolve'; readonly pick: number };

const writes = fc
  .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.option(fc.string({ maxLength: 2 }))), {
    minLength: 1,
    selector: ([id]) => id,
  })
  .map((pairs): Writes => new Map(pairs));
const pick = fc.nat(1000);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('other' as const, 'own' as const), writes }),
  fc.record({
    do: fc.constantFrom('begin' as const, 'answer' as const, 'end' as const, 'load' as const),
    pick,
  }),
  fc.record({ do: fc.constant('resolve' as const), pick }),
);

interface Look {
  /** Whatever is answered was true at some moment after this one. */
  readonly begunAt: number;
  answeredAt: number | null;
  isLoad: boolean;
}

describe("a replica's copy", () => {
  it('shows an own commit from the moment it is known, and never goes back, whatever overlaps', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const history = createHistory();
        const copy = createRegistryCopy(history.latest());
        let look: Look | null = null;
        let unresolved: { readonly writes: Writes; readonly version: number }[] = [];
        /** For each id the newest version of an own commit that was resolved, or of a look that ended. */
        const known = new Map<string, number>();
        const learn = (ids: Iterable<string>, version: number) => {
          for (const id of ids) known.set(id, Math.max(known.get(id) ?? 0, version));
        };

        for (const next of steps) {
          if (next.do === 'other') history.commit(next.writes);
          else if (next.do === 'own')
            unresolved.push({ writes: next.writes, version: history.commit(next.writes) });
          else if (next.do === 'begin' && look === null) {
            copy.beginLook();
            look = { begunAt: history.latest().version, answeredAt: null, isLoad: false };
          } else if (next.do === 'answer' && look !== null && look.answeredAt === null) {
            look.answeredAt = history.latest().version;
          } else if (next.do === 'load' && look !== null) look.isLoad = true;
          else if (next.do === 'end' && look !== null && look.answeredAt !== null) {
            const { answeredAt } = look;
            if (look.isLoad || copy.mustLoad) copy.takeSnapshot(history.snapshotAt(answeredAt));
            else copy.takeDelta(history.deltaAt(copy.version, answeredAt));
            look = null;
            learn(['a', 'b', 'c'], answeredAt);
          } else if (next.do === 'resolve' && unresolved.length > 0) {
            const index = next.pick % unresolved.length;
            const [own] = unresolved.splice(index, 1);
            if (own === undefined) continue;
            if (copy.takeOwn(own.writes, own.version) !== null) learn(own.writes.keys(), own.version);
            else expect(copy.version).toBeGreaterThanOrEqual(own.version);
          }
          for (const id of ['a', 'b', 'c']) expectAtLeast(id, known.get(id) ?? 0, copy, history);
        }

        // When all is said, a last look makes the copy equal to the store.
        unresolved = [];
        copy.beginLook();
        copy.takeDelta(history.deltaAt(copy.version, history.latest().version));
        expect(new Map(copy.records)).toEqual(history.latest().records);
        expect(copy.version).toBe(history.latest().version);
      }),
      runs(300, 1000),
    );
  });

  /** The copy's word on an id is one the store had at the known version, or later. */
  function expectAtLeast(
    id: string,
    version: number,
    copy: ReturnType<typeof createRegistryCopy>,
    history: ReturnType<typeof createHistory>,
  ): void {
    const now = history.latest().version;
    const words = [];
    for (let at = version; at <= now; at++) words.push(history.snapshotAt(at).records.get(id) ?? null);
    expect(words).toContainEqual(copy.records.get(id) ?? null);
  }
});

describe('news that are older than what the copy knows', () => {
  const first: RegistrySnapshot = {
    epoch: 'e',
    version: 5,
    records: new Map([['team/a', { value: 'old', revision: 3 }]]),
  };
  const delta = (version: number, changed: [string, RegistryRecord | null][]): RegistryDelta => ({
    epoch: 'e',
    version,
    changed: new Map(changed),
  });

  it('do not undo an own commit by a load', () => {
    const copy = createRegistryCopy(first);
    copy.beginLook();
    copy.takeOwn(new Map([['team/a', 'mine']]), 7);
    copy.takeSnapshot({ ...first, version: 6 });
    expect(copy.records.get('team/a')).toEqual({ value: 'mine', revision: 7 });
    // The load may have come from a registry that lost the commit: only another one can tell.
    expect(copy.mustLoad).toBe(true);
    copy.beginLook();
    copy.takeSnapshot({ ...first, epoch: 'other', version: 2 });
    expect(copy.records).toEqual(first.records);
    expect(copy.mustLoad).toBe(false);
    expect(copy).toMatchObject({ epoch: 'other', version: 2 });
  });

  it('name what changed, and nothing else', () => {
    const copy = createRegistryCopy(first);
    copy.beginLook();
    const known = delta(6, [
      ['team/a', { value: 'old', revision: 3 }],
      ['team/b', { value: 'new', revision: 6 }],
    ]);
    expect([...copy.takeDelta(known)]).toEqual(['team/b']);
    expect([...(copy.takeOwn(new Map([['key/x', '1']]), 7) ?? [])]).toEqual(['key/x']);
    expect([...copy.takeSnapshot({ ...first, version: 9 })].toSorted()).toEqual(
      ['key/x', 'team/a', 'team/b'].toSorted(),
    );
  });
});
