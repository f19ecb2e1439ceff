/** What changed of a report by day and measure, from the revisions of its days. */
import { describe, expect, it } from 'vitest';
import { changedLines, namesIn, type Revisions } from '../../src/web/explorer/changed.js';
import { between } from '../../src/web/ui/format.js';

type Day = Revisions['data'][number];

const revision = (id: string, totals: Record<string, number | string> | null, more: object = {}) =>
  ({
    ...{ id, knownFrom: `2026-11-2${id}T08:00:00.000Z`, confirmedUntil: '', ageDays: 1 },
    ...{ kind: 'changed', rowCount: 1, totals },
    ...more,
  }) as Day['revisions'][number];
const told = (...data: Day[]) =>
  changedLines({ data }).map(({ date, measure, before, now, diff, why }) => [
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
    return changedLines({ data: [{ date: '2026-11-18', revisions }] })[0]?.after;
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
