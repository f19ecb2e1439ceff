/** History of one day: any order of fetches leaves what an oracle that forgets nothing would say. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeHeads,
  encodeHeads,
  knownAt,
  noteFetch,
  type Revisions,
  type SeenDay,
} from '../../../src/reports/history/revision.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function seen(at: number, change: Partial<SeenDay> = {}): SeenDay {
  return {
    ...{ fetchedFrom: at - 50, fetchedAt: at, ageDays: 3, digest: 'a', schema: 's', generation: 'g' },
    ...{ credential: null, rowCount: 2, answerRows: 2, seq: 0, bytes: 100 },
    ...{ unconfirmed: false, isFinal: false },
    ...change,
  };
}

function historyOf(...fetches: readonly SeenDay[]): Revisions {
  return fetches.reduce<Revisions>((before, one) => {
    const noted = noteFetch(before, one);
    return 'revisions' in noted ? noted.revisions : before;
  }, []);
}

describe('a fetch', () => {
  it('that brings other rows is appended, known from its end', () => {
    const [first, second] = historyOf(seen(1000), seen(2000, { digest: 'b' }));
    expect([first?.knownFrom, second?.knownFrom]).toEqual([1000, 2000]);
    expect(first).toMatchObject({ digest: 'a', fetchedFrom: 950, confirmedUntil: 1000, ageDays: 3 });
  });

  it('that brings the same rows moves what is confirmed, once an hour', () => {
    const before = historyOf(seen(1000));
    expect(noteFetch(before, seen(1000 + HOUR_MS - 1)).kind).toBe('known');
    expect(historyOf(seen(1000), seen(1000 + HOUR_MS))).toEqual([
      { ...(before[0] as object), confirmedUntil: 1000 + HOUR_MS },
    ]);
  });

  it('that began before the latest did is dropped', () => {
    const before = historyOf(seen(1000), seen(2000, { digest: 'b' }));
    expect(noteFetch(before, seen(3000, { fetchedFrom: 1949, digest: 'a' })).kind).toBe('late');
  });

  it('that ended before the latest did, by another clock, is known after it all the same', () => {
    const revisions = historyOf(seen(2000), seen(1990, { fetchedFrom: 1960, digest: 'b' }));
    expect(revisions.map(({ knownFrom }) => knownFrom)).toEqual([2000, 2001]);
  });

  it('of a kind that was proven anew is appended, though it brings the same rows', () => {
    expect(historyOf(seen(1000), seen(2000, { generation: 'h' }))).toHaveLength(2);
  });

  it('without rows is unconfirmed until a second look says the same', () => {
    const empty = { digest: '', rowCount: 0 };
    const once = historyOf(seen(1000, { ...empty, unconfirmed: true }));
    expect(once[0]?.unconfirmed).toBe(true);
    const twice = historyOf(seen(1000, { ...empty, unconfirmed: true }), seen(1500, empty));
    expect(twice).toHaveLength(1);
    expect(twice[0]).not.toHaveProperty('unconfirmed');
  });
});

it('revisions of a day that is not over are kept for 48 hours, and then the last of them', () => {
  const today = (at: number, digest: string) => seen(at, { ageDays: 0, digest });
  const revisions = historyOf(
    ...[today(HOUR_MS, 'a'), today(2 * HOUR_MS, 'b'), today(3 * HOUR_MS, 'c')],
    seen(DAY_MS, { ageDays: 1, digest: 'd' }),
  );
  expect(revisions).toHaveLength(4);
  const late = noteFetch(revisions, seen(4 * DAY_MS, { ageDays: 4, digest: 'e' }));
  expect(late).toMatchObject({ kind: 'appended', removed: revisions.slice(0, 2).map(({ id }) => id) });
  expect('revisions' in late && late.revisions.map(({ digest }) => digest)).toEqual(['c', 'd', 'e']);
});

it('of more than 64 revisions of a day that is over the first and the latest are kept, and what is missing is said', () => {
  const revisions = historyOf(
    ...Array.from({ length: 100 }, (_, n) => seen((n + 1) * 1000, { digest: `${n}` })),
  );
  expect(revisions).toHaveLength(64);
  expect(revisions[0]).toMatchObject({ digest: '0', thinnedFrom: 2000 });
  expect(knownAt(revisions, { at: 1999 })).toMatchObject({ lacks: null });
  expect(knownAt(revisions, { at: 2000 })).toMatchObject({ revision: { digest: '0' }, lacks: 'thinned' });
  expect(knownAt(revisions, { at: 99_999 })).toMatchObject({ revision: { digest: '98' }, lacks: null });
});

it('what is exact is what an oracle knew, for any fetches', () => {
  const fetches = fc.array(
    fc.record({
      ...{ endMs: fc.integer({ min: 0, max: 6 * DAY_MS }), tookMs: fc.integer({ min: 0, max: 5000 }) },
      ...{ digest: fc.constantFrom('a', 'b', 'c'), generation: fc.constantFrom('g', 'g', 'g', 'h') },
    }),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(
      fetches,
      fc.array(fc.integer({ min: 0, max: 7 * DAY_MS }), { minLength: 5 }),
      (all, looks) => {
        let revisions: Revisions = [];
        const oracle: { knownFrom: number; digest: string }[] = [];
        const ids = new Set<string>();
        for (const { endMs, tookMs, digest, generation } of all) {
          const day = seen(endMs, {
            fetchedFrom: endMs - tookMs,
            digest,
            generation,
            ageDays: Math.floor(endMs / DAY_MS),
          });
          const noted = noteFetch(revisions, day);
          if (!('revisions' in noted)) continue;
          revisions = noted.revisions;
          if (noted.kind !== 'appended') continue;
          expect(ids.has(noted.added)).toBe(false);
          ids.add(noted.added);
          oracle.push({ knownFrom: (revisions.at(-1) as { knownFrom: number }).knownFrom, digest });
        }
        for (const atMs of looks) {
          const then = knownAt(revisions, { at: atMs });
          const known = oracle.findLast(({ knownFrom }) => knownFrom <= atMs);
          if (then?.lacks === null) expect(then.revision.digest).toBe(known?.digest);
          else if (then !== null) expect(known?.knownFrom).toBeGreaterThan(then.revision.knownFrom);
        }
        expect(decodeHeads(encodeHeads({ asked: ['1'], revisions }))).toEqual({
          ...{ asked: ['1'], revisions },
        });
      },
    ),
  );
});

it('what is no history, or that of a later release, is told from none', () => {
  const empty = '{"form":1,"asked":[],"shared":[],"revisions":[]}';
  expect(decodeHeads(Buffer.from(empty))).toEqual({ asked: [], revisions: [] });
  for (const text of [
    ...['', '{', '[]', '{"form":1,"revisions":[]}', empty.replace('1', '2')],
    ...['{}', '[]', '[1]', '[1,2,3,4,"digest",0,0,0,0,0,1,1,{}]'].map((one) =>
      empty.replace(/\[\]}$/, `[${one}]}`),
    ),
  ])
    expect([text, decodeHeads(Buffer.from(text))]).toEqual([text, null]);
});

it('a revision takes about a hundred bytes beside its rows', () => {
  const facts = { schema: 'a'.repeat(16), generation: 'b'.repeat(22), credential: 'c'.repeat(16) };
  const digestOf = (n: number) => `${n}`.padStart(22, 'd');
  const revisions = historyOf(
    ...Array.from({ length: 7 }, (_, n) =>
      seen(Date.UTC(2026, 10, 1 + n), { ...facts, digest: digestOf(n), ageDays: n + 1, seq: 2 ** 50 }),
    ),
  );
  expect(revisions).toHaveLength(7);
  expect(encodeHeads({ asked: ['1'], revisions }).length).toBeLessThan(7 * 110);
});
