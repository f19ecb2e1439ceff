/** What the explorer calculates of a report: ratios of sums, weeks and months, and how its numbers are written. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columnsOf } from '../../src/web/explorer/columns.js';
import { endpointTitle, firstQuestion } from '../../src/web/explorer/endpoints.js';
import { gapsInWords, rowsBy } from '../../src/web/explorer/group.js';
import { calculatedColumns, valueOver, withMeasures } from '../../src/web/explorer/measures.js';
import { numbersIn } from '../../src/web/explorer/numbers.js';
import type { Row } from '../../src/web/explorer/parse.js';
import { daysOf } from '../../src/web/explorer/question.js';
import {
  besideSpans,
  periodWords,
  spansOf,
  startOf,
  toldDays,
  toldPeriod,
} from '../../src/web/explorer/spans.js';

const FIRST = Date.parse('2020-01-01');
const dayAt = (index: number) => new Date(FIRST + index * 86_400_000).toISOString().slice(0, 10);
const rows: fc.Arbitrary<Row[]> = fc.array(
  fc.record({
    date: fc.nat(60).map(dayAt),
    campaignId: fc.integer({ min: 1, max: 4 }),
    impressions: fc.nat(10 ** 6),
    clicks: fc.nat(10 ** 4),
    spent: fc.nat(10 ** 6).map((cents) => cents / 100),
    conversions: fc.nat(100),
    reach: fc.nat(1000),
  }),
  { minLength: 1 },
);
const names = (of: readonly Row[]) => calculatedColumns(columnsOf(of)).map(({ name }) => name);
const columnIn = (of: readonly Row[], name: string) => {
  const own = columnsOf(of);
  const found = [...own, ...calculatedColumns(own)].find((column) => column.name === name);
  if (found === undefined) throw new Error(`no column ${name}`);
  return found;
};

describe('a calculated measure', () => {
  it('over all rows is the ratio of the sums of any parts of them', () => {
    fc.assert(
      fc.property(rows, fc.func(fc.integer({ min: 0, max: 3 })), (all, partOf) => {
        const parts = [0, 1, 2, 3].map((part) => all.filter((row) => partOf(row) === part));
        const sumOfParts = (name: string) =>
          parts.reduce((sum, part) => sum + Number(valueOver(part, columnIn(all, name))), 0);
        const expected = (times: number, over: string, under: string) =>
          sumOfParts(under) === 0 ? null : (times * sumOfParts(over)) / sumOfParts(under);
        const measures: [string, number | null][] = [
          ['ctr', expected(100, 'clicks', 'impressions')],
          ['cpc', expected(1, 'spent', 'clicks')],
          ['cpm', expected(1000, 'spent', 'impressions')],
          ['conversionRate', expected(100, 'conversions', 'clicks')],
          ['costPerConversion', expected(1, 'spent', 'conversions')],
        ];
        for (const [name, value] of measures) {
          const found = valueOver(all, columnIn(all, name));
          if (value === null || found === null) expect(found).toBe(value);
          else expect(found).toBeCloseTo(value, 6);
        }
      }),
    );
  });

  it('is there if its columns are, and the platform does not have it itself', () => {
    const row = { impressions: 10, clicks: 1, spent: 2 };
    expect(names([row])).toEqual(['ctr', 'cpc', 'cpm']);
    expect(names([{ ...row, conversions: 1 }])).toEqual([
      'ctr',
      'cpc',
      'cpm',
      'conversionRate',
      'costPerConversion',
    ]);
    expect(names([{ ...row, clickThroughRate: 0.1, CPC: 2, ecpm: 1 }])).toEqual([]);
    expect(names([{ clicks: 1, reach: 2 }])).toEqual([]);
  });

  it('is absent where the divisor is 0, a part is missing, or amounts have two currencies', () => {
    const row = { impressions: 10, clicks: 1, spent: 2, currency: 'USD' };
    const of = (other: Row) => ['ctr', 'cpc'].map((name) => valueOver([row, other], columnIn([row], name)));
    expect(of({ ...row })).toEqual([10, 2]);
    expect(of({ ...row, clicks: null })).toEqual([null, null]);
    expect(of({ ...row, impressions: undefined })).toEqual([null, 2]);
    expect(of({ ...row, currency: 'EUR' })).toEqual([10, null]);
    const none = { impressions: 0, clicks: 0, spent: 0 };
    expect(withMeasures([none], [columnIn([none], 'ctr'), columnIn([none], 'cpm')])).toEqual([
      { ...none, ctr: null, cpm: null },
    ]);
  });
});

describe('rows by week or month', () => {
  it('have the sums of their days, and no people', () => {
    fc.assert(
      fc.property(rows, fc.constantFrom('week' as const, 'month' as const), (all, by) => {
        const days = daysOf({ from: dayAt(0), to: dayAt(60) });
        const found = rowsBy(all, days, by, ['date', 'campaign'], columnsOf(all));
        const sum = (of: readonly Row[], name: string) =>
          of.reduce((total, row) => total + Number(row[name]), 0);
        for (const row of found) {
          const own = all.filter(
            ({ date, campaignId }) => startOf(String(date), by) === row.date && campaignId === row.campaignId,
          );
          expect(row.clicks).toBe(sum(own, 'clicks'));
          expect(row.spent).toBeCloseTo(sum(own, 'spent'), 4);
          expect(row.reach).toBeNull();
        }
        expect(sum(found, 'impressions')).toBe(sum(all, 'impressions'));
      }),
    );
  });

  it('have the names of the newest day, whatever the order of the rows', () => {
    const days = ['2026-11-23', '2026-11-24', '2026-11-25'];
    const all = ['24', '25', '23'].map((day) => ({
      ...{ date: `2026-11-${day}`, campaignId: 1, campaignName: `of the ${day}th`, clicks: 1 },
    }));
    const [week] = rowsBy(all, days, 'week', ['date', 'campaign'], columnsOf(all));
    expect(week).toEqual({ date: days[0], campaignId: 1, campaignName: 'of the 25th', clicks: 3 });
  });

  it('keep rows of no day, hold currencies apart, and have no sum where a value is missing', () => {
    const days = ['2026-11-23', '2026-11-24'];
    const [monday = '', tuesday = ''] = days;
    const all = [
      { date: monday, currency: 'USD', spent: 1, clicks: 1 },
      { date: tuesday, currency: 'USD', spent: 2, clicks: null },
      { date: tuesday, currency: 'EUR', spent: 4, clicks: 1 },
      { date: 'never', currency: 'EUR', spent: 8, clicks: 1 },
    ];
    expect(rowsBy(all, days, 'week', ['date'], columnsOf(all))).toEqual([
      { date: monday, currency: 'USD', spent: 3, clicks: null },
      { date: monday, currency: 'EUR', spent: 4, clicks: 1 },
      { date: 'never', currency: 'EUR', spent: 8, clicks: 1 },
    ]);
  });
});

it('a chart says what a gap in it is', () => {
  const lines = [{ values: [1, null] }, { values: [2, 3] }];
  const row = { clicks: 1, impressions: 2, reach: 3 };
  const [clicks, ctr] = [columnIn([row], 'clicks'), columnIn([row], 'ctr')];
  expect(gapsInWords(clicks, lines, true, 'day')).toBeNull();
  expect(gapsInWords(clicks, lines, false, 'week')).toBe('A gap is a week without a row.');
  expect(gapsInWords(clicks, [{ values: [1, null] }], true, 'day')).toBe('A gap is a day without a row.');
  expect(gapsInWords(ctr, lines, false, 'day')).toBe('A gap is a day without a value.');
  expect(gapsInWords(clicks, [{ values: [0, 3] }], true, 'day')).toBeNull();
});

describe('the weeks and months of a period', () => {
  it('are those of the calendar, and say which are not whole', () => {
    const period = { from: '2026-10-30', to: '2026-11-29' };
    expect(spansOf(period, 'week').map(({ title, short, part }) => [title, short, part])).toEqual([
      ['Week 44, Oct 26 – Nov 1', 'W44*', '3 of 7 days'],
      ['Week 45, Nov 2 – 8', 'W45', null],
      ['Week 46, Nov 9 – 15', 'W46', null],
      ['Week 47, Nov 16 – 22', 'W47', null],
      ['Week 48, Nov 23 – 29', 'W48', null],
    ]);
    expect(spansOf(period, 'month').map(({ title, part }) => [title, part])).toEqual([
      ['Oct 2026', '2 of 31 days'],
      ['Nov 2026', '29 of 30 days'],
    ]);
    expect(spansOf({ from: '2026-11-29', to: '2026-11-29' }, 'day')).toEqual([
      {
        ...{ start: '2026-11-29', end: '2026-11-29', days: ['2026-11-29'], part: null },
        ...{ title: 'Sun, Nov 29, 2026', short: 'Nov 29' },
      },
    ]);
  });

  it('have the numbers of ISO 8601, with the year where there are two', () => {
    const weeks = (from: string, to: string) => spansOf({ from, to }, 'week').map(({ title }) => title);
    expect(weeks('2020-12-28', '2021-01-10')).toEqual([
      'Week 53, Dec 28, 2020 – Jan 3, 2021',
      'Week 1, Jan 4 – 10, 2021',
    ]);
    expect(weeks('2024-12-30', '2024-12-31')).toEqual(['Week 1, Dec 30, 2024 – Jan 5, 2025']);
  });

  it('stand beside as many days of another period, from the same place in it', () => {
    const spans = spansOf({ from: '2026-10-30', to: '2026-11-10' }, 'week');
    const beside = (to: string) =>
      besideSpans(spans, { from: '2026-10-18', to }, 0).map((days) => toldDays(days));
    expect(beside('2026-10-29')).toEqual(['Oct 18 – 20, 2026', 'Oct 21 – 27, 2026', 'Oct 28 – 29, 2026']);
    expect(beside('2026-10-21')).toEqual(['Oct 18 – 20, 2026', 'Wed, Oct 21, 2026', 'no day']);
  });

  it('cover each day once', () => {
    fc.assert(
      fc.property(
        fc.nat(3000),
        fc.nat(800),
        fc.constantFrom('week' as const, 'month' as const),
        (from, length, by) => {
          const period = { from: dayAt(from), to: dayAt(from + length) };
          const spans = spansOf(period, by);
          const covered = spans.flatMap(({ start, end }) => daysOf({ from: start, to: end }));
          expect(new Set(covered).size).toBe(covered.length);
          expect(daysOf(period).every((day) => covered.includes(day))).toBe(true);
          for (const { start, end, part } of spans)
            expect(part === null).toBe(start >= period.from && end <= period.to);
        },
      ),
    );
  });

  it('are told of a period with its year', () => {
    expect(periodWords({ from: '2026-10-30', to: '2026-11-28' })).toBe('Oct 30 – Nov 28, 2026');
    expect(periodWords({ from: '2025-12-30', to: '2026-01-28' })).toBe('Dec 30, 2025 – Jan 28, 2026');
    expect(periodWords({ from: '2026-11-28', to: '2026-11-28' })).toBe('Nov 28, 2026');
  });

  it('are told of an answer with the end that it has', () => {
    const told = (from: string | null, to: string | null) => toldPeriod({ from, to });
    expect(told('2026-10-30', '2026-11-28')).toBe('Oct 30 – Nov 28, 2026');
    expect([told('2026-10-30', null), told(null, '2026-11-28')]).toEqual([
      'from Oct 30, 2026 on',
      'until Nov 28, 2026',
    ]);
    expect([told(null, null), toldPeriod(null)]).toEqual(Array(2).fill('period chosen by the platform'));
  });
});

describe('a number', () => {
  it("is written in the reader's language, money with its currency and two decimals", () => {
    const [english, german] = [numbersIn('en-US'), numbersIn('de-DE')];
    const spaced = (text: string) => text.replaceAll('\u00a0', ' ');
    expect(english.full(1204.5, 'money', 'EUR')).toBe('€1,204.50');
    expect(spaced(german.full(1204.5, 'money', 'EUR'))).toBe('1.204,50 €');
    expect(english.full(1204.5, 'money', null)).toBe('1,204.50');
    expect(english.full(0.0042, 'money', 'USD')).toBe('$0.0042');
    expect(english.full(0.7129, 'share', null)).toBe('0.71%');
    expect(spaced(german.full(0.7129, 'share', null))).toBe('0,71 %');
    expect(german.full(1204, 'number', 'EUR')).toBe('1.204');
    expect(english.exact(43.5938, 'money', 'USD')).toBe('$43.5938');
    expect(spaced(german.signed(57.7, 0, 'money', 'EUR'))).toBe('+57,70 €');
    expect(english.percent(-12.34)).toBe('−12.3%');
    expect([english.short(1204, 'money', 'USD'), english.short(12, 'share', null)]).toEqual(['$1.2K', '12%']);
  });
});

describe('the first question', () => {
  it('is the first report by day and campaign, as far as it can be split', () => {
    const endpoint = { name: 'sites/daily/get', splits: ['byDate'], hasCurrency: false, currency: null };
    expect(firstQuestion([endpoint], '7')).toMatchObject({
      endpoint: 'sites/daily/get',
      advertiserId: '7',
      period: 'last_30_days',
      splits: ['byDate'],
    });
    expect(firstQuestion([], '7')).toMatchObject({
      endpoint: 'campaigns/get',
      splits: ['byDate', 'byCampaign'],
    });
    expect(['campaigns/get', 'sites/daily/get'].map(endpointTitle)).toEqual(['Campaigns', 'Sites daily']);
  });
});
