import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RegistryRecord, RegistrySnapshot } from '../../../src/store/port.js';
import { findLost, type Known, MENDED_RECORD, noteMended } from '../../../src/store/registry/lost.js';

type Records = Readonly<Record<string, readonly [value: string, revision: number]>>;

const mapOf = (records: Records): Map<string, RegistryRecord> =>
  new Map(Object.entries(records).map(([id, [value, revision]]) => [id, { value, revision }]));
const known = (version: number, records: Records): Known => ({
  epoch: 'e',
  version,
  newest: version,
  records: mapOf(records),
});
const stored = (version: number, records: Records, epoch = 'e'): RegistrySnapshot => ({
  epoch,
  version,
  records: mapOf(records),
});
/** `id=value` of what is lost; `id=` for a deletion. */
const lost = (before: Known, now: RegistrySnapshot): string[] =>
  findLost(before, now).map(({ id, value, found }) => `${id}=${value ?? ''} over ${found}`);

describe('a store that has lost acknowledged commits', () => {
  it('is told by records that are older than they were known', () => {
    const before = known(5, { key: ['revoked', 5], team: ['a', 2] });
    expect(lost(before, stored(4, { key: ['valid', 1], team: ['a', 2] }))).toEqual(['key=revoked over 1']);
  });

  it('and also when it has gone on since, past the version that was known', () => {
    const before = known(5, { key: ['revoked', 5], team: ['a', 2] });
    const now = stored(9, { key: ['valid', 1], team: ['b', 7], more: ['x', 9] });
    expect(lost(before, now)).toEqual(['key=revoked over 1']);
  });

  it('is told by records that it never had, as long as its version says so', () => {
    const before = known(5, { key: ['new', 5] });
    expect(lost(before, stored(4, {}))).toEqual(['key=new over 0']);
    // It was deleted, or lost and others came: nobody can tell, so nobody is let in again.
    expect(lost(before, stored(5, {}))).toEqual([]);
  });

  it('is told by deletions that were undone, as long as its version says so', () => {
    const before = known(5, {});
    expect(lost(before, stored(4, { team: ['a', 1] }))).toEqual(['team= over 1']);
    expect(lost(before, stored(5, { team: ['a', 1] }))).toEqual([]);
  });

  it('is told by own commits beyond what was known completely, which leave the rest in doubt', () => {
    const before = { ...known(1, { own: ['x', 3] }), newest: 3 };
    const now = stored(2, { gone: ['deleted by us', 1], others: ['not heard of', 2] });
    expect(lost(before, now)).toEqual(['own=x over 0', 'gone= over 1']);
  });

  it('is none when it is another registry', () => {
    expect(lost(known(5, { key: ['revoked', 5] }), stored(1, { key: ['valid', 1] }, 'other'))).toEqual([]);
  });

  it('that was mended by a replica that knew less is mended again, and no further', () => {
    const before = known(9, { key: ['revoked', 9] });
    const mend = (value: string, revision: number, at = 0): Records => ({
      key: [value, 11],
      [MENDED_RECORD]: [noteMended(new Map(), [{ id: 'key', value, revision, found: 5 }], at), 11],
    });
    expect(lost(before, stored(11, mend('valid', 7)))).toEqual(['key=revoked over 11']);
    expect(lost(before, stored(11, mend('revoked', 9)))).toEqual([]);
    expect(lost(before, stored(11, mend('deleted since', 10)))).toEqual([]);
    // Somebody wrote it anew after the mend.
    expect(lost(before, stored(12, { ...mend('valid', 7), key: ['relabelled', 12] }))).toEqual([]);
  });
});

/** A history of commits of one id each; the store keeps only a part of it and goes on. */
const commit = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.option(fc.nat(9), { freq: 4 }));
type Commit = readonly [id: string, value: number | null];

function replay(history: readonly Commit[]): Known {
  const records = new Map<string, RegistryRecord>();
  for (const [index, [id, value]] of history.entries()) {
    if (value === null) records.delete(id);
    else records.set(id, { value: String(value), revision: index + 1 });
  }
  return { epoch: 'e', version: history.length, newest: history.length, records };
}

describe('whatever the history', () => {
  it('nothing is lost where nothing was', () => {
    fc.assert(
      fc.property(fc.array(commit), fc.array(commit), (first, more) => {
        expect(findLost(replay(first), replay([...first, ...more]))).toEqual([]);
      }),
    );
  });

  it('putting back what is lost, when nothing was written since, gives what was known', () => {
    fc.assert(
      fc.property(fc.array(commit), fc.array(commit), (first, more) => {
        const before = replay([...first, ...more]);
        const now = replay(first);
        const mended = new Map([...now.records].map(([id, { value }]) => [id, value]));
        for (const { id, value, found } of findLost(before, now)) {
          expect(found).toBe(now.records.get(id)?.revision ?? 0);
          if (value === null) mended.delete(id);
          else mended.set(id, value);
        }
        expect(mended).toEqual(new Map([...before.records].map(([id, { value }]) => [id, value])));
      }),
    );
  });

  it('a record is put back only over an older version, wherever the store has gone since', () => {
    fc.assert(
      fc.property(fc.array(commit), fc.array(commit), fc.array(commit), (first, gone, since) => {
        const [before, now] = [replay([...first, ...gone]), replay([...first, ...since])];
        for (const { id, value, revision, found } of findLost(before, now)) {
          expect(found).toBeLessThan(revision);
          if (value !== null) expect(before.records.get(id)).toEqual({ value, revision });
          else expect(now.version).toBeLessThan(before.newest);
        }
      }),
    );
  });
});

it('what was mended is remembered for an hour', () => {
  const lostNow = [{ id: 'a', value: 'x', revision: 3, found: 1 }];
  const first = noteMended(new Map(), lostNow, 0);
  const records = mapOf({ [MENDED_RECORD]: [first, 4] });
  const others = [{ id: 'b', value: null, revision: 9, found: 2 }];
  expect(Object.keys(JSON.parse(noteMended(records, others, 3_599_999)))).toEqual(['a']);
  expect(Object.keys(JSON.parse(noteMended(records, others, 3_600_000)))).toEqual([]);
});

it('what a newer release noted of a mended record stays when another is mended', () => {
  const theirs = { revision: 3, text: 'digest', at: 0, newer: { of: 'a newer release' } };
  const records = mapOf({ [MENDED_RECORD]: [JSON.stringify({ a: theirs }), 4] });
  const after = JSON.parse(noteMended(records, [{ id: 'b', value: 'x', revision: 9, found: 2 }], 1));
  expect(after).toMatchObject({ a: theirs, b: { revision: 9, at: 1 } });
});
