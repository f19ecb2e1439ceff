import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonError } from '../../../src/reports/rows/json.js';
import {
  type Normalized,
  type NormalizedRow,
  type NormalizeInput,
  normalizeAnswer,
  orderByDate,
} from '../../../src/reports/rows/normalize.js';
import { RowsError } from '../../../src/reports/rows/rows.js';

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

describe('a row', () => {
  it.each([
    ['{"campaign_id":7,"a__b":1}', '{"campaignId":7,"a_B":1}'],
    ['{"campaignId":1,"campaign_id":2}', '{"campaignId":1,"campaign_id":2}'],
    ['{"campaign_id":1,"campaignId":2}', '{"campaign_id":1,"campaignId":2}'],
    ['{"spent":"12.3400"}', '{"spent":12.34}'],
    ['{"spent":12.3400}', '{"spent":12.34}'],
    ['{"spent":"-0"}', '{"spent":0}'],
    ['{"spent":-0.0}', '{"spent":0}'],
    ['{"spent":"1e5"}', '{"spent":"1e5"}'],
    ['{"spent":1e5}', '{"spent":100000}'],
    ['{"spent":1e400}', '{"spent":"1e400"}'],
    ['{"spent":"1234567890123456"}', '{"spent":"1234567890123456"}'],
    ['{"spent":9007199254740993}', '{"spent":"9007199254740993"}'],
    ['{"spent":" 1"}', '{"spent":" 1"}'],
    ['{"spent":"007"}', '{"spent":"007"}'],
    [
      '{"campaign_id":"7","name":"1","siteDomain":"2","zip":"01234","Currency":"5"}',
      '{"campaignId":"7","name":"1","siteDomain":"2","zip":"01234","Currency":"5"}',
    ],
    [
      '{"click_url":"1","title":"2","label":"3","geoCode":"4"}',
      '{"clickUrl":"1","title":"2","label":"3","geoCode":"4"}',
    ],
    ['{"campaign_id":7.0}', '{"campaignId":7}'],
    ['{"a":null,"b":true,"c":false,"d":""}', '{"a":null,"b":true,"c":false,"d":""}'],
    [
      '{"x":{"a_b":"1.50","n":1.50,"big":1e400},"y":["2",2.0]}',
      '{"x":{"a_b":"1.50","n":1.5,"big":"1e400"},"y":["2",2]}',
    ],
    ['{"__proto__":"1","constructor":{"__proto__":2}}', '{"_Proto__":1,"constructor":{"__proto__":2}}'],
    ['{"10":"a","2":"b"}', '{"10":"a","2":"b"}'],
    ['{"a":"line\\nbreak \\ud800"}', '{"a":"line\\nbreak \\ud800"}'],
    ['{"a_\\u0062":"x"}', '{"aB":"x"}'],
    ['{}', '{}'],
  ])('%s → %s', (row, json) => {
    expect(rowOf(row)).toBe(json);
  });

  it.each([
    ['{"date":"2026-11-01 00:00:00"}', '{"date":"2026-11-01"}', '2026-11-01'],
    ['{"day":"2026-11-01T00:00:00.000Z"}', '{"day":"2026-11-01"}', '2026-11-01'],
    ['{"date":"2026-11-01 13:00:00"}', '{"date":"2026-11-01 13:00:00"}', null],
    ['{"date":"20261101"}', '{"date":"20261101"}', null],
    ['{"date":20261101}', '{"date":20261101}', null],
    ['{"date":null}', '{"date":null}', null],
    ['{"day":"5","date":"2026-11-01"}', '{"day":5,"date":"2026-11-01"}', '2026-11-01'],
    ['{"other":"2026-11-01 00:00:00"}', '{"other":"2026-11-01 00:00:00"}', null],
  ])('%s is dated: %s, %s', (row, json, date) => {
    expect(normalizeAnswer(`[${row}]`, BY_DATE).rows).toEqual(
      [{ json, date, columns: [expect.any(String)] }].map((expected) => ({
        ...expected,
        columns: Object.keys(JSON.parse(json)),
      })),
    );
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
      { numRuns: 500 },
    );
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
    });
  });

  it('is in date order where rows name their date otherwise than the first one', () => {
    const given = [
      { date: '2026-11-03', spent: 3 },
      { day: '2026-11-01', spent: 1 },
      { date: '2026-11-02', spent: 2 },
    ];
    const { rows } = normalizeAnswer(JSON.stringify(given), BY_DATE);
    expect(rows.map(({ date }) => date)).toEqual(['2026-11-01', '2026-11-02', '2026-11-03']);
  });

  it('is in date order when split by date, else as it came', () => {
    const text =
      '[{"date":"2026-11-02","n":1},{"date":"2026-11-01 00:00:00","n":2},{"date":"2026-11-02","n":3},{"date":"2026-11-01","n":4}]';
    const order = (ask: NormalizeInput): unknown[] =>
      jsonOf(normalizeAnswer(text, ask)).map((row) => JSON.parse(row).n);
    expect(order(BY_DATE)).toEqual([2, 4, 1, 3]);
    expect(order(BY_CAMPAIGN)).toEqual([1, 2, 3, 4]);
  });

  it('is splittable when every row is dated inside the period and nothing beside them varies', () => {
    const splittable = (text: string): unknown => normalizeAnswer(text, BY_DATE).splittable;
    expect(
      splittable('{"status":"ok","data":[{"date":"2026-11-01"},{"date":"2026-11-30T00:00:00Z"}]}'),
    ).toEqual({ ok: true });
    expect(splittable('[{"date":"2026-11-01"},{"spent":1}]')).toEqual({
      ok: false,
      reason: 'row 1 has no date that is a whole day',
    });
    expect(splittable('[{"date":"2026-12-01"}]')).toMatchObject({ ok: false });
    expect(splittable('[{"date":"2026-11-01 05:00:00"}]')).toMatchObject({ ok: false });
    expect(splittable('{"data":[{"date":"2026-11-01"}],"total":1}')).toMatchObject({ ok: false });
  });

  it('names the accounts of the whole document, each once, sorted', () => {
    const text = '{"query":{"advertiser_id":9},"data":[{"user_id":2},{"user_id":10},{"user_id":"2"}]}';
    expect(normalizeAnswer(text, BY_CAMPAIGN).accounts).toEqual(['10', '2', '9']);
  });

  it('shows paging', () => {
    const text = '{"data":[{"a":1}],"current_page":1,"last_page":3,"per_page":1,"total":3}';
    expect(normalizeAnswer(text, BY_CAMPAIGN).paging).toEqual({ page: 1, pages: 3, perPage: 1, total: 3 });
  });

  it('may be one object when nothing was split', () => {
    const answer = normalizeAnswer('{"data":{"total_reach":"5"}}', { ...BY_CAMPAIGN, splits: false });
    expect(jsonOf(answer)).toEqual(['{"totalReach":5}']);
    expect(answer.splittable).toMatchObject({ ok: false });
  });

  it('may begin with a byte order mark', () => {
    expect(jsonOf(normalizeAnswer('\ufeff[{"a":1}]', BY_CAMPAIGN))).toEqual(['{"a":1}']);
  });

  it.each(['', '<html></html>', '[{"a":1}', '[{"a":1,"a":2}]', '[{"a":NaN}]', '['.repeat(65)])(
    'is refused when it is %j',
    (text) => {
      expect(() => normalizeAnswer(text, BY_CAMPAIGN)).toThrow(JsonError);
    },
  );

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
