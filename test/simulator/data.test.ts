/** What the oracles of other tests rely on: sums, reach, and how numbers change with time. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ADVERTISER_COUNT, buildCatalogue } from '../../src/simulator/catalogue.js';
import { lastStepOf } from '../../src/simulator/completion.js';
import { formatDay, momentAt } from '../../src/simulator/days.js';
import type { TruthQuery } from '../../src/simulator/simulator-api.js';
import { reportRows, type TruthRow } from '../../src/simulator/truth.js';
import { createStandingClock, DAY, NOON } from '../support/test-clock.js';
import {
  catalogues,
  dayOf,
  identity,
  lately,
  money,
  plain,
  rowsAt,
  type Setting,
  settledAt,
  sourceAt,
  total,
  wholeOf,
} from './model.js';
import { rowsOf, start } from './support.js';

const SUMS = ['impressions', 'clicks'] as const;

describe('the data', () => {
  it('follows from seed, question, time and restatements alone', () => {
    fc.assert(
      fc.property(lately, ([setting, query]) => {
        const again = reportRows({ ...sourceAt(setting), catalogue: buildCatalogue(setting.seed) }, query);
        expect(again).toEqual(rowsAt(setting, query));
      }),
    );
  });

  it('sums over campaigns and over days to the same numbers, and of reach has no more than those', () => {
    fc.assert(
      fc.property(lately, ([setting, query]) => {
        const splits = [
          ...[
            { byDate: true, byCampaign: false },
            { byDate: false, byCampaign: true },
          ],
          { byDate: true, byCampaign: true },
        ];
        const [whole] = rowsAt(setting, { ...query, byDate: false, byCampaign: false });
        if (whole === undefined) throw new Error('a row of zeros at least');
        for (const split of splits) {
          const rows = rowsAt(setting, { ...query, ...split });
          for (const member of setting.tellsViewable ? ([...SUMS, 'viewableImpressions'] as const) : SUMS)
            expect(total(rows, member)).toBe(total([whole], member));
          expect(money(rows)).toBe(money([whole]));
          expectUnion(whole.reach, rows);
        }
      }),
    );
  });

  it('has impressions ≥ clicks ≥ 0, 0 ≤ reach ≤ impressions, no day to come, and no row without delivery', () => {
    fc.assert(
      fc.property(lately, ([setting, query]) => {
        const today = formatDay(momentAt(setting.at, 'UTC').today);
        for (const { date = '', ...row } of rowsAt(setting, { ...query, byDate: true })) {
          expect(row.clicks).toBeGreaterThanOrEqual(0);
          expect(row.impressions).toBeGreaterThanOrEqual(Math.max(1, row.clicks, row.reach));
          expect(row.spent).toBe(Number(row.spent.toFixed(4)));
          expect(date !== '' && date <= today).toBe(true);
        }
      }),
    );
  });

  it('repeats people from day to day: reach is less than the sum of days', () => {
    const month = wholeOf(1, '2026-10-01', '2026-10-30');
    const days = rowsAt(plain, { ...month, byDate: true });
    expect(rowsAt(plain, month)[0]?.reach).toBeLessThan(0.9 * total(days, 'reach'));
  });

  it('of all children is that of each of them, and of some campaigns that of those alone', () => {
    const query = { ...wholeOf(1, '2026-11-10', '2026-11-12'), byCampaign: true };
    const each = Array.from({ length: ADVERTISER_COUNT }, (_, index) =>
      rowsAt(plain, { ...query, advertiserIds: [index + 1] }),
    ).flat();
    const all = rowsAt(plain, { ...query, advertiserIds: undefined });
    expect(all.map(identity).toSorted()).toEqual(each.map(identity).toSorted());
    expect(money(all)).toBe(money(each));
    const [first] = rowsAt(plain, query);
    expect(rowsAt(plain, { ...query, campaignIds: [first?.campaignId ?? 0] })).toEqual([first]);
  });

  it.each([...catalogues.keys()])('of seed %i has a live campaign for each low advertiser', (seed) => {
    for (const at of ['2026-11-21T00:00:00Z', '2026-12-24T23:59:59Z', '2031-06-01T00:00:00Z'].map(Date.parse))
      for (let advertiser = 1; advertiser <= 10; advertiser++) {
        const today = formatDay(momentAt(at, 'UTC').today);
        expect(
          rowsAt({ ...plain, seed, at }, { ...wholeOf(advertiser, today, today), byDate: true }),
        ).toHaveLength(1);
      }
  });
});

describe('time', () => {
  it('never takes a number back, and leaves final days alone for ever', () => {
    fc.assert(
      fc.property(lately, fc.integer({ min: 0, max: 400 * DAY }), ([setting, query], passed) => {
        const later = { ...setting, at: setting.at + passed };
        const after = new Map(rowsAt(later, query).map((row) => [identity(row), row]));
        for (const row of rowsAt(setting, query))
          for (const member of ['impressions', 'clicks', 'spent', 'reach'] as const)
            expect(after.get(identity(row))?.[member]).toBeGreaterThanOrEqual(row[member]);
        const lastFinal =
          momentAt(setting.at, 'UTC').today - settledAt(setting, query.advertiserIds?.[0] ?? 0);
        const final = { ...query, from: Math.min(query.from, lastFinal), to: Math.min(query.to, lastFinal) };
        expect(rowsAt(later, final)).toEqual(rowsAt(setting, final));
      }),
    );
  });

  it.each([0, 5])('with %i restating days completes a day by whole days until it is final', (restateDays) => {
    const day = { ...wholeOf(1, '2026-11-21', '2026-11-21'), byDate: true };
    const onDay = (days: number) => rowsAt({ ...plain, restateDays, at: NOON + days * DAY }, day)[0];
    for (let age = 0; age <= restateDays; age++)
      expect(onDay(age + 1)?.impressions).toBeGreaterThan(onDay(age)?.impressions ?? Number.NaN);
    expect(onDay(restateDays + 100)).toEqual(onDay(restateDays + 1));
  });

  it('with curves completes most advertisers by day 3 and some at day 28', () => {
    const last = Array.from({ length: ADVERTISER_COUNT }, (_, index) => lastStepOf(1, index + 1));
    const share = (age: number) => last.filter((at) => at === age).length / last.length;
    expect([3, 7, 14, 28].map(share)).toEqual([0.7, 0.1, 0.1, 0.1]);
    const slow = last.indexOf(28) + 1;
    const day = { ...wholeOf(slow, '2026-11-21', '2026-11-21'), byDate: true };
    const onDay = (age: number) =>
      rowsAt({ ...plain, completion: 'curves', at: NOON + age * DAY }, day)[0]?.impressions;
    expect(onDay(28)).toBeGreaterThan(onDay(27) ?? Number.NaN);
    expect(onDay(60)).toBe(onDay(28));
  });

  it('brings late rows whole, within six days, and they stay', () => {
    const late: Setting = { ...plain, lateRows: 40 };
    let hidden = 0;
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 9 }), (shift, age) => {
        const date = formatDay(dayOf('2026-01-01') + shift);
        const query = { ...wholeOf(1, date, date), byDate: true, byCampaign: true };
        const at = Date.parse(`${date}T12:00:00Z`) + age * DAY;
        const [shown, all] = [rowsAt({ ...late, at }, query), rowsAt({ ...plain, at }, query)];
        hidden += all.length - shown.length;
        expect(all).toEqual(expect.arrayContaining(shown));
        if (age >= 6) expect(shown).toEqual(all);
        const next = rowsAt({ ...late, at: at + DAY }, query).map(identity);
        expect(next).toEqual(expect.arrayContaining(shown.map(identity)));
      }),
    );
    expect(hidden).toBeGreaterThan(0);
  });

  it('restates every row of the days it is told to, and no other', () => {
    const days = { from: dayOf('2026-10-05'), to: dayOf('2026-10-07') };
    const restated: Setting = {
      ...plain,
      restatements: [{ at: NOON, sequence: 1, advertiserId: 1, ...days }],
    };
    const query = { ...wholeOf(1, '2026-10-01', '2026-10-20'), byDate: true, byCampaign: true };
    const before = rowsAt(plain, query);
    for (const [index, row] of rowsAt(restated, query).entries()) {
      const was = before[index]?.impressions ?? Number.NaN;
      const isIn = ['2026-10-05', '2026-10-06', '2026-10-07'].includes(row.date ?? '');
      if (isIn) expect(row.impressions).toBeGreaterThan(was);
      else expect(row.impressions).toBe(was);
    }
    const sibling = { ...query, advertiserIds: [2] };
    expect(rowsAt(restated, sibling)).toEqual(rowsAt(plain, sibling));
  });

  it('is the zone’s: its day is the local date, and only moves on', () => {
    const instants = fc.integer({ min: Date.parse('2023-01-01'), max: Date.parse('2028-12-31') });
    const zones = fc.constantFrom('UTC', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe');
    fc.assert(
      fc.property(instants, zones, fc.integer({ min: 0, max: 30 * 3_600_000 }), (now, timeZone, later) => {
        const local = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(now);
        const [before, after] = [momentAt(now, timeZone), momentAt(now + later, timeZone)];
        expect(formatDay(before.today)).toBe(local);
        expect(after.today).toBeGreaterThanOrEqual(before.today);
        if (after.today === before.today) expect(after.step).toBeGreaterThanOrEqual(before.step);
      }),
    );
  });
});

describe('the truth', () => {
  it('is what the HTTP answers are made from, for every question at every time', async () => {
    const clock = createStandingClock();
    const simulator = await start({ clock, seed: 5 });
    simulator.restate({ advertiserId: 3, from: '2026-11-10', to: '2026-11-12' });
    const questions = fc.record({
      advertiserId: fc.integer({ min: 1, max: 40 }),
      from: fc.integer({ min: 0, max: 40 }),
      length: fc.integer({ min: 0, max: 40 }),
      byDate: fc.boolean(),
      byCampaign: fc.boolean(),
      spentBased: fc.constantFrom('usd' as const, 'local' as const),
      later: fc.integer({ min: 0, max: 10 * DAY }),
    });
    await fc.assert(
      fc.asyncProperty(questions, async ({ from, length, later, ...rest }) => {
        clock.moveTo(later);
        const day = (days: number) => new Date(NOON - days * DAY).toISOString().slice(0, 10);
        const query: TruthQuery = { ...rest, dateFrom: day(from + length), dateTo: day(from) };
        const form = Object.entries(query).map(([name, value]) => `${name}=${value}`);
        const shown = await rowsOf(simulator, `?${form.join('&')}`);
        expect(shown).toEqual(simulator.truth(query).map(asShown));
      }),
      { numRuns: 30 },
    );
  });

  it('of an earlier time is what was known then, whatever outages, caps and spelling there are', async () => {
    const clock = createStandingClock();
    const simulator = await start({ clock });
    const query: TruthQuery = { advertiserId: 1, byDate: true, dateFrom: '2026-11-01', dateTo: '2026-11-21' };
    const then = simulator.truth(query);
    simulator.set({ emptyDays: ['2026-11-03'], rowCap: 2, names: 'camel', ids: 'strings', shape: 'paged' });
    expect(simulator.truth(query)).toEqual(then);
    clock.pass(3_600_000);
    simulator.restate({});
    expect(simulator.truth(query)).not.toEqual(then);
    expect(simulator.truth(query, NOON)).toEqual(then);
  });
});

function expectUnion(union: number, parts: readonly TruthRow[]): void {
  expect(union).toBeLessThanOrEqual(total(parts, 'reach'));
  expect(union).toBeGreaterThanOrEqual(Math.max(0, ...parts.map(({ reach }) => reach)));
}

function asShown({ campaignId, campaignName, advertiserId, spent, date, ...rest }: TruthRow) {
  return {
    ...(date === undefined ? {} : { date }),
    ...(campaignId === undefined ? {} : { campaign_id: campaignId, campaign_name: campaignName }),
    advertiser_id: advertiserId,
    ...rest,
    spent: Number(spent).toFixed(4),
  };
}
