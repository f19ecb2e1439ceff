import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ADVERTISER_COUNT } from '../../src/simulator/catalogue.js';
import { lastStepOf } from '../../src/simulator/completion.js';
import { formatDay } from '../../src/simulator/days.js';
import { DAY, NOON } from '../support/test-clock.js';
import { catalogues, dayOf, plain, rowsAt, type Setting, total, wholeOf } from './model.js';

const curves: Setting = { ...plain, completion: 'curves' };
const ADVERTISERS = Array.from({ length: ADVERTISER_COUNT }, (_, index) => index + 1);
/** Days with delivery of every advertiser that has a campaign without end. */
const EVERGREEN = ADVERTISERS.slice(0, 10);

/** The ages at which a day of an advertiser shows other numbers than the day before. */
function changesOf(setting: Setting, advertiser: number, date: string): number[] {
  const at = (age: number) => Date.parse(`${date}T12:00:00Z`) + age * DAY;
  const query = { ...wholeOf(advertiser, date, date), byDate: true };
  const numbers = Array.from({ length: 47 }, (_, age) =>
    JSON.stringify(rowsAt({ ...setting, at: at(age) }, query)),
  );
  return numbers.flatMap((text, age) => (age > 0 && text !== numbers[age - 1] ? [age] : []));
}

describe('curves', () => {
  it.each([...catalogues.keys()])(
    'of seed %i let most advertisers complete by day 3, and some at day 28',
    (seed) => {
      const last = ADVERTISERS.map((advertiser) => lastStepOf(seed, advertiser));
      const share = (age: number) => last.filter((at) => at === age).length / last.length;
      expect([3, 7, 14, 28].map(share)).toEqual([0.7, 0.1, 0.1, 0.1]);
      for (const advertiser of EVERGREEN) {
        expect(Math.max(...changesOf({ ...curves, seed }, advertiser, '2026-09-02'))).toBe(
          lastStepOf(seed, advertiser),
        );
      }
    },
  );

  it('bring large steps until day 3, and then a small one every three to five days', () => {
    const slow = EVERGREEN.filter((advertiser) => lastStepOf(1, advertiser) === 28);
    expect(slow).not.toEqual([]);
    for (const advertiser of slow) {
      const ages = changesOf(curves, advertiser, '2026-09-02');
      expect(ages.slice(0, 3)).toEqual([1, 2, 3]);
      const late = ages.slice(3);
      expect(late.at(-1)).toBe(28);
      const gaps = late.slice(1).map((age, index) => age - (late[index] ?? 0));
      expect(new Set(gaps).size).toBe(1);
      expect([3, 4, 5]).toContain(gaps[0]);
      const impressions = (age: number) =>
        total(
          rowsAt({ ...curves, at: NOON + age * DAY }, wholeOf(advertiser, '2026-11-21', '2026-11-21')),
          'impressions',
        );
      const final = impressions(28);
      for (const age of late) {
        const step = impressions(age) - impressions(age - 1);
        expect(step / final).toBeLessThan(0.006);
      }
      expect((final - impressions(0)) / final).toBeGreaterThan(0.07);
    }
  });

  it('differ from seed to seed, and leave the numbers that they end at alone', () => {
    const long = { ...wholeOf(1, '2026-09-02', '2026-09-05'), byDate: true, byCampaign: true };
    expect(rowsAt(curves, long)).toEqual(rowsAt(plain, long));
    const last = (seed: number) => ADVERTISERS.map((advertiser) => lastStepOf(seed, advertiser)).join();
    expect(new Set([1, 2, 3, 4, 5].map(last)).size).toBeGreaterThan(1);
  });
});

describe('late rows', () => {
  const late: Setting = { ...plain, lateRows: 40 };
  const split = (from: string, to: string) => ({ ...wholeOf(1, from, to), byDate: true, byCampaign: true });

  it('are as many as asked for, and all there a week later', () => {
    const month = split('2026-10-22', '2026-11-21');
    const at = (age: number) => ({ at: NOON + age * DAY });
    expect(rowsAt({ ...late, ...at(12) }, month)).toEqual(rowsAt({ ...plain, ...at(12) }, month));
    let [shown, all] = [0, 0];
    for (let age = 0; age < 60; age++) {
      const date = formatDay(dayOf('2026-10-01') + age);
      const evening = Date.parse(`${date}T23:00:00Z`);
      shown += rowsAt({ ...late, at: evening }, split(date, date)).length;
      all += rowsAt({ ...plain, at: evening }, split(date, date)).length;
    }
    expect(shown / all).toBeGreaterThan(0.45);
    expect(shown / all).toBeLessThan(0.75);
  });

  it('appear whole, one to six days after their day, and stay', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 9 }), (shift, age) => {
        const date = formatDay(dayOf('2026-01-01') + shift);
        const at = Date.parse(`${date}T12:00:00Z`) + age * DAY;
        const shown = rowsAt({ ...late, at }, split(date, date));
        const all = rowsAt({ ...plain, at }, split(date, date));
        expect(all).toEqual(expect.arrayContaining(shown));
        if (age >= 6) expect(shown).toEqual(all);
        const next = rowsAt({ ...late, at: at + DAY }, split(date, date)).map(({ campaignId }) => campaignId);
        expect(next).toEqual(expect.arrayContaining(shown.map(({ campaignId }) => campaignId)));
      }),
    );
  });

  it('are none at 0, and everybody’s at 100', () => {
    const today = split('2026-11-21', '2026-11-21');
    expect(rowsAt({ ...late, lateRows: 100 }, today)).toEqual([]);
    expect(rowsAt(plain, today)).not.toEqual([]);
  });
});

describe('viewable impressions', () => {
  it('are impressions, and sum over days and campaigns as those do', () => {
    const setting: Setting = { ...curves, lateRows: 40, tellsViewable: true };
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: -40, max: 40 }), (advertiser, shift) => {
        const to = formatDay(dayOf('2026-11-21') + shift);
        const query = { ...wholeOf(advertiser, '2026-09-20', to) };
        const whole = rowsAt(setting, query);
        for (const split of [{ byDate: true }, { byCampaign: true }, { byDate: true, byCampaign: true }]) {
          const rows = rowsAt(setting, { ...query, ...split });
          expect(total(rows, 'viewableImpressions')).toBe(total(whole, 'viewableImpressions'));
          for (const { viewableImpressions = -1, impressions } of rows) {
            expect(viewableImpressions).toBeGreaterThanOrEqual(0);
            expect(viewableImpressions).toBeLessThanOrEqual(impressions);
          }
        }
      }),
    );
  });
});
