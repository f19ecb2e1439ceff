import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { momentAt } from '../../src/simulator/days.js';
import type { Restatement } from '../../src/simulator/delivery.js';
import { DAY, NOON } from '../support/test-clock.js';
import { dayOf, identity, lately, plain, rowsAt, type Setting, settledAt, total, wholeOf } from './model.js';

describe('time', () => {
  it('never takes a number back', () => {
    fc.assert(
      fc.property(lately, fc.integer({ min: 0, max: 9 * DAY }), ([setting, query], later) => {
        const before = rowsAt(setting, query);
        const after = new Map(
          rowsAt({ ...setting, at: setting.at + later }, query).map((row) => [identity(row), row]),
        );
        for (const row of before) {
          const next = after.get(identity(row));
          for (const member of ['impressions', 'clicks', 'spent', 'reach'] as const) {
            expect(next?.[member]).toBeGreaterThanOrEqual(row[member]);
          }
        }
      }),
    );
  });

  it('leaves final days alone for ever', () => {
    fc.assert(
      fc.property(lately, fc.integer({ min: 0, max: 400 * DAY }), ([setting, query], later) => {
        const [advertiser = 0] = query.advertiserIds ?? [];
        const lastFinal = momentAt(setting.at, 'UTC').today - settledAt(setting, advertiser);
        const final = { ...query, from: Math.min(query.from, lastFinal), to: Math.min(query.to, lastFinal) };
        expect(rowsAt({ ...setting, at: setting.at + later }, final)).toEqual(rowsAt(setting, final));
      }),
    );
  });

  it.each([0, 1, 5])(
    'with %i restating days completes a day by whole days until it is final',
    (restateDays) => {
      const day = { ...wholeOf(1, '2026-11-21', '2026-11-21'), byDate: true };
      const onDay = (days: number) => rowsAt({ ...plain, restateDays, at: NOON + days * DAY }, day)[0];
      for (let age = 0; age <= restateDays; age++) {
        expect(onDay(age + 1)?.impressions).toBeGreaterThan(onDay(age)?.impressions ?? Number.NaN);
      }
      for (let age = 1; age <= restateDays; age++) {
        expect(onDay(age + 11 / 24)).toEqual(onDay(age - 11 / 24));
      }
      expect(onDay(restateDays + 100)).toEqual(onDay(restateDays + 1));
    },
  );

  it('moves today’s numbers every five minutes', () => {
    const today = { ...wholeOf(1, '2026-11-21', '2026-11-21'), byDate: true };
    const at = (minutes: number) => rowsAt({ ...plain, at: NOON + minutes * 60_000 }, today)[0]?.impressions;
    expect(at(4.9)).toBe(at(0));
    expect(at(5)).toBeGreaterThan(at(0) ?? Number.NaN);
  });
});

describe('a restatement', () => {
  const days = ['2026-10-01', '2026-10-20'] as const;
  const narrow: Restatement = {
    at: NOON,
    sequence: 1,
    advertiserId: 1,
    from: dayOf('2026-10-05'),
    to: dayOf('2026-10-07'),
  };

  it('raises every number of its days, once, and no other', () => {
    const restated: Setting = { ...plain, restatements: [narrow] };
    const query = { ...wholeOf(1, ...days), byDate: true };
    const before = rowsAt(plain, query);
    const after = rowsAt(restated, query);
    const changed = after.filter((row, index) => row.impressions !== before[index]?.impressions);
    expect(changed.map(({ date }) => date)).toEqual(['2026-10-05', '2026-10-06', '2026-10-07']);
    for (const [index, row] of after.entries()) {
      expect(row.impressions).toBeGreaterThanOrEqual(before[index]?.impressions ?? Number.NaN);
      expect(row.clicks).toBeLessThanOrEqual(row.impressions);
    }
    expect(rowsAt({ ...restated, at: NOON + 90 * DAY }, query)).toEqual(after);
    const sibling = { ...wholeOf(2, ...days), byDate: true };
    expect(rowsAt(restated, sibling)).toEqual(rowsAt(plain, sibling));
  });

  it('raises even the few impressions of the first minutes of a day', () => {
    const at = Date.parse('2026-11-21T00:00:00Z');
    const all = { ...wholeOf(1, '2026-11-21', '2026-11-21'), advertiserIds: undefined, byCampaign: true };
    const before = rowsAt({ ...plain, at }, all);
    const after = rowsAt({ ...plain, at, restatements: [{ at, sequence: 1 }] }, all);
    expect(Math.min(...before.map(({ impressions }) => impressions))).toBeLessThan(10);
    expect(after.map(identity)).toEqual(before.map(identity));
    expect(after.filter((row, index) => row.impressions <= (before[index]?.impressions ?? 0))).toEqual([]);
  });

  it('keeps every law of the data, however often it happens', () => {
    const times = fc.array(fc.record({ at: fc.constant(0), sequence: fc.nat(50) }), { maxLength: 4 });
    fc.assert(
      fc.property(lately, times, ([setting, query], restatements) => {
        const restated = { ...setting, restatements };
        const rows = rowsAt(restated, { ...query, byDate: true });
        const before = rowsAt(setting, { ...query, byDate: true });
        const unsplit = rowsAt(restated, { ...query, byDate: false, byCampaign: false });
        expect(rows.map(identity)).toEqual(before.map(identity));
        expect(total(unsplit, 'impressions')).toBe(total(rows, 'impressions'));
        for (const [index, row] of rows.entries()) {
          expect(row.impressions).toBeGreaterThanOrEqual(
            (before[index]?.impressions ?? 0) + restatements.length,
          );
          expect(row.clicks).toBeLessThanOrEqual(row.impressions);
          expect(row.reach).toBeLessThanOrEqual(row.impressions);
        }
      }),
    );
  });
});
