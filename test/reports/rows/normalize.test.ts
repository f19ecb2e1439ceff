/** An answer of the platform, from its bytes to rows in one form. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CharsetError, charsetOf, decodeText } from '../../../src/reports/rows/decode-text.js';
import { JsonError, parseJson } from '../../../src/reports/rows/json.js';
import {
  type Normalized,
  type NormalizedRow,
  type NormalizeInput,
  normalizeAnswer,
  orderByDate,
} from '../../../src/reports/rows/normalize.js';
import { filterFlaws, rowFilters } from '../../../src/reports/rows/row-filters.js';
import { RowsError } from '../../../src/reports/rows/rows.js';
import { get } from '../query/canonical-request.js';

const BY_DATE: NormalizeInput = {
  rule: {},
  period: { from: '2026-11-01', to: '2026-11-30' },
  byDate: true,
  splits: true,
  accountPattern: /^(?:user|advertiser)ids?$/,
};
const BY_CAMPAIGN: NormalizeInput = { ...BY_DATE, byDate: false };

const jsonOf = ({ rows }: Normalized): string[] => rows.map((row) => row.json);
const rowOf = (row: string, ask = BY_CAMPAIGN): string =>
  jsonOf(normalizeAnswer(`[${row}]`, ask))[0] as string;

it('names the columns of answers with the same members once', () => {
  const columnsOf = (text: string, rule: NormalizeInput['rule'] = {}) =>
    normalizeAnswer(text, { ...BY_DATE, rule }).columns;
  const columns = columnsOf('[{"date":"2026-11-01","campaign_id":7}]');
  expect(
    columnsOf('{"data":[{"date":"2026-11-02","campaign_id":8},{"date":"2026-11-02","campaign_id":9}]}'),
  ).toBe(columns);
  const other = normalizeAnswer('[{"date":"2026-11-01","campaign_id":"2026-11-03"}]', {
    ...BY_DATE,
    rule: { dateField: 'campaignId' },
  });
  expect([other.columns, other.rows[0]?.date]).toEqual([columns, '2026-11-03']);
});

describe('a row', () => {
  it.each([
    ['{"campaign_id":7,"a__b":1}', '{"campaignId":7,"a_B":1}'],
    ['{"campaign_id":1,"campaignId":2}', '{"campaign_id":1,"campaignId":2}'],
    ['{"spent":"12.3400"}', '{"spent":12.34}'],
    ['{"spent":12.3400}', '{"spent":12.34}'],
    ['{"spent":-0.0}', '{"spent":0}'],
    ['{"spent":1e400}', '{"spent":"1e400"}'],
    ['{"spent":"007"}', '{"spent":"007"}'],
    [
      '{"campaign_id":"7","name":"1","siteDomain":"2","zip":"01234","Currency":"5"}',
      '{"campaignId":"7","name":"1","siteDomain":"2","zip":"01234","Currency":"5"}',
    ],
    ['{"a":null,"b":true,"c":false,"d":""}', '{"a":null,"b":true,"c":false,"d":""}'],
    [
      '{"x":{"a_b":"1.50","n":1.50,"big":1e400},"y":["2",2.0]}',
      '{"x":{"a_b":"1.50","n":1.5,"big":"1e400"},"y":["2",2]}',
    ],
    ['{"__proto__":"1","constructor":{"__proto__":2}}', '{"_Proto__":1,"constructor":{"__proto__":2}}'],
    ['{"10":"a","2":"b"}', '{"10":"a","2":"b"}'],
    ['{"a":"line\\nbreak \\ud800"}', '{"a":"line\\nbreak \\ud800"}'],
  ])('%s → %s', (row, json) => {
    expect(rowOf(row)).toBe(json);
  });

  it.each([
    ['{"date":"2026-11-01 00:00:00"}', '{"date":"2026-11-01"}', '2026-11-01'],
    ['{"day":"2026-11-01T00:00:00.000Z"}', '{"day":"2026-11-01"}', '2026-11-01'],
    ['{"date":"2026-11-01 13:00:00"}', '{"date":"2026-11-01 13:00:00"}', null],
    ['{"date":"20261101"}', '{"date":"20261101"}', null],
    ['{"day":"5","date":"2026-11-01"}', '{"day":5,"date":"2026-11-01"}', '2026-11-01'],
    ['{"other":"2026-11-01 00:00:00"}', '{"other":"2026-11-01 00:00:00"}', null],
  ])('%s is dated: %s, %s', (row, json, date) => {
    expect(normalizeAnswer(`[${row}]`, BY_DATE).rows).toEqual([
      { json, date, columns: Object.keys(JSON.parse(json)) },
    ]);
  });

  it('takes its date from the configured member, in either spelling, and from no other', () => {
    const row = '{"stat_date":"2026-11-02 00:00:00","date":"2026-11-01 00:00:00"}';
    for (const dateField of ['stat_date', 'statDate']) {
      const [only] = normalizeAnswer(`[${row}]`, { ...BY_DATE, rule: { dateField } }).rows;
      expect(only).toMatchObject({
        date: '2026-11-02',
        json: '{"statDate":"2026-11-02","date":"2026-11-01 00:00:00"}',
      });
    }
    const [none] = normalizeAnswer(`[${row}]`, { ...BY_DATE, rule: { dateField: 'x' } }).rows;
    expect(none?.date).toBeNull();
  });

  it('loses no member and no value', () => {
    const name = fc.oneof(fc.stringMatching(/^[ab_]{1,4}(?:_id)?$/), fc.string());
    const value = fc.oneof(fc.jsonValue(), fc.stringMatching(/^-?[0-9]{1,3}(?:\.[0-9]{1,3})?$/), fc.double());
    const row = fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key });
    fc.assert(
      fc.property(fc.array(row, { minLength: 1, maxLength: 5 }), (rows) => {
        const texts = rows.map((members) => {
          return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${JSON.stringify(item)}`).join(',')}}`;
        });
        const answer = normalizeAnswer(`{"data":[${texts.join(',')}]}`, BY_CAMPAIGN);
        for (const [index, members] of rows.entries()) {
          const { json, columns } = answer.rows[index] as NormalizedRow;
          expect(json).not.toContain('\n');
          const back = JSON.parse(json);
          expect(new Set(Object.keys(back))).toEqual(new Set(columns));
          expect(columns.length).toBe(members.length);
          for (const [at, [, item]] of members.entries()) {
            const kept = back[columns[at] as string];
            if (typeof item === 'string' && typeof kept === 'number') expect(kept).toBe(Number(item) + 0);
            // A number in a column of texts is a text.
            else if (typeof item === 'number' && typeof kept === 'string')
              expect(Number(kept)).toBe(item + 0);
            else expect(JSON.stringify(kept)).toBe(JSON.stringify(item));
          }
        }
      }),
    );
  });
});

describe('the members of a row', () => {
  const wide = (count: number, from = 0) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${from + at}`, 1]));
  const deep = (parts: number) => ({
    total: 1,
    ...Object.fromEntries(Array.from({ length: parts }, (_, at) => [`part${at}`, wide(99)])),
  });
  const read = (document: unknown) =>
    normalizeAnswer(JSON.stringify(document), { ...BY_CAMPAIGN, splits: false });

  it('may be 2,000, nested ones included, and those of all rows 10,000', () => {
    for (const row of [wide(2000), deep(19)])
      for (const document of [[row], { data: [row, row] }, { data: row }])
        expect(read(document).rows.length).toBeGreaterThan(0);
    expect(read(Array.from({ length: 5 }, (_, at) => wide(2000, 2000 * at))).columns).toHaveLength(10_000);
  });

  it('are refused beyond, before they are looked at', () => {
    for (const row of [wide(2001), deep(20)]) {
      for (const document of [[row], { data: [wide(1), row] }])
        expect(() => read(document)).toThrow(/^more than 2000 members in one item at position/);
      expect(() => read({ data: row })).toThrow(RowsError);
    }
    const distinct = Array.from({ length: 6 }, (_, at) => wide(2000, 2000 * at));
    expect(() => read(distinct)).toThrow('the rows have more than 10000 different members');
  });
});

describe('an answer', () => {
  it('has the union of columns in the order first seen, and one list for rows of one shape', () => {
    const answer = normalizeAnswer('[{"b_c":1,"a":1},{"a":1},{"b_c":2,"a":2},{"z":1,"a":1}]', BY_CAMPAIGN);
    expect(answer.columns).toEqual(['bC', 'a', 'z']);
    expect(answer.rows.map((row) => row.columns)).toEqual([['bC', 'a'], ['a'], ['bC', 'a'], ['z', 'a']]);
    expect(answer.rows[2]?.columns).toBe(answer.rows[0]?.columns);
    expect(normalizeAnswer('[]', BY_DATE)).toEqual({
      drafts: [],
      types: new Map(),
      rows: [],
      columns: [],
      accounts: [],
      splittable: { ok: true },
      paging: null,
      place: '',
      doubt: null,
      flaws: [],
      newFigures: [],
    });
  });

  it('is in date order when split by date, else as it came', () => {
    const text =
      '[{"date":"2026-11-02","n":1},{"date":"2026-11-01 00:00:00","n":2},{"date":"2026-11-02","n":3},{"day":"2026-11-01","n":4}]';
    const order = (ask: NormalizeInput): unknown[] =>
      jsonOf(normalizeAnswer(text, ask)).map((row) => JSON.parse(row).n);
    expect(order(BY_DATE)).toEqual([2, 4, 1, 3]);
    expect(order(BY_CAMPAIGN)).toEqual([1, 2, 3, 4]);
  });

  it('names the accounts of the whole document, each once, sorted', () => {
    const text = '{"query":{"advertiser_id":9},"data":[{"user_id":2},{"user_id":10},{"user_id":"2"}]}';
    expect(normalizeAnswer(text, BY_CAMPAIGN).accounts).toEqual(['10', '2', '9']);
  });

  it('may be one object when nothing was split', () => {
    const answer = normalizeAnswer('{"data":{"total_reach":"5"}}', { ...BY_CAMPAIGN, splits: false });
    expect(jsonOf(answer)).toEqual(['{"totalReach":5}']);
    expect(answer.splittable).toMatchObject({ ok: false });
  });

  it.each(['', '[{"a":1,"a":2}]'])('is refused when it is %j', (text) => {
    expect(() => normalizeAnswer(text, BY_CAMPAIGN)).toThrow(JsonError);
  });

  it('is refused when there are no rows in it', () => {
    expect(() => normalizeAnswer('{"message":"x"}', BY_CAMPAIGN)).toThrow(RowsError);
  });
});

describe('orderByDate', () => {
  it('is a stable sort by date, with undated rows last', () => {
    const date = fc.option(fc.constantFrom('2026-11-01', '2026-11-02', '2025-12-31', '2026-01-10'));
    fc.assert(
      fc.property(fc.array(date, { maxLength: 30 }), (dates) => {
        const rows = dates.map((one, index) => ({ json: String(index), date: one, columns: [] }));
        const key = (row: NormalizedRow): string => `${row.date ?? '9999'} ${row.json.padStart(3, '0')}`;
        const ordered = orderByDate(rows);
        expect(ordered.map(key)).toEqual(rows.map(key).sort());
      }),
    );
  });
});

const bytes = (...values: number[]) => Buffer.from(values);
const TEXT = '[{"name":"Zürich €5"}]';

describe('charsetOf', () => {
  it.each<[string, string | null]>([
    ['application/json', null],
    ['application/json;charset="ISO-8859-1"; x=y', 'iso-8859-1'],
    ['application/json; charset =windows-1252', 'windows-1252'],
  ])('of %s is %s', (contentType, charset) => {
    expect(charsetOf(contentType)).toBe(charset);
  });
});

describe('decodeText', () => {
  it.each<[string | null, Buffer]>([
    [null, Buffer.from(TEXT)],
    ['windows-1252', Buffer.from(TEXT.replace('€', '\x80'), 'latin1')],
    ['utf-16le', Buffer.from(TEXT, 'utf16le')],
    ['utf-16be', Buffer.from(TEXT, 'utf16le').swap16()],
  ])('reads %s', (charset, body) => {
    expect(decodeText(body, charset)).toBe(TEXT);
  });

  it('believes a byte order mark before anything else, and leaves it there', () => {
    expect(decodeText(Buffer.from(`\ufeff${TEXT}`), 'iso-8859-1')).toBe(`\ufeff${TEXT}`);
    expect(decodeText(Buffer.from(`\ufeff${TEXT}`, 'utf16le'), null)).toBe(`\ufeff${TEXT}`);
    expect(decodeText(Buffer.from(`\ufeff${TEXT}`, 'utf16le').swap16(), 'utf-8')).toBe(`\ufeff${TEXT}`);
  });

  it.each<[string, string | null, Buffer]>([
    ['a lone byte of Latin 1', null, bytes(0x22, 0xfc, 0x22)],
    ['a surrogate', 'utf-8', bytes(0xed, 0xa0, 0x80)],
    ['a high byte in ASCII', 'us-ascii', bytes(0xfc)],
    ['half a unit of UTF-16', 'utf-16le', bytes(0x22, 0x00, 0x22)],
    ['a lone surrogate of UTF-16', 'utf-16le', bytes(0x00, 0xd8, 0x22, 0x00)],
    ['an unknown charset', 'klingon', bytes(0x22, 0x22)],
  ])('refuses %s', (_what, charset, body) => {
    expect(() => decodeText(body, charset)).toThrow(CharsetError);
  });
});

const FIELDS = ['advertiserId', 'userId'];

function codesFor(query: string, rows: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  const read = rows.map((row) => ({
    values: Object.values(row).map((value) => parseJson(JSON.stringify(value))),
    plan: { columns: Object.keys(row) },
  }));
  return filterFlaws(read, rowFilters(get(query).report, FIELDS)).map(({ code }) => code);
}

it.each<[string, readonly Readonly<Record<string, unknown>>[], readonly string[]]>([
  ['campaignIds[]=2&campaignIds[]=3', [{ campaignId: 2 }, { campaignId: '3' }], []],
  ['campaignIds[]=2', [{ campaignId: 2 }, { campaignId: 3 }], ['rows_of_other_campaigns']],
  ['campaignIds[]=2', [{ campaignId: null }, { spent: 3 }], []],
  ['advertiserId=1', [{ advertiserId: 1 }, { advertiserId: 2 }], ['rows_of_other_advertisers']],
  ['userId=1', [{ userId: 2, advertiserId: 1 }], ['rows_of_other_advertisers']],
  ['creativeIds[]=5', [{ creativeId: 6 }], ['rows_outside_filter']],
  ['country=DE', [{ country: 'de' }, { country: 'FR' }], ['rows_outside_filter']],
  ['campaignIds[]=2', [{ campaignId: '0002' }, { campaignId: '+2' }], []],
  ['bannerIds[]=0005', [{ bannerId: 5 }], []],
  ['campaignIds[]=2', [{ campaignId: '0020' }], ['rows_of_other_campaigns']],
  ['bannerIds[]=9007199254740993', [{ bannerId: '009007199254740992' }], ['rows_outside_filter']],
  ['bannerIds=5|6', [{ bannerId: 5 }], []],
  ['creativeId=!7', [{ creativeId: 8 }], []],
  ['byCampaign=1&spentBased=usd', [{ campaignId: 3, byCampaign: 2 }], []],
])('%s of %j: %j', (query, rows, codes) => {
  expect(codesFor(query, rows)).toEqual(codes);
});
