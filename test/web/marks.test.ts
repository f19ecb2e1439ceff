/** Which days of a report are marked: those that the platform still completes, and of an earlier time those that changed since. */
import { expect, it } from 'vitest';
import type { Revisions } from '../../src/web/explorer/changed.js';
import { laterOf, laterWords, marksOf } from '../../src/web/explorer/marks.js';
import { allColumnsOf } from '../../src/web/explorer/measures.js';
import type { Meta } from '../../src/web/explorer/parse.js';

const THEN = '2026-11-20T08:00:00.000Z';
const meta = { firstProvisionalDate: '2026-11-17', knownAt: THEN } as Meta;
const DAYS = ['2026-11-16', '2026-11-17', '2026-11-18', '2026-11-19'];
const rows = DAYS.map((date) => ({ date }));

/** A day with numbers known from a day of November on; each is confirmed until the next one, the last until `until`. */
const day = (date: string, until: string, ...known: [from: string, spent: number][]) => ({
  date,
  revisions: known.map(([from, spent], index) => ({
    ...{ id: from, kind: index === 0 ? 'first' : 'changed', ageDays: 1, totals: { spent } },
    knownFrom: `2026-11-${from}T06:00:00.000Z`,
    confirmedUntil: `2026-11-${known[index + 1]?.[0] ?? until}T05:00:00.000Z`,
  })),
});

const marked = (asOf: string, later: ReturnType<typeof laterOf>) => {
  const { of, words } = marksOf({ rows, meta }, { asOf }, later);
  return [...DAYS.map((date) => of([date])), words];
};

const later = laterOf(
  {
    data: [
      day('2026-11-16', '25', ['18', 1], ['22', 2]),
      day('2026-11-17', '25', ['18', 1]),
      day('2026-11-18', '20', ['19', 1]),
      day('2026-11-19', '25', ['20', 10], ['22', 12.5]),
    ],
  } as unknown as Revisions,
  meta,
);

it('of now the days that the platform still completes are marked', () => {
  expect(marked('', null)).toEqual([null, 'provisional', 'provisional', 'provisional', 'provisional days']);
  const { of } = marksOf({ rows, meta }, { asOf: '' }, null);
  expect([of(DAYS), of(DAYS.slice(0, 1))]).toEqual(['provisional', null]);
});

it('of an earlier time the days that changed since are marked, and those not complete then that were not fetched again', () => {
  expect(marked(THEN, later)).toEqual([
    'changed later',
    null,
    'may have changed later',
    'changed later',
    'days that changed later, or may have',
  ]);
  const { of } = marksOf({ rows, meta }, { asOf: THEN }, later);
  expect(of(DAYS)).toBe('changed later');
});

it('of an earlier time of which nothing is known since, the days not complete then are marked', () => {
  const may = 'may have changed later';
  expect(marked(THEN, null)).toEqual([null, may, may, may, `days that ${may}`]);
  expect(laterOf({ data: [] }, meta)).toBeNull();
});

it('a day that was complete then is not marked, though an earlier one was not complete', () => {
  const days = [
    { date: '2026-11-17', final: false },
    { date: '2026-11-18', final: true },
  ];
  const { of } = marksOf({ rows, meta: { ...meta, days } as unknown as Meta }, { asOf: THEN }, null);
  expect(['2026-11-17', '2026-11-18'].map((date) => of([date]))).toEqual(['may have changed later', null]);
});

it('a day first fetched later says nothing of that time', () => {
  const data = [day('2026-11-16', '25', ['21', 1], ['22', 2])];
  expect(laterOf({ data } as unknown as Revisions, meta)).toBeNull();
});

it('the change of a day is told with the numbers of both times', () => {
  const [spent] = allColumnsOf([{ spent: 1 }]).measures;
  if (spent === undefined) throw new Error('no column');
  expect(laterWords(later?.get('2026-11-19'), spent, 'USD')).toBe('Spent of the day: $10 then, $12.5 now');
  expect(laterWords(later?.get('2026-11-17'), spent, 'USD')).toBeNull();
  expect(laterWords(undefined, spent, 'USD')).toBeNull();
});
