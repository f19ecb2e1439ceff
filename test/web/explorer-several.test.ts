/** Several advertisers in one report: the address, the rows together, and their CSV as one file. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toCsv } from '../../src/reports/rows/row-formats.js';
import { idIn, offersFor } from '../../src/web/explorer/advertiser-names.js';
import { columnsOf } from '../../src/web/explorer/columns.js';
import { totalOf } from '../../src/web/explorer/compare.js';
import { joinCsv, parseCsv } from '../../src/web/explorer/join-csv.js';
import type { Meta, Row } from '../../src/web/explorer/parse.js';
import {
  eachOf,
  FIRST_QUESTION,
  faultOf,
  pathOf,
  readQuestion,
  reportHref,
} from '../../src/web/explorer/question.js';
import { combine, currenciesIn, type Part } from '../../src/web/explorer/several.js';
import { parseRoute } from '../../src/web/ui/route.js';

const asked = (...ids: string[]) => {
  const [advertiserId = '', ...others] = ids;
  return { ...FIRST_QUESTION, advertiserId, others };
};

it('a typed name, or the beginning of one only, is the id of its advertiser; other text stays as typed', () => {
  const named = ['Alpine Outdoor', 'Nordic', 'Nordic Air', '7 Seas'].map((name, index) => ({
    ...{ id: index + 1, name },
    lastSeenAt: null,
  }));
  const typed = ['alpine', ' Nordic ', 'nordic a', 'nor', 'zzz', '7', '7 s', ''];
  expect(typed.map((text) => idIn(text, named))).toEqual(['1', '2', '3', 'nor', 'zzz', '7', '4', '']);
});

it('for a name that no advertiser has, those that contain its words are offered, else the nearest first', () => {
  const names = ['Alpine Outdoor', 'Nordwind Reisen', 'Outdoor Nord', null, 'Alpine Outdoor'];
  const all = names.map((name, index) => ({ id: index + 1, name, lastSeenAt: null }));
  const offered = (text: string, of = all) => {
    const { contain, offers } = offersFor(text, of);
    return [contain, ...offers.map(({ id }) => id)];
  };
  expect(offered('OUT')).toEqual([true, 1, 3, 5]);
  expect(offered('outdoor alp')).toEqual([true, 1, 5]);
  expect(offered('nordwint').slice(0, 3)).toEqual([false, 2, 3]);
  expect(offered('zzz').length).toBe(5);
  expect(offered('alpine', [{ id: 4, name: null, lastSeenAt: null }])).toEqual([false]);
  const many = Array.from({ length: 30 }, (_, id) => ({ id, name: `Alpine ${id}`, lastSeenAt: null }));
  expect(offered('alpine', many)).toEqual([true, 0, 1, 2, 3, 4, 5]);
});

describe('the address of several advertisers', () => {
  it('repeats advertiserId, and leads back to the same question', () => {
    const href = reportHref(asked('3', '1', '2'));
    expect(href).toContain('advertiserId=3&advertiserId=1&advertiserId=2');
    expect(readQuestion(parseRoute(href).query)).toEqual(asked('3', '1', '2'));
    expect(readQuestion(new URLSearchParams('advertiserId=3&advertiserId=3'))?.others).toEqual([]);
  });

  it('is asked one by one, each as a report of its own', () => {
    const paths = eachOf(asked('3', '1')).map((one) => pathOf(one));
    expect(paths.map((path) => new URLSearchParams(path.split('?')[1]).getAll('advertiserId'))).toEqual([
      ['3'],
      ['1'],
    ]);
  });

  it('has at most 20, all of them ids', () => {
    const ids = Array.from({ length: 21 }, (_, index) => String(index + 1));
    expect(faultOf(asked(...ids.slice(0, 20)))).toBeNull();
    expect(faultOf(asked(...ids))).toBe('Choose at most 20 advertisers at once.');
    expect(faultOf(asked('1', 'Alpine'))).toBe(
      'Enter an advertiser: a name from the list, or an id, a whole number.',
    );
  });
});

const META = { split: ['date'], period: { from: '2026-11-01', to: '2026-11-02' } } as const;

function part(id: string, rows: readonly Row[], meta: Partial<Meta> = {}): Part {
  const whole = { ...META, rowCount: rows.length, endpoint: 'campaigns/get', ...meta } as unknown as Meta;
  return { id, name: `Name ${id}`, report: { rows, meta: whole } };
}

const rowsOf = fc.array(
  fc.record({
    date: fc.constantFrom('2026-11-01', '2026-11-02'),
    clicks: fc.nat(1000),
    reach: fc.nat(1000),
    currency: fc.constantFrom('USD', 'EUR'),
  }),
  { maxLength: 5 },
);

describe('reports of several advertisers together', () => {
  it('have all rows, each with its advertiser first, and no totals', () => {
    fc.assert(
      fc.property(fc.array(rowsOf, { minLength: 1, maxLength: 4 }), (all) => {
        const parts = all.map((rows, index) =>
          part(String(index + 1), rows, { totals: { reach: 5 }, stale: index === 1 }),
        );
        const { rows, meta } = combine(parts);
        expect(rows.map(({ advertiserId, advertiserName, ...row }) => row)).toEqual(all.flat());
        for (const row of rows) {
          expect(Object.keys(row).slice(0, 2)).toEqual(['advertiserName', 'advertiserId']);
          expect(row.advertiserName).toBe(`Name ${row.advertiserId}`);
        }
        expect(meta).toMatchObject({
          rowCount: rows.length,
          split: ['advertiser', 'date'],
          period: META.period,
        });
        expect(meta.totals).toBeUndefined();
        expect(meta.stale).toBe(all.length > 1);
        expect(currenciesIn(rows)).toEqual([...new Set(rows.map(({ currency }) => currency))].sort());
      }),
    );
  });

  it('warn with the name of the advertiser, and are provisional from the first day that one of them is', () => {
    const warnings = [{ code: 'x', message: 'Rows are missing.' }] as unknown as Meta['warnings'];
    const { meta } = combine([
      part('1', [], { final: true, firstProvisionalDate: '2026-11-02' }),
      part('2', [], { final: false, firstProvisionalDate: '2026-11-01', ...(warnings && { warnings }) }),
    ]);
    expect([meta.final, meta.firstProvisionalDate]).toEqual([false, '2026-11-01']);
    expect(meta.warnings?.map(({ message }) => message)).toEqual(['Name 2 (2): Rows are missing.']);
  });

  it("have for each advertiser the platform's own total, also of people, else the sum of what adds up", () => {
    const rows: Row[] = [
      { date: '2026-11-01', clicks: 2, reach: 2 },
      { date: '2026-11-02', clicks: 3, reach: 2 },
    ];
    const [clicks, reach] = columnsOf(rows).filter(({ numeric }) => numeric);
    if (clicks === undefined || reach === undefined) throw new Error('no columns');
    const told = part('1', rows, { totals: { clicks: 5, reach: 3 } });
    expect([totalOf(told.report, clicks), totalOf(told.report, reach)]).toEqual([5, 3]);
    const untold = part('1', rows);
    expect([totalOf(untold.report, clicks), totalOf(untold.report, reach)]).toEqual([5, null]);
  });
});

const cell = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r', ';', '=', ' ', 'é', '\t') }),
  fc.nat(),
);

describe('the CSV of several advertisers', () => {
  it('reads back as what the gateway wrote, with id and name in front', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ a: cell, b: cell }), { minLength: 1 }), (rows) => {
        const text = toCsv(rows.map((row) => JSON.stringify(row)).join(',\n'), ['a', 'b'], { bom: true });
        const [head, ...written] = parseCsv(text.replace('\ufeff', ''));
        expect(head).toEqual(['a', 'b']);
        const joined = joinCsv([
          { id: '1', name: 'A, "B"', text },
          { id: '2', name: null, text },
        ]);
        expect(parseCsv(joined)).toEqual([
          ['advertiserId', 'advertiserName', 'a', 'b'],
          ...written.map((cells) => ['1', 'A, "B"', ...cells]),
          ...written.map((cells) => ['2', '', ...cells]),
        ]);
      }),
    );
  });

  it('keeps columns that the gateway has, puts other columns behind, and makes names safe', () => {
    const joined = joinCsv([
      { id: '1', name: 'x', text: 'date,advertiserId,clicks\r\n2026-11-01,1,5\r\n' },
      { id: '2', name: '=1+1', text: 'date,advertiserId,reach\r\n2026-11-01,2,7\r\n' },
      { id: '3', name: 'no rows', text: '' },
    ]);
    expect(joined).toBe(
      [
        'advertiserName,date,advertiserId,clicks,reach',
        'x,2026-11-01,1,5,',
        "'=1+1,2026-11-01,2,,7",
        '',
      ].join('\r\n'),
    );
    expect(joinCsv([{ id: '1', name: null, text: '' }])).toBe('');
  });

  it('leaves cells empty that an advertiser has no column for, whatever the name of the column', () => {
    const joined = joinCsv([
      { id: '1', name: 'x', text: 'constructor,__proto__,toString\r\n1,2,3\r\n' },
      { id: '2', name: 'y', text: 'clicks\r\n4\r\n' },
    ]);
    expect(parseCsv(joined)).toEqual([
      ['advertiserId', 'advertiserName', 'constructor', '__proto__', 'toString', 'clicks'],
      ['1', 'x', '1', '2', '3', ''],
      ['2', 'y', '', '', '', '4'],
    ]);
  });
});
