/** What changed of a report by day and measure, from the revisions of its days. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  changedLines,
  instantFrom,
  isNamed,
  knownSince,
  momentsOf,
  namesIn,
  pinIn,
  type Revisions,
  sumsBetween,
} from '../../src/web/explorer/changed.js';
import { between } from '../../src/web/ui/format.js';

type Day = Revisions['data'][number];

const revision = (id: string, totals: Record<string, number | string> | null, more: object = {}) =>
  ({
    ...{ id, knownFrom: `2026-11-2${id}T08:00:00.000Z`, confirmedUntil: '', ageDays: 1 },
    ...{ kind: 'changed', rowCount: 1, totals },
    ...more,
  }) as Day['revisions'][number];
const ALWAYS = { from: null, to: null };
const told = (...data: Day[]) =>
  changedLines({ data }, ALWAYS).map(({ date, measure, before, now, diff, why }) => [
    date.slice(8),
    measure,
    before,
    now,
    diff,
    why,
  ]);

it('ids of rows have the names beside them', () => {
  const rows = [
    { campaignId: 1, campaignName: 'Spring', advertiserId: 7 },
    { campaignId: 2, campaignName: '' },
  ];
  expect([...namesIn(rows)]).toEqual([['campaignId 1', 'Spring']]);
});

describe('a change of a day', () => {
  const earliest = (confirmedUntil: string) => {
    const revisions = [revision('0', { spent: 1 }, { confirmedUntil }), revision('1', { spent: 2 })];
    return changedLines({ data: [{ date: '2026-11-18', revisions }] }, ALWAYS)[0]?.after;
  };

  it('was made after the numbers before were last fetched, and before it was seen', () => {
    expect(earliest('2026-11-20T19:00:00.000Z')).toBe('2026-11-20T19:00:00.000Z');
    // The hour of that began before they were known.
    expect(earliest('2026-11-20T07:00:00.000Z')).toBe('2026-11-20T08:00:00.000Z');
    expect(earliest('2026-11-21T08:00:00.000Z')).toBeNull();
  });

  it('is told with its day once, if both ends have the same', () => {
    expect(between('2026-11-20T02:00:00Z', '2026-11-20T14:00:00Z')).toBe(
      'between 2026-11-20 02:00 and 14:00 UTC',
    );
    expect(between('2026-11-20T02:00:00Z', '2026-11-21T14:00:00Z')).toBe(
      'between 2026-11-20 02:00 and 2026-11-21 14:00 UTC',
    );
  });
});

describe('the changes of days', () => {
  it('are told by measure, newest first, with both values and their difference', () => {
    const first = { date: '2026-11-17', revisions: [revision('0', { spent: 10, clicks: 5 })] };
    const twice = {
      date: '2026-11-18',
      revisions: [
        revision('0', { spent: 10, clicks: 5 }),
        revision('1', { spent: '10.5', clicks: 5 }),
        revision('3', { spent: 11, clicks: 4 }),
      ],
    };
    const once = {
      date: '2026-11-19',
      revisions: [revision('0', { spent: 0 }), revision('1', { spent: 2, views: 1 })],
    };
    expect(told(first, twice, once)).toEqual([
      ['18', 'spent', 10.5, 11, 0.5, 'corrected'],
      ['18', 'clicks', 5, 4, -1, 'corrected'],
      ['19', 'spent', 0, 2, 2, 'corrected'],
      ['19', 'views', null, 1, null, 'corrected'],
      ['18', 'spent', 10, 10.5, 0.5, 'corrected'],
    ]);
  });

  it('pass over what was never right, and say where another token, other rows or missing sums are the reason', () => {
    const revisions = [
      revision('0', { spent: 1 }),
      revision('1', null, { kind: 'void', void: 'cut' }),
      revision('2', { spent: 3 }, { kind: 'method' }),
      revision('3', { spent: 3 }),
      revision('4', null),
    ];
    expect(told({ date: '2026-11-18', revisions })).toEqual([
      ['18', null, null, null, null, 'not kept'],
      ['18', null, null, null, null, 'rows'],
      ['18', 'spent', 1, 3, 2, 'method'],
    ]);
  });
});

it('the moments of an address are names, times or a pin; named ones begin at midnight UTC', () => {
  const now = Date.parse('2026-03-01T23:59:00Z');
  const instants = ['yesterday', 'week', '2026-02-03T04:05', ''].map((from) => instantFrom(from, now));
  expect(instants).toEqual(['2026-02-28T00:00:00Z', '2026-02-22T00:00:00Z', '2026-02-03T04:05:00Z', '']);
  expect(momentsOf('first,latest')).toEqual({ from: '', to: '' });
  expect(momentsOf('pin-1,2026-02-03T04:05')).toEqual({ from: 'pin-1', to: '2026-02-03T04:05' });
  const places = ['', 'first,latest', 'yesterday,latest', 'week,2026-02-03T04:05', 'pin-1,latest'];
  expect(places.map(isNamed)).toEqual([true, true, true, false, false]);
  const pins = places.map((place) => pinIn(momentsOf(place).from));
  expect(pins).toEqual([null, null, null, null, 'pin-1']);
});

describe('since a moment', () => {
  const day = (date: string, ...revisions: Day['revisions']): Day => ({ date, revisions });
  const at = (text: string) => Date.parse(`2026-11-${text}:00Z`);
  const data = [
    day('2026-11-17', revision('0', { spent: 10, clicks: 5 }), revision('2', { spent: '10.5', clicks: 5 })),
    day('2026-11-18', revision('0', { spent: 1 }), revision('1', { spent: 2 }), revision('3', { spent: 4 })),
    day('2026-11-19', revision('2', { spent: 100 }), revision('3', null, { void: 'cut' })),
    day('2026-11-20'),
  ];

  it('the changes are those seen after it, until the other', () => {
    const dates = (from: number | null, to: number | null) =>
      changedLines({ data }, { from, to }).map(({ date, now }) => [date.slice(8), now]);
    expect(dates(null, null)).toEqual([
      ['18', 4],
      ['17', 10.5],
      ['18', 2],
    ]);
    expect(dates(at('22T00:00'), null)).toEqual([
      ['18', 4],
      ['17', 10.5],
    ]);
    expect(dates(at('21T08:00'), at('22T08:00'))).toEqual([['17', 10.5]]);
  });

  it('the totals are of the days known then, before and now, and say how many days they leave out', () => {
    const sums = (from: number | null, to: number | null = null) => sumsBetween({ data }, { from, to });
    expect(sums(null)).toEqual({
      days: 3,
      left: 0,
      sums: [
        { measure: 'spent', before: 111, now: 114.5, diff: 3.5, percent: (3.5 / 111) * 100 },
        { measure: 'clicks', before: 5, now: 5, diff: 0, percent: 0 },
      ],
    });
    expect(sums(at('21T09:00'))).toMatchObject({ days: 2, left: 1, sums: [{ before: 12, now: 14.5 }, {}] });
    expect(sums(at('20T09:00'), at('21T09:00'))).toMatchObject({
      ...{ days: 2, left: 0 },
      sums: [{ before: 11, now: 12 }, {}],
    });
    const lost = [day('2026-11-17', revision('0', null), revision('1', { spent: 1 }))];
    expect(sumsBetween({ data: lost }, ALWAYS)).toEqual({ days: 0, left: 1, sums: [] });
  });

  it('the totals lead from one to the other by the changes of the days', () => {
    const values = fc.array(fc.nat(1000), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(values, { maxLength: 6 }), (days) => {
        const known = days.map((of, index) =>
          day(`2026-11-0${index}`, ...of.map((spent, turn) => revision(String(turn), { spent }))),
        );
        const [total] = sumsBetween({ data: known }, ALWAYS).sums;
        const diffs = changedLines({ data: known }, ALWAYS).map(({ diff }) => diff ?? 0);
        expect(total?.diff ?? 0).toBe(diffs.reduce((sum, diff) => sum + diff, 0));
      }),
    );
  });

  it('the days are known from the first fetch of the first to that of the last', () => {
    expect(knownSince({ data })).toEqual(['2026-11-20T08:00:00.000Z', '2026-11-22T08:00:00.000Z']);
    expect(knownSince({ data: [day('2026-11-20')] })).toBeNull();
  });
});
