import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ADVERTISER_COUNT, buildCatalogue } from '../../src/simulator/catalogue.js';
import { formatDay, momentAt } from '../../src/simulator/days.js';
import { creativeRows, reportRows } from '../../src/simulator/truth.js';
import {
  catalogues,
  dayOf,
  identity,
  lately,
  money,
  plain,
  rowsAt,
  sourceAt,
  total,
  wholeOf,
} from './model.js';

describe('the data', () => {
  it('follows from seed, question, time and restatements alone', () => {
    fc.assert(
      fc.property(lately, ([setting, query]) => {
        const rows = rowsAt(setting, query);
        const again = reportRows({ ...sourceAt(setting), catalogue: buildCatalogue(setting.seed) }, query);
        expect(again).toEqual(rows);
      }),
    );
    const query = wholeOf(1, '2026-11-01', '2026-11-10');
    expect(rowsAt({ ...plain, seed: 2 }, query)).not.toEqual(rowsAt(plain, query));
  });

  it('has impressions ≥ clicks ≥ 0, 0 ≤ reach ≤ impressions, and spend in ten-thousandths', () => {
    fc.assert(
      fc.property(lately, ([setting, query]) => {
        for (const { impressions, clicks, reach, spent } of rowsAt(setting, query)) {
          expect(clicks).toBeGreaterThanOrEqual(0);
          expect(impressions).toBeGreaterThanOrEqual(clicks);
          expect(reach).toBeGreaterThanOrEqual(0);
          expect(reach).toBeLessThanOrEqual(impressions);
          expect(spent).toBe(Number(spent.toFixed(4)));
        }
      }),
    );
  });

  it('sums over campaigns and over days to the same impressions, clicks and spend', () => {
    fc.assert(
      fc.property(lately, ([setting, query]) => {
        const unsplit = rowsAt(setting, { ...query, byDate: false, byCampaign: false });
        expect(unsplit).toHaveLength(1);
        for (const [byDate, byCampaign] of [
          [true, false],
          [false, true],
          [true, true],
        ] as const) {
          const rows = rowsAt(setting, { ...query, byDate, byCampaign });
          expect(total(rows, 'impressions')).toBe(total(unsplit, 'impressions'));
          expect(total(rows, 'clicks')).toBe(total(unsplit, 'clicks'));
          expect(money(rows)).toBe(money(unsplit));
        }
      }),
    );
  });

  it('shows local spend at the advertiser’s rate, each campaign’s day rounded once', () => {
    fc.assert(
      fc.property(lately, ([setting, query]) => {
        const split = { ...query, byDate: true, byCampaign: true };
        const usd = rowsAt(setting, { ...split, spentBased: 'usd' });
        const local = rowsAt(setting, { ...split, spentBased: 'local' });
        const advertiser = sourceAt(setting).catalogue.get(query.advertiserIds?.[0] ?? 0);
        expect(local.map(identity)).toEqual(usd.map(identity));
        for (const [index, row] of local.entries()) {
          const dollars = Math.round((usd[index]?.spent ?? Number.NaN) * 10_000);
          expect(row.currency).toBe(advertiser?.currency);
          expect(usd[index]?.currency).toBe('USD');
          expect(Math.round(row.spent * 10_000)).toBe(Math.round(dollars * (advertiser?.rate ?? Number.NaN)));
        }
      }),
    );
  });

  it('never shows a day to come, and no row without delivery', () => {
    fc.assert(
      fc.property(lately, ([setting, query]) => {
        const today = formatDay(momentAt(setting.at, 'UTC').today);
        for (const row of rowsAt(setting, { ...query, byDate: true })) {
          expect(row.date && row.date <= today).toBe(true);
          expect(row.impressions).toBeGreaterThan(0);
        }
      }),
    );
  });

  it('answers a period of ten thousand years like one of the years that have data', () => {
    const wide = { ...wholeOf(3, '0000-01-01', '9999-12-31'), byDate: true };
    expect(rowsAt(plain, wide)).toEqual(
      rowsAt(plain, { ...wide, from: dayOf('2023-06-01'), to: dayOf('2028-06-01') }),
    );
  });

  it.each([...catalogues.keys()])(
    'of seed %i has a live campaign today for each low advertiser, at any minute',
    (seed) => {
      const minutes = [
        '2026-11-21T00:00:00Z',
        '2026-12-24T23:59:59Z',
        '2027-02-01T07:00:00Z',
        '2031-06-01T00:00:00Z',
      ];
      for (const at of minutes.map((text) => Date.parse(text))) {
        const today = momentAt(at, 'UTC').today;
        for (let advertiser = 1; advertiser <= 10; advertiser++) {
          const query = { ...wholeOf(advertiser, formatDay(today), formatDay(today)), byDate: true };
          expect(rowsAt({ ...plain, seed, at }, query)).toHaveLength(1);
        }
      }
    },
  );

  it('has what real accounts have: flights, pauses, a weekday rhythm, awkward names, other currencies', () => {
    const advertisers = [...buildCatalogue(1).values()];
    const campaigns = advertisers.flatMap((advertiser) => advertiser.campaigns);
    expect(advertisers.map(({ id }) => id)).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
    expect(advertisers.every(({ campaigns: { length } }) => length >= 3 && length <= 8)).toBe(true);
    expect(new Set(campaigns.map(({ id }) => id)).size).toBe(campaigns.length);
    for (const year of ['2024', '2025', '2026', '2027']) {
      expect(campaigns.some(({ from }) => formatDay(from).startsWith(year))).toBe(true);
    }
    const names = campaigns
      .filter(({ advertiserId }) => advertiserId === 1)
      .map(({ name }) => name)
      .join('\n');
    expect(names).toMatch(/^=/m);
    expect(names).toMatch(/,.*"/);
    expect(names).toMatch(/[^\x20-\x7e\n]/);
    expect(new Set(advertisers.map(({ currency }) => currency)).size).toBeGreaterThan(4);
    const paused = campaigns.filter(({ evergreen }) => !evergreen).slice(0, 20);
    const gaps = paused.map((campaign) => {
      const query = wholeOf(campaign.advertiserId, formatDay(campaign.from), formatDay(campaign.to));
      const split = { ...query, byDate: true, campaignIds: [campaign.id] };
      return (
        campaign.to - campaign.from + 1 - rowsAt({ ...plain, at: Date.parse('2028-06-01') }, split).length
      );
    });
    expect(gaps.every((days) => days >= 0)).toBe(true);
    expect(Math.max(...gaps)).toBeGreaterThan(0);
  });

  it('is busier on the weekdays its advertiser is busy on', () => {
    const year = { ...wholeOf(2, '2025-01-01', '2025-12-30'), byDate: true };
    const byWeekday = Array.from({ length: 7 }, () => 0);
    for (const { date = '', impressions } of rowsAt(plain, year)) {
      const day = new Date(date).getUTCDay();
      byWeekday[day] = (byWeekday[day] ?? 0) + impressions;
    }
    const [sunday = 0, , tuesday = 0] = byWeekday;
    expect(tuesday).toBeGreaterThan(1.3 * sunday);
  });
});

describe('a question', () => {
  it('about all children is the questions about each of them', () => {
    for (const split of [{}, { byDate: true }, { byCampaign: true }]) {
      const all = { ...wholeOf(1, '2026-11-10', '2026-11-12'), ...split };
      const each = Array.from({ length: ADVERTISER_COUNT }, (_, index) =>
        rowsAt(plain, { ...all, advertiserIds: [index + 1] }),
      ).flat();
      const asked = rowsAt(plain, { ...all, advertiserIds: undefined });
      expect(asked.map(identity).toSorted()).toEqual(each.map(identity).toSorted());
      expect(money(asked)).toBe(money(each));
    }
  });

  it('about some campaigns is about those alone', () => {
    const query = { ...wholeOf(1, '2026-11-10', '2026-11-12'), byCampaign: true };
    const all = rowsAt(plain, query);
    const [first] = all;
    expect(all.length).toBeGreaterThan(1);
    expect(rowsAt(plain, { ...query, campaignIds: [first?.campaignId ?? 0] })).toEqual([first]);
    expect(rowsAt(plain, { ...query, advertiserIds: undefined, campaignIds: [101] })).toEqual([first]);
    expect(rowsAt(plain, { ...query, campaignIds: [] })).toEqual([]);
    const unsplit = { ...query, byCampaign: false, advertiserIds: undefined, campaignIds: [101, 201] };
    expect(rowsAt(plain, unsplit).map(({ advertiserId }) => advertiserId)).toEqual([1, 2]);
  });

  it('without any delivery is a row of zeros when unsplit, and none when split', () => {
    const before = wholeOf(1, '2020-01-01', '2020-01-31');
    expect(rowsAt(plain, before)).toEqual([
      { advertiserId: 1, currency: 'USD', impressions: 0, clicks: 0, spent: 0, reach: 0 },
    ]);
    expect(rowsAt(plain, { ...before, byDate: true })).toEqual([]);
  });

  it('about creatives divides each campaign among them', () => {
    fc.assert(
      fc.property(lately, ([setting, query]) => {
        const source = sourceAt(setting);
        const rows = creativeRows(source, query);
        const campaigns = reportRows(source, { ...query, byCampaign: true });
        expect(total(rows, 'impressions')).toBe(total(campaigns, 'impressions'));
        expect(rows.every(({ clicks, impressions }) => clicks >= 0 && clicks <= impressions)).toBe(true);
        expect(rows.length).toBeGreaterThanOrEqual(2 * campaigns.length);
      }),
    );
  });
});
