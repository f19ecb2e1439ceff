import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countPeople, type Run, reachedOn } from '../../src/simulator/audience.js';
import type { TruthRow } from '../../src/simulator/truth.js';
import { catalogues, lately, plain, rowsAt, total, wholeOf } from './model.js';

describe('reach', () => {
  it('of a union is between its largest part and the sum of its parts', () => {
    fc.assert(
      fc.property(lately, ([setting, query]) => {
        const whole = rowsAt(setting, { ...query, byDate: false, byCampaign: false })[0]?.reach ?? Number.NaN;
        const days = rowsAt(setting, { ...query, byDate: true, byCampaign: false });
        const campaigns = rowsAt(setting, { ...query, byDate: false, byCampaign: true });
        const cells = rowsAt(setting, { ...query, byDate: true, byCampaign: true });
        for (const parts of [days, campaigns, cells]) expectUnion(whole, parts);
        for (const day of days)
          expectUnion(
            day.reach,
            cells.filter(({ date }) => date === day.date),
          );
        for (const { campaignId, reach } of campaigns) {
          expectUnion(
            reach,
            cells.filter((cell) => cell.campaignId === campaignId),
          );
        }
      }),
    );
  });

  it.each([1, 2, 3, 4, 5])(
    'of advertiser %i repeats people: the total is less than the sum of days',
    (advertiser) => {
      const month = wholeOf(advertiser, '2026-10-01', '2026-10-30');
      const whole = rowsAt(plain, month)[0]?.reach ?? Number.NaN;
      const days = rowsAt(plain, { ...month, byDate: true });
      expect(days).toHaveLength(30);
      expect(whole).toBeLessThan(0.9 * total(days, 'reach'));
      expect(whole).toBeGreaterThan(Math.max(...days.map(({ reach }) => reach)));
    },
  );

  it('is the exact count of different people', () => {
    const people = fc.integer({ min: 1, max: 60 });
    const run = fc
      .tuple(people, people)
      .map(([a, b]): Run => ({ first: Math.min(a, b), end: Math.max(a, b) }));
    fc.assert(
      fc.property(fc.array(run, { maxLength: 12 }), (runs) => {
        const everybody = new Set(runs.flatMap(peopleOf));
        expect(countPeople([...runs])).toBe(everybody.size);
      }),
    );
  });

  it('of a campaign’s day only gains people as impressions rise, and never has more people than those', () => {
    const [campaign] = catalogues.get(1)?.get(4)?.campaigns ?? [];
    if (!campaign) throw new Error('advertiser 4 has a campaign');
    const impressions = fc.integer({ min: 0, max: 3000 });
    fc.assert(
      fc.property(impressions, impressions, fc.integer({ min: 19_000, max: 21_000 }), (a, b, day) => {
        const people = 500; // few, so that runs pass the last person and overlap
        const fewer = new Set(reachedOn(1, campaign, day, Math.min(a, b), people).flatMap(peopleOf));
        const more = new Set(reachedOn(1, campaign, day, Math.max(a, b), people).flatMap(peopleOf));
        expect(fewer.size).toBeLessThanOrEqual(Math.min(a, b));
        expect([...fewer].filter((person) => !more.has(person))).toEqual([]);
        expect([...more].every((person) => person >= 0 && person < people)).toBe(true);
      }),
    );
  });
});

function expectUnion(union: number, parts: readonly TruthRow[]): void {
  expect(union).toBeLessThanOrEqual(total(parts, 'reach'));
  expect(union).toBeGreaterThanOrEqual(Math.max(0, ...parts.map(({ reach }) => reach)));
}

function peopleOf({ first, end }: Run): number[] {
  return Array.from({ length: end - first }, (_, index) => first + index);
}
