/** History of one day: any order of fetches leaves what an oracle that forgets nothing would say. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeEarlier, encodeEarlier } from '../../../src/reports/days/month.js';
import { isSameMethod, listRevisions, type RevisionsWanted } from '../../../src/reports/history/diff-days.js';
import type { Erasures } from '../../../src/reports/history/erasures.js';
import {
  firstSeenAfterEnd,
  knownAt,
  noteFetch,
  type Revision,
  type Revisions,
  type SeenDay,
  validRevisions,
  voidCut,
} from '../../../src/reports/history/revision.js';
import { DAY, HOUR, MINUTE } from '../../support/test-clock.js';

function seenDay(at: number, change: Partial<SeenDay> = {}): SeenDay {
  return {
    fetchedFrom: at - 50,
    fetchedAt: at,
    ageDays: 3,
    digest: 'a',
    hash: 'h',
    schema: 's',
    generation: 'g',
    credential: null,
    rowCount: 2,
    answerRows: 2,
    seq: 0,
    unconfirmed: false,
    isFinal: false,
    ...change,
  };
}

function historyOf(...fetches: readonly SeenDay[]): Revisions {
  return fetches.reduce<Revisions>((before, one) => noteFetch(before, one).revisions, []);
}

describe('a fetch', () => {
  it('that brings other rows is appended, known from its end', () => {
    const [first, second] = historyOf(seenDay(1000), seenDay(2000, { digest: 'b' }));
    expect([first?.knownFrom, second?.knownFrom]).toEqual([1000, 2000]);
    expect(first).toMatchObject({ digest: 'a', fetchedFrom: 950, confirmedUntil: 1000, ageDays: 3 });
  });

  it('that brings the same rows moves what is confirmed, and adds no revision', () => {
    const before = historyOf(seenDay(1000));
    const noted = noteFetch(before, seenDay(1001));
    expect(noted.kind).toBe('confirmed');
    expect(noted.revisions).toEqual([{ ...(before[0] as object), confirmedUntil: 1001 }]);
  });

  it('that brings the same rows in a smaller answer, or in one proven complete, keeps them from being void as cut', () => {
    const cutAt = (caps: readonly number[], ...fetches: readonly SeenDay[]) =>
      voidCut(historyOf(...fetches), { caps }).map((one) => one.void);
    const large = seenDay(1000, { answerRows: 1000 });
    expect(cutAt([1000], large)).toEqual(['cut']);
    expect(cutAt([1000], large, seenDay(2000, { answerRows: 300 }))).toEqual([undefined]);
    expect(cutAt([1000], large, seenDay(2000, { answerRows: 1000, complete: true }))).toEqual([undefined]);
    const [kept] = historyOf(large, { ...large, complete: true });
    expect(kept).toMatchObject({ answerRows: 1000, complete: true });
  });

  it('that brings the rows of a revision that was cut is appended', () => {
    const before = voidCut(historyOf(seenDay(1000, { answerRows: 1000 })), { caps: [1000] });
    expect(noteFetch(before, seenDay(2000, { answerRows: 300 }))).toMatchObject({ kind: 'appended' });
  });

  it('that ended before the latest did, by another clock, is known after it all the same', () => {
    const revisions = historyOf(seenDay(2000), seenDay(1990, { fetchedFrom: 1960, digest: 'b' }));
    expect(revisions.map(({ knownFrom }) => knownFrom)).toEqual([2000, 2001]);
  });

  it('without rows is unconfirmed until a second look says the same', () => {
    const empty = { digest: '', rowCount: 0 };
    const once = historyOf(seenDay(1000, { ...empty, unconfirmed: true }));
    expect(once[0]?.unconfirmed).toBe(true);
    const twice = historyOf(seenDay(1000, { ...empty, unconfirmed: true }), seenDay(1500, empty));
    expect(twice).toHaveLength(1);
    expect(twice[0]).not.toHaveProperty('unconfirmed');
  });
});

it('revisions of a day that is not over are kept for 48 hours, and then the last of them', () => {
  const today = (at: number, digest: string) => seenDay(at, { ageDays: 0, digest });
  const revisions = historyOf(
    ...[today(HOUR, 'a'), today(2 * HOUR, 'b'), today(3 * HOUR, 'c')],
    seenDay(DAY, { ageDays: 1, digest: 'd' }),
  );
  expect(revisions).toHaveLength(4);
  const late = noteFetch(revisions, seenDay(4 * DAY, { ageDays: 4, digest: 'e' }));
  expect(late.kind).toBe('appended');
  expect(late.revisions.map(({ digest }) => digest)).toEqual(['c', 'd', 'e']);
});

it('of more than 64 revisions of a day that is over the first and the latest are kept, and what is missing is said', () => {
  const revisions = historyOf(
    ...Array.from({ length: 100 }, (_, n) => seenDay((n + 1) * 1000, { digest: `${n}` })),
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
      endMs: fc.integer({ min: 0, max: 6 * DAY }),
      tookMs: fc.integer({ min: 0, max: 5000 }),
      digest: fc.constantFrom('a', 'b', 'c'),
      generation: fc.constantFrom('g', 'g', 'g', 'h'),
    }),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(fetches, fc.array(fc.integer({ min: 0, max: 7 * DAY }), { minLength: 5 }), (all, looks) => {
      let revisions: Revisions = [];
      const oracle: { knownFrom: number; digest: string }[] = [];
      const ids = new Set<string>();
      const begun = all.toSorted((one, other) => one.endMs - one.tookMs - (other.endMs - other.tookMs));
      for (const { endMs, tookMs, digest, generation } of begun) {
        const day = seenDay(endMs, {
          fetchedFrom: endMs - tookMs,
          digest,
          generation,
          ageDays: Math.floor(endMs / DAY),
        });
        const noted = noteFetch(revisions, day);
        revisions = noted.revisions;
        if (noted.kind !== 'appended') continue;
        const added = revisions.at(-1) as Revision;
        expect(ids.has(added.id)).toBe(false);
        ids.add(added.id);
        oracle.push({ knownFrom: added.knownFrom, digest });
      }
      for (const atMs of looks) {
        const then = knownAt(revisions, { at: atMs });
        const known = oracle.findLast(({ knownFrom }) => knownFrom <= atMs);
        if (then?.lacks === null) expect(then.revision.digest).toBe(known?.digest);
        else if (then !== null) expect(known?.knownFrom).toBeGreaterThan(then.revision.knownFrom);
      }
      const stored = encodeEarlier(revisions);
      expect(decodeEarlier(stored)).toEqual(revisions);
    }),
  );
});

describe('vintages', () => {
  /** Age in days at which a day is final. */
  const FINAL_AGE = 6;

  /** @param at since the day began */
  function seen(at: number, digest: string, change: Partial<SeenDay> = {}): SeenDay {
    const ageDays = Math.floor((at - 50) / DAY);
    return seenDay(at, { ageDays, digest, isFinal: ageDays >= FINAL_AGE, ...change });
  }

  const digestOf = (revisions: Revisions, moment: 'first' | 'final') =>
    knownAt(revisions, moment)?.revision.digest ?? null;

  describe('what was first of a day', () => {
    it('is what was known before it was over, where that was seen again afterwards, within the hour too', () => {
      const revisions = historyOf(
        seen(DAY - MINUTE, 'a'),
        seen(DAY + MINUTE, 'a'),
        seen(3 * DAY, 'b'),
        seen(4 * DAY, 'a'),
      );
      const first = knownAt(revisions, 'first')?.revision;
      expect(first).toMatchObject({ digest: 'a', knownFrom: DAY - MINUTE, ageDays: 0 });
      expect(firstSeenAfterEnd(first as NonNullable<typeof first>)).toBe(DAY + MINUTE);
    });

    it('is nothing while the day was seen before its end only, or is empty and not confirmed', () => {
      expect(digestOf(historyOf(seen(DAY - HOUR, 'a')), 'first')).toBeNull();
      const empty = { rowCount: 0, unconfirmed: true };
      expect(digestOf(historyOf(seen(DAY + HOUR, '', empty)), 'first')).toBeNull();
      expect(digestOf(historyOf(seen(DAY + HOUR, '', empty), seen(DAY + 2 * HOUR, '')), 'first')).toBe('');
    });
  });

  describe('what was final of a day', () => {
    it('is stamped by the first fetch that sees it final, with the same rows too, and by no other', () => {
      const provisional = seen(FINAL_AGE * DAY - MINUTE, 'a');
      const noted = noteFetch(historyOf(provisional), seen(FINAL_AGE * DAY + MINUTE, 'a'));
      expect(noted.kind).toBe('confirmed');
      const revisions = historyOf(provisional, seen(FINAL_AGE * DAY + MINUTE, 'a'));
      expect(knownAt(revisions, 'final')?.revision.finalFrom).toBe(FINAL_AGE * DAY + MINUTE);
      const later = noteFetch(revisions, seen(FINAL_AGE * DAY + 2 * MINUTE, 'a')).revisions;
      expect(knownAt(later, 'final')?.revision.finalFrom).toBe(FINAL_AGE * DAY + MINUTE);
    });

    it('is stamped anew where what was final is void', () => {
      const [cut, ...none] = historyOf(seen(7 * DAY, 'a'));
      expect(none).toEqual([]);
      const voided = [{ ...(cut as NonNullable<typeof cut>), void: 'cut' as const }];
      const kept = noteFetch(voided, seen(8 * DAY, 'b')).revisions;
      expect(knownAt(validRevisions(kept, 'g'), 'final')?.revision).toMatchObject({
        digest: 'b',
        finalFrom: 8 * DAY,
      });
    });

    it('is stamped anew where the kind was proven anew, for what was before is believed no more', () => {
      const revisions = historyOf(seen(7 * DAY, 'a'), seen(8 * DAY, 'a', { generation: 'h' }));
      expect(knownAt(validRevisions(revisions, 'h'), 'final')?.revision.finalFrom).toBe(8 * DAY);
    });
  });

  it('first and final are kept when 64 revisions are exceeded', () => {
    const revisions = historyOf(
      seen(DAY - MINUTE, 'open'),
      seen(DAY + MINUTE, 'open'),
      ...Array.from({ length: 150 }, (_, n) => seen(2 * DAY + n * 2 * HOUR, `${n}`)),
    );
    expect(digestOf(revisions, 'first')).toBe('open');
    expect(digestOf(revisions, 'final')).toBe(`${(4 * 24) / 2 + 1}`);
    expect(revisions.length).toBeLessThanOrEqual(66);
  });

  describe('where revisions before the oldest known one are lost', () => {
    const lost = historyOf(seen(2 * DAY, 'a')).map((one) => ({ ...one, removedBefore: true as const }));
    const followedBy = (...fetches: readonly SeenDay[]) =>
      fetches.reduce<Revisions>((before, one) => noteFetch(before, one).revisions, lost);

    it('first and final are unknown, and stay so however many follow', () => {
      const all = followedBy(
        ...Array.from({ length: 100 }, (_, n) => seen((3 + n) * DAY, `${n}`)),
        seen(200 * DAY, '99'),
      );
      expect([digestOf(all, 'first'), digestOf(all, 'final')]).toEqual([null, null]);
      expect(knownAt(all, { at: 2 * DAY - 1 })).toBeNull();
    });

    it('a final day is stamped once all the same', () => {
      const first = followedBy(seen(7 * DAY, 'a'));
      const second = followedBy(seen(7 * DAY, 'a'), seen(8 * DAY, 'a'));
      expect(second[0]?.finalFrom).toBe(first[0]?.finalFrom);
      expect(first[0]?.finalFrom).toBe(7 * DAY);
      expect(knownAt(second, { at: 7 * DAY })?.final).toBe(true);
    });
  });

  it('for any fetches first and final are what the first fetch after the end, and the first of a final day, brought', () => {
    const fetches = fc.array(
      fc.record({
        at: fc.integer({ min: HOUR, max: 12 * DAY }),
        digest: fc.constantFrom('a', 'b'),
      }),
      { maxLength: 80 },
    );
    fc.assert(
      fc.property(fetches, (all) => {
        const inOrder = all.toSorted((one, other) => one.at - other.at);
        const brought = inOrder.map(({ at, digest }) => seen(at, digest));
        const revisions = historyOf(...brought);
        const first = brought.find(({ ageDays }) => ageDays > 0);
        const final = brought.find(({ isFinal }) => isFinal);
        expect(digestOf(revisions, 'first')).toBe(first?.digest ?? null);
        expect(digestOf(revisions, 'final')).toBe(final?.digest ?? null);
        const known = knownAt(revisions, 'first')?.revision;
        if (known !== undefined && first !== undefined)
          expect(firstSeenAfterEnd(known)).toBeGreaterThanOrEqual(first.fetchedAt);
        expect(revisions.map(({ knownFrom }) => knownFrom)).toEqual(
          revisions.map(({ knownFrom }) => knownFrom).toSorted((a, b) => a - b),
        );
      }),
    );
  });
});

const revision = (knownFrom: number, more: Partial<Revision> = {}): Revision => ({
  id: knownFrom.toString(36),
  knownFrom,
  confirmedUntil: knownFrom,
  fetchedFrom: knownFrom,
  ageDays: 1,
  digest: `${knownFrom}`,
  schema: 's',
  generation: 'g',
  credential: 'c',
  rowCount: 1,
  part: 'p',
  hash: 'h',
  answerRows: 1,
  seq: 0,
  ...more,
});

const listOf =
  (revisions: readonly Revision[], isErased: Erasures['isErased'] = () => false) =>
  (wanted: RevisionsWanted) =>
    listRevisions(
      {
        enabled: true,
        isErased,
        onCut: () => {},
        days: {
          states: async (_series, dates) => dates.map(() => ({ asked: ['1'], report: null, revisions })),
          rows: async (_series, wanted) => wanted.map(() => null),
        },
      },
      wanted,
    );
const WANTED = { series: 's', dates: ['2026-11-01'], generation: 'g', isProven: true, rules: {} };

it('skips what is void, and says why; what follows is compared with what counts', async () => {
  const list = listOf([
    revision(1, { generation: 'old' }),
    revision(2),
    revision(3, { generation: 'old', credential: 'd' }),
    revision(4),
    revision(5, { credential: 'd' }),
  ]);
  const { days } = await list(WANTED);
  expect(days[0]?.revisions.map(({ kind, void: why }) => [kind, why])).toEqual([
    ['void', 'refuted'],
    ['first', null],
    ['void', 'refuted'],
    ['changed', null],
    ['method', null],
  ]);
  const unproven = await list({ ...WANTED, isProven: false });
  expect(unproven.days[0]?.revisions.map(({ void: why }) => why)).toEqual([
    ...['refuted', 'not_proven', 'refuted', 'not_proven', 'not_proven'],
  ]);
});

it('takes another column, or another kind of values in it, for another method, and a day without rows for none', () => {
  const shaped = (schema: string, columns: string[], types: string[], rowCount = 1) => ({
    revision: { schema, credential: 'c' },
    header: { columns, types, rowCount },
  });
  const one = shaped('1', ['date', 'spent'], ['t', '2']);
  expect(isSameMethod(one, shaped('2', ['spent', 'date'], ['4z', 't']))).toBe(true);
  expect(isSameMethod(one, shaped('2', [], [], 0))).toBe(true);
  expect(isSameMethod(one, shaped('2', ['date', 'spent', 'views'], ['t', '2', 'p']))).toBe(false);
  expect(isSameMethod(one, shaped('2', ['date', 'spent'], ['t', 't']))).toBe(false);
  const { header } = one;
  expect(isSameMethod(one, { revision: { schema: '1', credential: 'd' }, header })).toBe(false);
});

it('lists what was cut off as void, and nothing that was erased', async () => {
  const list = listOf([revision(1, { void: 'cut' }), revision(2), revision(3)], ({ seq }) => seq === 7);
  const { days } = await list(WANTED);
  expect(days[0]?.revisions.map(({ kind, void: why }) => [kind, why])).toEqual([
    ['void', 'cut'],
    ['first', null],
    ['changed', null],
  ]);
  const all = listOf([revision(1, { seq: 7 }), revision(2)], ({ seq }) => seq === 7);
  expect((await all(WANTED)).days[0]?.revisions.map(({ revision: { id } }) => id)).toEqual(['2']);
});
