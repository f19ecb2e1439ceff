/** Two periods of a report beside each other: nothing is added that does not add up. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Against,
  choicesOf,
  finalDays,
  monthsApart,
  openInWords,
  otherPeriod,
  pairsInWords,
  periodsInWords,
} from '../../src/web/explorer/against.js';
import { columnsOf, type ReportColumn } from '../../src/web/explorer/columns.js';
import { changeOf, compareGroups, meanPerDay, spanValues } from '../../src/web/explorer/compare.js';
import { groupRows } from '../../src/web/explorer/group.js';
import { calculatedColumns } from '../../src/web/explorer/measures.js';
import type { Row } from '../../src/web/explorer/parse.js';
import { dayAfter, daysOf, FIRST_QUESTION, keptOf, readView } from '../../src/web/explorer/question.js';
import { besideSpans, periodWords, spansOf, wholeIn } from '../../src/web/explorer/spans.js';

const FIRST = Date.parse('2020-01-01');
const dayAt = (index: number) => new Date(FIRST + index * 86_400_000).toISOString().slice(0, 10);
const periods = fc
  .tuple(fc.nat(3000), fc.nat(400))
  .map(([from, length]) => ({ from: dayAt(from), to: dayAt(from + length) }));

/** Up to 15 whole months. */
const months = fc.tuple(fc.nat(200), fc.nat(14)).map(([first, more]) => {
  const startOf = (month: number) => new Date(Date.UTC(2015, month)).toISOString().slice(0, 10);
  const after = new Date(Date.UTC(2015, first + more + 1)).getTime();
  return { from: startOf(first), to: new Date(after - 86_400_000).toISOString().slice(0, 10) };
});

const chosen = (part: Partial<Against>): Against => ({
  against: '',
  weekdays: '',
  otherFrom: '',
  otherTo: '',
  ...part,
});
const weekday = (day: string) => new Date(day).getUTCDay();
const apart = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 86_400_000;

describe('the other period', () => {
  it('that is before has as many days, and ends where this one begins', () => {
    fc.assert(
      fc.property(periods, (now) => {
        for (const against of wholeIn(now, 'month') > 0 ? ['days'] : ['days', 'previous']) {
          const before = otherPeriod(chosen({ against }), now) ?? now;
          expect(daysOf(before)).toHaveLength(daysOf(now).length);
          expect(daysOf({ from: before.to, to: now.from })).toHaveLength(2);
        }
      }),
    );
  });

  it('of a month to date may be the same days of the month before, at most its last day', () => {
    const month = chosen({ against: 'month' });
    const toDate = (day: string) => ({ from: `${day.slice(0, 7)}-01`, to: day });
    const of = (day: string) => otherPeriod(month, toDate(day));
    expect(of('2026-11-29')).toEqual({ from: '2026-10-01', to: '2026-10-29' });
    expect(of('2026-01-12')).toEqual({ from: '2025-12-01', to: '2025-12-12' });
    expect(of('2026-03-30')).toEqual({ from: '2026-02-01', to: '2026-02-28' });
    expect(otherPeriod({ ...month, weekdays: '1' }, toDate('2026-11-29'))).toEqual({
      from: '2026-09-27',
      to: '2026-10-25',
    });
    const values = (now: { from: string; to: string }) => choicesOf(chosen({}), now).map(([value]) => value);
    expect(values(toDate('2026-11-29')).slice(0, 3)).toEqual(['', 'month', 'previous']);
    for (const now of [toDate('2026-11-30'), toDate('2026-11-01'), { from: '2026-11-02', to: '2026-11-29' }])
      expect(values(now)).not.toContain('month');
    const view = { ...readView(new URLSearchParams()), against: 'previous' };
    expect(keptOf(view, { ...FIRST_QUESTION, period: 'month_to_date' }).against).toBe('month');
    expect(keptOf(view, FIRST_QUESTION).against).toBe('previous');
  });

  it('a year before has the same days of the month; of the 29th of February it is the 28th', () => {
    const year = chosen({ against: 'year' });
    fc.assert(
      fc.property(periods, (now) => {
        const { from, to } = otherPeriod(year, now) ?? now;
        expect(from <= to).toBe(true);
        expect(from.slice(5)).toBe(now.from.endsWith('02-29') ? '02-28' : now.from.slice(5));
        expect(Number(from.slice(0, 4))).toBe(Number(now.from.slice(0, 4)) - 1);
      }),
    );
    expect(otherPeriod(year, { from: '2024-02-29', to: '2024-02-29' })?.from).toBe('2023-02-28');
  });

  it('of whole months before is as many whole months, which end where these begin', () => {
    fc.assert(
      fc.property(months, (now) => {
        const before = otherPeriod(chosen({ against: 'previous' }), now) ?? now;
        expect(wholeIn(before, 'month')).toBe(wholeIn(now, 'month'));
        expect(daysOf({ from: before.to, to: now.from })).toHaveLength(2);
      }),
    );
    const july = otherPeriod(chosen({ against: 'previous' }), { from: '2026-07-01', to: '2026-07-31' });
    expect(july).toEqual({ from: '2026-06-01', to: '2026-06-30' });
  });

  it('of whole months a year before is the same months, whole, also in February', () => {
    const year = chosen({ against: 'year' });
    fc.assert(
      fc.property(months, (now) => {
        const before = otherPeriod(year, now) ?? now;
        expect(wholeIn(before, 'month')).toBe(wholeIn(now, 'month'));
        expect(before.from.slice(5)).toBe(now.from.slice(5));
        expect(before.to.slice(0, 7)).toBe(`${Number(now.to.slice(0, 4)) - 1}${now.to.slice(4, 7)}`);
      }),
    );
    const ends = ['2024-02-29', '2025-02-28'].map(
      (to) => otherPeriod(year, { from: `${to.slice(0, 7)}-01`, to })?.to,
    );
    expect(ends).toEqual(['2023-02-28', '2024-02-29']);
  });

  it('of whole months has each day beside the same day of the month, and no day twice', () => {
    fc.assert(
      fc.property(months, fc.constantFrom('previous', 'year'), (now, against) => {
        const before = otherPeriod(chosen({ against }), now) ?? now;
        const apart = monthsApart(chosen({ against }), now);
        const spans = spansOf(now, 'day');
        const beside = besideSpans(spans, before, apart);
        const pairs = spans.flatMap(({ start }, index) => (beside[index] ?? []).map((day) => [start, day]));
        expect(pairs.filter(([day, other]) => day?.slice(8) !== other?.slice(8))).toEqual([]);
        expect(new Set(beside.flat()).size).toBe(beside.flat().length);
        // The first 28 days are in every month.
        const firsts = daysOf(before).filter((day) => Number(day.slice(8)) <= 28);
        expect(firsts.every((day) => beside.flat().includes(day))).toBe(true);
        expect(besideSpans(spansOf(now, 'month'), before, apart).flat()).toEqual(daysOf(before));
        const weeks = besideSpans(spansOf(now, 'week'), before, apart).flat();
        expect(weeks).toEqual(beside.flat());
      }),
    );
  });

  it('is offered by the name of what it is: months, weeks or days', () => {
    const titles = (from: string, to: string, part: Partial<Against> = {}) =>
      choicesOf(chosen(part), { from, to }).map(([, title]) => title);
    expect(titles('2026-07-01', '2026-07-31')).toEqual([
      'nothing',
      'the month before',
      'the 31 days before',
      'the same month a year before',
      'other days …',
    ]);
    expect(titles('2026-07-01', '2026-09-30').slice(1, 4)).toEqual([
      'the 3 months before',
      'the 92 days before',
      'the same months a year before',
    ]);
    expect(titles('2026-07-01', '2026-07-31', { weekdays: '1' })[1]).toBe('the 31 days before');
    expect(titles('2026-11-16', '2026-11-22')).toEqual([
      'nothing',
      'the week before',
      'a year before',
      'other days …',
    ]);
    expect(titles('2026-11-09', '2026-11-22')[1]).toBe('the 2 weeks before');
    expect(titles('2026-11-10', '2026-11-22')[1]).toBe('the 13 days before');
    expect(titles('2026-11-10', '2026-11-10')[1]).toBe('the day before');
    // Whatever is chosen is among them.
    expect(choicesOf(chosen({ against: 'days' }), null).map(([value]) => value)).toContain('days');
  });

  it('says which days stand beside each other, and which have none', () => {
    const words = (from: string, to: string, by: 'day' | 'week' | 'month', against = 'previous') => {
      const now = { from, to };
      const before = otherPeriod(chosen({ against }), now) ?? now;
      return pairsInWords({ now, before, months: monthsApart(chosen({ against }), now) }, by);
    };
    expect(words('2026-07-01', '2026-07-31', 'day')).toBe(
      'Each day stands beside the same day of the month: Jul 1, 2026 beside Jun 1, 2026. Jul 31, 2026 has none beside it, but is in the totals.',
    );
    expect(words('2026-03-01', '2026-03-31', 'week')).toMatch(
      /Mar 29, 2026; Mar 30, 2026; Mar 31, 2026 have none beside them, but are in the totals\.$/,
    );
    expect(words('2026-06-01', '2026-06-30', 'day')).toMatch(/May 31, 2026 has none beside it/);
    expect(words('2026-08-01', '2026-08-31', 'day')).toMatch(/Jul 1, 2026\.$/);
    expect(words('2026-07-01', '2026-07-31', 'month')).toBe('Each month stands beside a whole month.');
    expect(words('2026-07-02', '2026-07-31', 'day')).toBeNull();
    expect(words('2026-07-02', '2026-07-31', 'week')).toMatch(/^Each week stands beside as many days/);
  });

  it('is null for any other word, and for custom days that are no period', () => {
    const now = { from: '2026-11-01', to: '2026-11-07' };
    for (const against of ['x', '', '2026-10-01,2026-10-09', 'custom'])
      expect(otherPeriod(chosen({ against }), now)).toBeNull();
    for (const [otherFrom, otherTo] of [
      ['2026-10', ''],
      ['2026-02-31x', ''],
      ['2026-10-09', '2026-10-01'],
      ['', '2026-10-01'],
    ] as const)
      expect(otherPeriod(chosen({ against: 'custom', otherFrom, otherTo }), now)).toBeNull();
  });

  it('of custom days is as long as this one without a last day, else as chosen', () => {
    fc.assert(
      fc.property(periods, periods, (now, { from: otherFrom, to: otherTo }) => {
        const open = otherPeriod(chosen({ against: 'custom', otherFrom }), now) ?? now;
        expect(open.from).toBe(otherFrom);
        expect(daysOf(open)).toHaveLength(daysOf(now).length);
        const closed = otherPeriod(chosen({ against: 'custom', otherFrom, otherTo }), now);
        expect(closed).toEqual({ from: otherFrom, to: otherTo });
      }),
    );
  });

  it('aligned by weekday has the same weekdays, at most three days away; the days before stay before', () => {
    fc.assert(
      fc.property(periods, periods, (now, { from: otherFrom }) => {
        for (const against of ['previous', 'year', 'custom']) {
          const plain = chosen({ against, otherFrom });
          const free = otherPeriod(plain, now) ?? now;
          const aligned = otherPeriod({ ...plain, weekdays: '1' }, now) ?? now;
          expect(weekday(aligned.from)).toBe(weekday(now.from));
          expect(daysOf(aligned)).toHaveLength(daysOf(now).length);
          const moved = apart(free.from, aligned.from);
          if (against === 'year') expect(apart(aligned.from, now.from)).toBe(364);
          if (against === 'previous') {
            expect(aligned.to < now.from).toBe(true);
            expect(moved).toBeGreaterThan(-7);
          } else expect(Math.abs(moved)).toBeLessThanOrEqual(3);
        }
      }),
    );
  });

  it('is said in words with this one, and its length where that is another', () => {
    const now = { from: '2026-10-30', to: '2026-11-28' };
    const words = (against: Against) =>
      periodsInWords({ now, before: otherPeriod(against, now) ?? now, months: 0 });
    expect(words(chosen({ against: 'previous' }))).toBe(
      'Fri, Oct 30 – Sat, Nov 28, 2026, compared with Wed, Sep 30 – Thu, Oct 29, 2026.',
    );
    expect(words(chosen({ against: 'previous', weekdays: '1' }))).toBe(
      'Fri, Oct 30 – Sat, Nov 28, 2026, compared with Fri, Sep 25 – Sat, Oct 24, 2026.',
    );
    expect(words(chosen({ against: 'custom', otherFrom: '2026-10-01', otherTo: '2026-10-09' }))).toBe(
      'Fri, Oct 30 – Sat, Nov 28, 2026, compared with Thu, Oct 1 – Fri, Oct 9, 2026. The periods have 30 and 9 days.',
    );
    expect(periodWords({ from: '2025-12-30', to: '2026-01-05' })).toBe('Dec 30, 2025 – Jan 5, 2026');
    expect(periodWords({ from: '2026-01-05', to: '2026-01-05' })).toBe('Jan 5, 2026');
  });
});

describe('the final days of both periods', () => {
  it('are all pairs before the first day that is still being completed, in either; the pairs stay', () => {
    const sides = fc.constantFrom('previous', 'year', 'days');
    fc.assert(
      fc.property(fc.oneof(periods, months), sides, fc.nat(500), fc.nat(500), (now, against, one, other) => {
        const before = otherPeriod(chosen({ against }), now) ?? now;
        const all = { now, before, months: monthsApart(chosen({ against }), now) };
        const first = { now: dayAfter(now.from, one), before: dayAfter(before.from, other) };
        const pairsOf = (of: typeof all) => {
          const spans = spansOf(of.now, 'day');
          const beside = besideSpans(spans, of.before, of.months);
          return spans.map(({ start }, at) => [start, ...(beside[at] ?? [])]);
        };
        const isOpen = ([day = '', there = '']: string[]) => day >= first.now || there >= first.before;
        const pairs = pairsOf(all);
        const open = pairs.findIndex(isOpen);
        const expected = open < 0 ? pairs : pairs.slice(0, open);
        const final = finalDays(all, first);
        expect(final === null ? [] : pairsOf(final)).toEqual(expected);
      }),
    );
  });

  it('of a month by month stand beside the same days of the other month only', () => {
    const all = {
      now: { from: '2026-11-01', to: '2026-11-30' },
      before: { from: '2026-10-01', to: '2026-10-31' },
      months: 1,
    };
    const final = finalDays(all, { now: '2026-11-26' }) ?? all;
    expect(final.before).toEqual({ from: '2026-10-01', to: '2026-10-25' });
    const [beside] = besideSpans(spansOf(final.now, 'month'), final.before, 1);
    expect(beside).toEqual(daysOf(final.before));
    expect(finalDays(all, { now: '2026-11-01' })).toBeNull();
  });

  it('are said in words by how many are missing on each side', () => {
    const all = {
      now: { from: '2026-11-23', to: '2026-11-29' },
      before: { from: '2026-11-16', to: '2026-11-22' },
      months: 0,
    };
    expect(openInWords(all, { now: '2026-11-25', before: '2026-11-25' })).toBe(
      '5 of 7 days of this period are',
    );
    expect(openInWords(all, { now: '2026-11-22', before: '2026-11-22' })).toBe(
      '7 of 7 days of this period and 1 of 7 days of the other period are',
    );
    expect(openInWords(all, { now: '2026-11-29' })).toBe('1 of 7 days of this period is');
    // Of earlier numbers.
    expect(openInWords(all, { now: '2026-11-29' }, true)).toBe('1 of 7 days of this period was');
    expect(openInWords(all, { now: '2026-11-25' }, true)).toBe('5 of 7 days of this period were');
    expect(openInWords(all, { before: '2026-11-30' })).toBeNull();
  });
});

const rowsOf = (first: number): fc.Arbitrary<Row[]> =>
  fc.array(
    fc.record({
      date: fc.nat(6).map((index) => dayAt(first + index)),
      campaignId: fc.integer({ min: 1, max: 4 }),
      currency: fc.constantFrom('USD', 'EUR'),
      clicks: fc.nat(1000),
      spent: fc.nat(1000),
      reach: fc.nat(1000),
    }),
  );
const MEASURES = ['clicks', 'spent', 'reach'];
const SPLIT = ['date', 'campaign'];
/** Of the platform, and calculated. */
function columnsIn(rows: readonly Row[]): ReportColumn[] {
  const own = columnsOf(rows);
  return [...own, ...calculatedColumns(own)];
}
function columnIn(rows: readonly Row[], name: string): ReportColumn {
  const found = columnsIn(rows).find((column) => column.name === name);
  if (found === undefined) throw new Error(`no column ${name}`);
  return found;
}
const sum = (rows: readonly Row[], name: string) => rows.reduce((all, row) => all + Number(row[name]), 0);

it('the columns of 650 rows are those of the first 200 and of every third', () => {
  const rows = Array.from({ length: 650 }, (_, index): Row => ({ [`at${index}`]: index }));
  const names = columnsOf(rows).map(({ name }) => name);
  expect(names.slice(199, 202)).toEqual(['at199', 'at201', 'at204']);
  expect(names).toHaveLength(200 + 150);
});

describe('groups', () => {
  it('are sums of their own rows of one currency; people are never summed', () => {
    fc.assert(
      fc.property(rowsOf(10), rowsOf(0), (now, before) => {
        const columns = MEASURES.flatMap((name) =>
          columnsIn([...now, ...before]).filter((one) => one.name === name),
        );
        const groups = compareGroups(now, before, SPLIT, columns);
        const kinds = [...now, ...before].map((row) => `${row.campaignId}\u0000${row.currency}`);
        expect(new Set(groups.map(({ key }) => key))).toEqual(new Set(kinds));
        for (const { key, in: where, changes } of groups) {
          const of = (rows: readonly Row[]) =>
            rows.filter((row) => `${row.campaignId}\u0000${row.currency}` === key);
          const [here, there] = [of(now), of(before)];
          expect(where).toBe(there.length === 0 ? 'now' : here.length === 0 ? 'before' : 'both');
          for (const name of ['clicks', 'spent'])
            expect(changes.get(name)).toMatchObject({
              now: here.length === 0 ? null : sum(here, name),
              before: there.length === 0 ? null : sum(there, name),
            });
          expect(changes.get('reach')?.now).toBe(here.length === 1 ? here[0]?.reach : null);
          if (where !== 'both') expect(changes.get('clicks')).toMatchObject({ diff: null, percent: null });
        }
      }),
    );
  });
});

it('groups have the largest of the first measure first; of a ratio, of what it is divided by', () => {
  const rows = [
    { campaignId: 1, clicks: 9, spent: 1, impressions: 90 },
    { campaignId: 2, clicks: 1, spent: 9, impressions: 900 },
  ];
  const keysBy = (name: string) =>
    compareGroups(rows, rows, SPLIT, [columnIn(rows, name), columnIn(rows, 'impressions')]).map(
      ({ title }) => title,
    );
  expect([keysBy('spent'), keysBy('clicks'), keysBy('ctr')]).toEqual([
    ['2', '1'],
    ['1', '2'],
    ['2', '1'],
  ]);
});

describe('a change', () => {
  it('from nothing has no percent, and leads back to what was before', () => {
    expect(changeOf(5, 0)).toEqual({ now: 5, before: 0, diff: 5, percent: null });
    expect(changeOf(5, null)).toEqual({ now: 5, before: null, diff: null, percent: null });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 ** 6 }), fc.nat(10 ** 6), (before, now) => {
        const { diff, percent } = changeOf(now, before);
        expect(before + (diff ?? 0)).toBe(now);
        expect(before * (1 + (percent ?? 0) / 100)).toBeCloseTo(now, 4);
      }),
    );
  });
});

it('the mean per day divides what adds up by the days of each period, and nothing else', () => {
  const rows = [{ clicks: 310, spent: 31, impressions: 62, reach: 7 }];
  const columns = columnsIn(rows);
  const changes = new Map(columns.map(({ name }) => [name, changeOf(310, 270)]));
  const total = { key: '', title: 'Total', in: 'both' as const, changes };
  const mean = meanPerDay(total, columns, { now: 31, before: 30 });
  expect(mean.changes.get('clicks')).toEqual({ now: 10, before: 9, diff: 1, percent: 100 / 9 });
  expect([...mean.changes.keys()]).toEqual(['clicks', 'spent', 'impressions']);
});

describe('the lines of a chart', () => {
  it('hold money of two currencies apart, and have no line for the rest of it', () => {
    const day = dayAt(0);
    const row = (campaignId: number, currency: string, spent: number): Row => ({
      date: day,
      campaignId,
      currency,
      spent,
      clicks: 1,
    });
    const rows = [
      row(1, 'USD', 10),
      row(1, 'EUR', 20),
      ...Array.from({ length: 12 }, (_, id) => row(id + 2, 'USD', 1)),
    ];
    const linesOf = (name: string) => groupRows(rows, [day], SPLIT, columnIn(rows, name), 'Acme');
    const money = linesOf('spent');
    expect(money.lines.slice(0, 2)).toEqual([
      { title: '1 · EUR', values: [20], isRest: false },
      { title: '1 · USD', values: [10], isRest: false },
    ]);
    expect([money.stackable, money.lines.length, money.left]).toEqual([false, 5, 9]);
    const clicks = linesOf('clicks');
    expect([clicks.lines[0], clicks.lines.at(-1)]).toEqual([
      { title: '1', values: [2], isRest: false },
      { title: '8 other campaigns', values: [8], isRest: true },
    ]);
  });

  it('of a ratio are ratios of sums, the rest of them too, the largest by divisor first', () => {
    const day = dayAt(0);
    const rows = Array.from({ length: 7 }, (_, id): Row => {
      const impressions = 1000 * (id + 1);
      return { date: day, campaignId: id + 1, impressions, clicks: id === 0 ? 1000 : 10 };
    });
    const { lines, stackable } = groupRows(rows, [day], SPLIT, columnIn(rows, 'ctr'), 'Acme');
    expect(stackable).toBe(false);
    expect(lines[0]).toEqual({ title: '7', values: [0.1429], isRest: false });
    // 1,010 clicks of 3,000 impressions; the mean of 100 % and 0.5 % is another.
    expect(lines.at(-1)).toEqual({ title: '2 other campaigns', values: [33.6667], isRest: true });
  });

  it('of an unsplit report is one, with the name that it is given', () => {
    const rows = [{ date: dayAt(0), clicks: 3 }];
    const { lines } = groupRows(rows, [dayAt(0)], ['date'], columnIn(rows, 'clicks'), 'Acme');
    expect(lines).toEqual([{ title: 'Acme', values: [3], isRest: false }]);
  });
});

describe('rows whose date is no day of the period', () => {
  it('are counted, and all others are in the chart', () => {
    fc.assert(
      fc.property(rowsOf(0), fc.integer({ min: 0, max: 6 }), (rows, from) => {
        const days = daysOf({ from: dayAt(from), to: dayAt(6) });
        const inside = rows.filter(({ date }) => days.includes(String(date)));
        const { lines, outside } = groupRows(
          [...rows, { clicks: 5 }],
          days,
          SPLIT,
          columnIn([{ clicks: 5 }], 'clicks'),
          'Acme',
        );
        expect(outside).toBe(rows.length - inside.length + 1);
        const all = lines.flatMap(({ values }) => values).reduce<number>((a, b) => a + (b ?? 0), 0);
        expect(all).toBe(sum(inside, 'clicks'));
      }),
    );
  });
});

describe('a line by day', () => {
  it('has no value where rows of a day do not add up: people, and money of two currencies', () => {
    fc.assert(
      fc.property(rowsOf(0), (rows) => {
        const days = daysOf({ from: dayAt(0), to: dayAt(6) });
        const isMixed = new Set(rows.map(({ currency }) => currency)).size > 1;
        for (const column of columnsOf(rows).filter(({ numeric }) => numeric)) {
          const values = spanValues(
            rows,
            days.map((day) => [day]),
            column,
          );
          for (const [index, day] of days.entries()) {
            const here = rows.filter(({ date }) => date === day);
            const adds = column.name === 'clicks' || (column.name === 'spent' && !isMixed);
            const expected = here.length === 0 || (here.length > 1 && !adds) ? null : sum(here, column.name);
            expect(values[index]).toBe(expected);
          }
        }
      }),
    );
  });

  it('of people has no value by week, though a week has one row', () => {
    const rows = [{ date: dayAt(0), reach: 5, clicks: 3 }];
    const of = (name: string) => spanValues(rows, [[dayAt(0), dayAt(1)]], columnIn(rows, name));
    expect([of('reach'), of('clicks')]).toEqual([[null], [3]]);
  });

  it('of 100,000 rows of one day take as many steps as there are rows, not their square', () => {
    const rows = Array.from({ length: 100_000 }, (): Row => ({ date: dayAt(0), clicks: 1 }));
    const [, clicks] = columnsOf(rows.slice(0, 1));
    expect(spanValues(rows, [[dayAt(0)], [dayAt(1)]], clicks as ReportColumn)).toEqual([100_000, null]);
  });
});
