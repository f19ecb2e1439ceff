/** What was seen first of a day, and what was seen when it was final: an oracle that notes each fetch says the same. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  believed,
  knownAt,
  noteFetch,
  type Revisions,
  type SeenDay,
  seenOverFrom,
} from '../../../src/reports/history/revision.js';
import { DAY, HOUR, MINUTE } from '../../support/test-clock.js';

/** Age in days at which a day is final. */
const FINAL_AGE = 6;

/** @param at since the day began */
function seen(at: number, digest: string, change: Partial<SeenDay> = {}): SeenDay {
  const ageDays = Math.floor((at - 50) / DAY);
  return {
    ...{ fetchedFrom: at - 50, fetchedAt: at, ageDays, digest, schema: 's', generation: 'g' },
    ...{ credential: null, rowCount: 2, answerRows: 2, seq: 0, bytes: 100 },
    ...{ unconfirmed: false, isFinal: ageDays >= FINAL_AGE },
    ...change,
  };
}

function historyOf(...fetches: readonly SeenDay[]): Revisions {
  return fetches.reduce<Revisions>((before, one) => {
    const noted = noteFetch(before, one);
    return 'revisions' in noted ? noted.revisions : before;
  }, []);
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
    expect(seenOverFrom(first as NonNullable<typeof first>)).toBe(DAY + MINUTE);
  });

  it('is nothing while the day was seen before its end only, or is empty and not confirmed', () => {
    expect(digestOf(historyOf(seen(DAY - HOUR, 'a')), 'first')).toBeNull();
    const empty = { rowCount: 0, unconfirmed: true };
    expect(digestOf(historyOf(seen(DAY + HOUR, '', empty)), 'first')).toBeNull();
    expect(digestOf(historyOf(seen(DAY + HOUR, '', empty), seen(DAY + 2 * HOUR, '')), 'first')).toBe('');
  });
});

describe('what was final of a day', () => {
  it('is stamped by the first fetch that sees it final, with the same rows and within the hour', () => {
    const provisional = seen(FINAL_AGE * DAY - MINUTE, 'a');
    const noted = noteFetch(historyOf(provisional), seen(FINAL_AGE * DAY + MINUTE, 'a'));
    expect(noted.kind).toBe('confirmed');
    const revisions = historyOf(provisional, seen(FINAL_AGE * DAY + MINUTE, 'a'));
    expect(knownAt(revisions, 'final')?.revision.finalFrom).toBe(FINAL_AGE * DAY + MINUTE);
    expect(noteFetch(revisions, seen(FINAL_AGE * DAY + 2 * MINUTE, 'a')).kind).toBe('known');
  });

  it('stays what it is when the platform changes it later', () => {
    const revisions = historyOf(seen(7 * DAY, 'a'), seen(20 * DAY, 'b'), seen(30 * DAY, 'c'));
    expect(digestOf(revisions, 'final')).toBe('a');
    expect(revisions.filter(({ finalFrom }) => finalFrom !== undefined)).toHaveLength(1);
  });

  it('is stamped anew where what was final is void', () => {
    const [cut, ...none] = historyOf(seen(7 * DAY, 'a'));
    expect(none).toEqual([]);
    const voided = [{ ...(cut as NonNullable<typeof cut>), void: 'cut' as const }];
    const noted = noteFetch(voided, seen(8 * DAY, 'b'));
    const kept = 'revisions' in noted ? noted.revisions : [];
    expect(knownAt(believed(kept, 'g'), 'final')?.revision).toMatchObject({
      digest: 'b',
      finalFrom: 8 * DAY,
    });
  });

  it('is stamped anew where the kind was proven anew, for what was before is believed no more', () => {
    const revisions = historyOf(seen(7 * DAY, 'a'), seen(8 * DAY, 'a', { generation: 'h' }));
    expect(knownAt(believed(revisions, 'h'), 'final')?.revision.finalFrom).toBe(8 * DAY);
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
        expect(seenOverFrom(known)).toBeGreaterThanOrEqual(first.fetchedAt);
      expect(revisions.map(({ knownFrom }) => knownFrom)).toEqual(
        revisions.map(({ knownFrom }) => knownFrom).toSorted((a, b) => a - b),
      );
    }),
  );
});
