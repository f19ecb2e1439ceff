/** What a write of a month tells: of each day the newest revision that history shows, before and after. */
import { describe, expect, it } from 'vitest';
import { type FetchedMonth, noteFetch, type OpenMonth } from '../../../src/reports/days/note-fetch.js';
import { emptyMonth } from '../../../src/reports/days/open-months.js';
import { unrecorded, withoutEarlier } from '../../../src/reports/days/room.js';
import type { DayChange } from '../../../src/reports/feed/entry.js';
import { changesOf } from '../../../src/reports/feed/month-changes.js';
import type { Revision } from '../../../src/reports/history/revision.js';
import { NOON } from '../../support/test-clock.js';
import { fetchOf, type SaidDay } from '../days/fetches.js';
import { RULES } from '../rows/entries.js';

const EMPTY = emptyMonth('bounded');
/** Of the revision that a fetch brings. */
const idOf = (at: number) => (NOON + at).toString(36);

const noting = (before: OpenMonth, at: number, days: readonly SaidDay[], more: Partial<FetchedMonth> = {}) =>
  noteFetch(before, fetchOf(at, days, more)).month;

/** In short: `05 restated 1>2 FA`. */
function inShort({ day, kind, before, revision, isFinal, afterFinal, isMethod }: DayChange): string {
  const atOf = (id: string | null) => (id === null ? '-' : Number.parseInt(id, 36) - NOON);
  const flags = `${isFinal ? 'F' : ''}${afterFinal ? 'A' : ''}${isMethod ? 'M' : ''}`;
  return `${day} ${kind} ${atOf(before)}>${atOf(revision)} ${flags}`.trimEnd();
}
const told = (...[before, now, cause]: Parameters<typeof changesOf>) =>
  changesOf(before, now, cause).map(inShort);

function withLatest(month: OpenMonth, day: number, change: Partial<Revision>): OpenMonth {
  const line = month.days.get(day);
  if (line?.latest == null) throw new Error(`day ${day} has no revision`);
  const latest = { ...line.latest, ...change };
  return { ...month, days: new Map(month.days).set(day, { ...line, latest }) };
}

const generation = (name: string) => ({
  splitFrom: { from: '', to: '', sortedHash: 'rows-1', generation: name },
});

/** Days from the 16th on are not final on the 21st. */
const OPEN: SaidDay = { day: 20, spent: 1 };
const OVER: SaidDay = { day: 5, spent: 1 };
const LONGER = { rules: { ...RULES, restatementDays: 30 } };

describe('a fetch', () => {
  const first = noting(EMPTY, 1, [OPEN, OVER]);

  it('that brings days for the first time tells them, by day, and which are final', () => {
    expect(told(EMPTY, first)).toEqual(['5 first ->1 F', '20 first ->1']);
    expect(changesOf(EMPTY, first)[0]).toEqual({
      day: 5,
      revision: idOf(1),
      before: null,
      kind: 'first',
      isFinal: true,
      afterFinal: false,
      isMethod: false,
    });
  });

  it('that brings the same rows tells nothing', () => {
    expect(told(first, noting(first, 2, [OPEN, OVER]))).toEqual([]);
  });

  it('that brings other rows tells of the days that changed, and which were final before', () => {
    expect(told(first, noting(first, 2, [OPEN, { ...OVER, spent: 2 }]))).toEqual(['5 restated 1>2 FA']);
    expect(told(first, noting(first, 2, [{ ...OPEN, spent: 2 }, OVER]))).toEqual(['20 restated 1>2']);
  });

  it('with another token or other columns tells that the method changed; without rows columns are no method', () => {
    const token = { credential: 'other' };
    expect(told(first, noting(first, 2, [{ ...OPEN, spent: 2 }], token))).toEqual(['20 restated 1>2 M']);
    const columns = { ...OPEN, spent: 2, more: { columns: ['date'] } };
    expect(told(first, noting(first, 2, [columns]))).toEqual(['20 restated 1>2 M']);
    const none = { ...OPEN, spent: 0, more: { columns: [] } };
    expect(told(first, noting(first, 2, [none]))).toEqual(['20 restated 1>2']);
  });

  it('that finds a day past its window tells that it is final, also with the same rows, and once', () => {
    const open = noting(EMPTY, 1, [OVER], LONGER);
    expect(told(EMPTY, open)).toEqual(['5 first ->1']);
    const final = noting(open, 2, [OVER]);
    expect(told(open, final)).toEqual(['5 final 1>1 F']);
    expect(told(final, noting(final, 3, [OVER]))).toEqual([]);
    expect(told(open, noting(open, 2, [{ ...OVER, spent: 2 }]))).toEqual(['5 restated 1>2 F']);
  });

  it('after the window grew tells that the day is open again, and later that it is final again', () => {
    const reopened = noting(first, 2, [OVER], LONGER);
    expect(told(first, reopened)).toEqual(['5 reopened 1>1']);
    expect(told(reopened, noting(reopened, 3, [OVER]))).toEqual(['5 final 1>1 F']);
    expect(told(first, noting(first, 2, [{ ...OVER, spent: 2 }], LONGER))).toEqual(['5 restated 1>2 A']);
  });

  it('that is not confirmed as empty tells the day as history has it, and not as final', () => {
    const empty = (at: number, tail: 'unconfirmed' | 'confirmed', before = first) =>
      noting(before, at, [{ ...OVER, spent: 0, more: { emptyTail: tail } }]);
    const doubted = empty(2, 'unconfirmed');
    expect(told(first, doubted)).toEqual(['5 restated 1>2 A']);
    const confirmed = empty(3, 'confirmed', doubted);
    expect(told(doubted, confirmed)).toEqual(['5 final 2>2 F']);
    expect(told(confirmed, empty(4, 'unconfirmed', confirmed))).toEqual([]);
  });

  it('whose answer is flawed, or that is late, tells nothing', () => {
    const flaws = [{ code: 'rows_capped', rows: 1 }] as const;
    expect(told(first, noting(first, 2, [{ ...OPEN, spent: 2, more: { flaws } }]))).toEqual([]);
    const newer = noting(first, 3, [{ ...OPEN, spent: 3 }]);
    expect(told(newer, noting(newer, 2, [{ ...OPEN, spent: 2 }]))).toEqual([]);
  });

  it('that history does not record tells nothing, and takes nothing back', () => {
    const off = { isRecorded: false };
    const cached = noting(EMPTY, 1, [OPEN], off);
    expect(told(EMPTY, cached)).toEqual([]);
    expect([cached.report, cached.told]).toEqual([null, null]);
    expect(told(cached, noting(cached, 2, [OPEN], off))).toEqual([]);
    expect(told(cached, noting(cached, 2, [OPEN]))).toEqual(['20 first ->2']);
    expect(told(first, noting(first, 2, [{ ...OPEN, spent: 2 }, OVER], off))).toEqual([]);
  });

  it('with several others in one write tells the difference of all', () => {
    const second = noting(first, 2, [{ ...OPEN, spent: 2 }]);
    const third = noting(second, 3, [
      { ...OPEN, spent: 3 },
      { ...OVER, spent: 3 },
    ]);
    expect(told(first, third)).toEqual(['5 restated 1>3 FA', '20 restated 1>3']);
  });
});

describe('a kind', () => {
  const unproven = noting(EMPTY, 1, [OPEN, OVER], { tells: undefined });

  it('that is not proven tells nothing; a fetch after its proof tells all days of the month', () => {
    expect(told(EMPTY, unproven)).toEqual([]);
    const proven = noting(unproven, 2, [{ ...OPEN, spent: 2 }]);
    expect(told(unproven, proven)).toEqual(['5 first ->1 F', '20 first ->2']);
  });

  it('that is being proven again stays as it was told', () => {
    const first = noting(EMPTY, 1, [OPEN]);
    expect(told(first, noting(first, 2, [OPEN], { tells: undefined }))).toEqual([]);
  });

  it('that was refuted takes back all days; a fetch of the next proof tells those that it brings', () => {
    const first = noting(EMPTY, 1, [OPEN, OVER]);
    const refuted = noting(first, 2, [{ ...OPEN, more: generation('h') }], { tells: null });
    expect(told(first, refuted)).toEqual(['5 void 1>-', '20 void 1>-']);
    const proven = noting(refuted, 3, [{ ...OPEN, more: generation('h') }], { tells: 'h' });
    expect(told(refuted, proven)).toEqual(['20 first ->2']);
  });

  it('whose generation changed stays as it was told while earlier states of other days are not at hand', () => {
    const twice = noting(noting(EMPTY, 1, [OVER]), 2, [{ ...OVER, spent: 2 }]);
    const known: OpenMonth = { ...twice, before: new Map() };
    const days = [{ ...OPEN, more: generation('h') }];
    const apart = noting(known, 3, days, { tells: 'h' });
    expect([apart.told, told(known, apart)]).toEqual(['g', []]);
    const whole = noting(twice, 3, days, { tells: 'h' });
    expect([whole.told, told(twice, whole)]).toEqual(['h', ['5 void 2>-', '20 first ->3']]);
  });
});

describe('a revision that is void', () => {
  const one = noting(EMPTY, 1, [OVER]);
  const two = noting(one, 2, [{ ...OVER, spent: 2 }]);

  it('leaves the one before it, and nothing where there is none', () => {
    expect(told(one, withLatest(one, 5, { void: 'cut' }))).toEqual(['5 void 1>-']);
    expect(told(two, withLatest(two, 5, { void: 'cut' }))).toEqual(['5 void 2>1']);
  });

  it('is followed by the next one as a restatement of what was left', () => {
    const cut = withLatest(two, 5, { void: 'cut' });
    expect(told(cut, noting(cut, 3, [{ ...OVER, spent: 3 }]))).toEqual(['5 restated 1>3 F']);
  });
});

describe('days that leave', () => {
  const first = noting(EMPTY, 1, [OPEN, OVER]);
  const gone = (...days: number[]): OpenMonth => ({
    ...first,
    days: new Map([...first.days].filter(([day]) => !days.includes(day))),
  });

  it('with their advertiser are erased', () => {
    expect(told(first, gone(5), 'erased')).toEqual(['5 erased 1>-']);
  });

  it('leave nothing to take back when they are fetched again after retention or for lack of room', () => {
    const twice = noting(first, 2, [{ ...OVER, spent: 2 }]);
    const past = unrecorded(twice);
    expect(told(past, noting(past, 3, [{ ...OVER, spent: 2 }]))).toEqual(['5 first ->3 F']);
    const tight = withoutEarlier(twice);
    expect(told(tight, noting(tight, 3, [{ ...OVER, spent: 3 }]))).toEqual(['5 restated 2>3 FA']);
  });
});
