import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Json, parseJson, writeJson } from '../../../src/reports/rows/json.js';
import { findRows, judgeSplittable, RowsError, type RowsInput } from '../../../src/reports/rows/rows.js';

const NOVEMBER = { from: '2026-11-01', to: '2026-11-30' };
const SPLIT: RowsInput = { rule: {}, period: NOVEMBER, byDate: true, splits: true };
const UNSPLIT: RowsInput = { rule: {}, period: NOVEMBER, byDate: false, splits: false };

const rowsOf = (text: string, ask: Partial<RowsInput> = {}): string =>
  writeJson(findRows(parseJson(text), { ...SPLIT, ...ask }).rows as Json);
const errorOf = (text: string, ask: Partial<RowsInput> = {}): string => {
  try {
    findRows(parseJson(text), { ...SPLIT, ...ask });
  } catch (error) {
    if (error instanceof RowsError) return error.message;
    throw error;
  }
  throw new Error('rows were found');
};

describe('findRows by rule', () => {
  it.each([
    ['the root', '[{"a":1}]', '[{"a":1}]'],
    ['an empty root', '[]', '[]'],
    ['data', '{"data":[{"a":1}],"rows":[{"b":1}]}', '[{"a":1}]'],
    ['empty data', '{"data":[],"rows":[{"b":1}]}', '[]'],
    ['any only array of objects', '{"stats":[{"a":1}]}', '[{"a":1}]'],
    ['an array two levels down', '{"result":{"rows":[{"a":1}]}}', '[{"a":1}]'],
    ['an array three levels down', '{"x":{"y":{"z":[{"a":1}]}}}', '[{"a":1}]'],
    ['the only one that holds something', '{"list":[],"other":[{"a":1}],"rows":[]}', '[{"a":1}]'],
    ['an only empty one', '{"stats":[]}', '[]'],
    ['the usual name of several empty ones', '{"filters":[],"rows":[]}', '[]'],
    ['the usual name of several', '{"advertisers":[{"b":1}],"items":[{"a":1}]}', '[{"a":1}]'],
    ['usual names in their order', '{"campaigns":[{"b":1}],"rows":[{"a":1}]}', '[{"a":1}]'],
    ['the shallowest usual name', '{"x":{"rows":[{"b":1}]},"list":[{"a":1}]}', '[{"a":1}]'],
    ['a usual name below other ones', '{"sites":[{"b":1}],"result":{"rows":[{"a":1}]}}', '[{"a":1}]'],
    ['objects, not lists of scalars', '{"currencies":["USD"],"stats":[{"a":1}]}', '[{"a":1}]'],
    ['the report, not the faults', '{"errors":[{"e":1}],"messages":[],"stats":[{"a":1}]}', '[{"a":1}]'],
    ['the report, not page links', '{"links":[{"url":"x"}],"stats":[{"a":1}]}', '[{"a":1}]'],
    ['empty objects', '[{},{}]', '[{},{}]'],
  ])('takes %s', (_, text, rows) => {
    expect(rowsOf(text)).toBe(rows);
  });

  it.each([
    ['{"a":[{"x":1}],"b":[{"x":1}]}', /^several arrays/],
    ['{"a":[],"b":[]}', /^several arrays/],
    ['{"x":{"rows":[{"a":1}]},"y":{"rows":[{"a":1}]}}', /^several arrays/],
    ['{"a":{"b":{"c":{"d":[{"x":1}]}}}}', /^there is no array of objects/],
    ['{"stats":[1,2]}', /^there is no array of objects/],
    ['{"stats":[{"a":1},2]}', /^there is no array of objects/],
    ['{"data":{"5":{"spent":1}}}', /^there is no array of objects/],
    ['{"data":{"5":{"spent":1}},"errors":[]}', /^there is no array of objects/],
    ['{"data":null}', /^there is no array of objects/],
    ['{"message":"Unauthenticated."}', /^there is no array of objects/],
    ['{}', /^there is no array of objects/],
    ['[1]', /^the root holds an element that is not an object/],
    ['[{"a":1},null]', /^the root holds an element/],
    ['[[{"a":1}]]', /^the root holds an element/],
    ['{"data":[{"a":1},[]]}', /^"data" holds an element/],
    ['null', /^the root is not an array of rows/],
    ['"text"', /^the root is not an array of rows/],
    ['1', /^the root is not an array of rows/],
  ])('refuses %s', (text, reason) => {
    expect(errorOf(text)).toMatch(reason);
  });
});

describe('findRows by configuration', () => {
  it.each([
    ['', '[{"a":1}]', '[{"a":1}]'],
    ['result.rows', '{"data":[{"b":1}],"result":{"rows":[{"a":1}]}}', '[{"a":1}]'],
    ['a.b.c.d.e', '{"a":{"b":{"c":{"d":{"e":[{"a":1}]}}}}}', '[{"a":1}]'],
    ['errors', '{"errors":[{"a":1}]}', '[{"a":1}]'],
    ['__proto__', '{"__proto__":[{"a":1}]}', '[{"a":1}]'],
  ])('follows %j in %s', (rowsPath, text, rows) => {
    expect(rowsOf(text, { rule: { rowsPath } })).toBe(rows);
  });

  it.each([
    ['result.rows', '{"data":[]}', 'the configured path "result.rows" ends before "result"'],
    ['result.rows', '{"result":[]}', 'the configured path "result.rows" ends before "rows"'],
    [
      'result.rows',
      '{"result":{"rows":{"5":{}}}}',
      '"result"."rows" is not an array of rows, though a split was asked for',
    ],
    ['data', '{"data":[1]}', '"data" holds an element that is not an object'],
    ['data', '[{"a":1}]', 'the configured path "data" ends before "data"'],
    ['toString', '{}', 'the configured path "toString" ends before "toString"'],
    ['', '{"data":[]}', 'the root is not an array of rows, though a split was asked for'],
  ])('says why %j is wrong for %s', (rowsPath, text, reason) => {
    expect(errorOf(text, { rule: { rowsPath } })).toBe(reason);
  });

  it('takes one object at the path for the unsplit report', () => {
    expect(rowsOf('{"report":{"reach":5}}', { ...UNSPLIT, rule: { rowsPath: 'report' } })).toBe(
      '[{"reach":5}]',
    );
  });
});

describe('the unsplit report', () => {
  it.each([
    ['the root', '{"reach":5,"by":{"x":1}}', '[{"reach":5,"by":{"x":1}}]'],
    ['data', '{"status":"ok","data":{"reach":5}}', '[{"reach":5}]'],
    ['result', '{"result":{"reach":"5"}}', '[{"reach":"5"}]'],
    ['report', '{"report":{"reach":null}}', '[{"reach":null}]'],
    ['data, with no faults beside it', '{"errors":[],"data":{"reach":5}}', '[{"reach":5}]'],
    ['the root, with nothing in its data', '{"data":{},"reach":5}', '[{"data":{},"reach":5}]'],
    ['the root, with no faults in it', '{"errors":[],"reach":5}', '[{"errors":[],"reach":5}]'],
    ['a list', '{"data":[{"reach":5}]}', '[{"reach":5}]'],
    ['an empty list', '{"data":[]}', '[]'],
  ])('may be %s', (_, text, rows) => {
    expect(rowsOf(text, UNSPLIT)).toBe(rows);
  });

  it.each([
    '{}',
    '{"data":{}}',
    '{"data":null}',
    '{"data":null,"message":"try again"}',
    '{"message":"Unauthenticated."}',
    '{"success":false,"code":17,"errors":["x"]}',
    '{"rows":[1,2],"total":3}',
    '"text"',
    'null',
  ])('is not %s', (text) => {
    expect(errorOf(text, UNSPLIT)).not.toBe('');
  });

  it('is no answer to a split', () => {
    expect(errorOf('{"data":{"reach":5}}', { byDate: false })).toMatch(/^there is no array/);
  });
});

describe('findRows on anything', () => {
  it('finds objects or says why not', () => {
    const rule = fc.option(fc.constantFrom('', 'data', 'a.b'), { nil: undefined });
    const member = fc.constantFrom('data', 'rows', 'result', 'a', 'b', 'errors', 'message', 'total');
    const document = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constantFrom(null, true, 1, 'x'),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(member, tie('value'), { maxKeys: 4 }),
      ),
    })).value;
    fc.assert(
      fc.property(document, rule, fc.boolean(), (value, rowsPath, splits) => {
        const text = JSON.stringify(value);
        try {
          const { rows } = findRows(parseJson(text), { ...UNSPLIT, splits, rule: { rowsPath } });
          for (const row of rows) expect(text).toContain(writeJson(row));
          if (splits) expect(text).toContain(writeJson(rows as Json));
        } catch (error) {
          if (!(error instanceof RowsError)) throw error;
          expect(error.message).not.toBe('');
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('names members in its reasons, but no values and nothing long', () => {
    expect(errorOf(`{"data":["s3cret"]}`)).not.toContain('s3cret');
    expect(errorOf('{}', { rule: { rowsPath: 'x'.repeat(5_000) } }).length).toBeLessThan(200);
  });
});

describe('splitting by day', () => {
  const judge = (text: string, dates: (string | null)[], ask: Partial<RowsInput> = {}) => {
    const whole = { ...SPLIT, ...ask };
    return judgeSplittable(findRows(parseJson(text), whole), dates, whole.period);
  };
  const D = ['2026-11-01', '2026-11-30'];

  it.each([
    '[{},{}]',
    '{"data":[{},{}]}',
    '{"status":"ok","success":true,"next":null,"data":[{},{}]}',
    '{"message":"","result":{"unit":"day","rows":[{},{}]}}',
  ])('is allowed for %s', (text) => {
    expect(judge(text, D)).toEqual({ ok: true });
  });

  it('is allowed without rows when the container allows it', () => {
    expect(judge('{"data":[]}', [])).toEqual({ ok: true });
    expect(judge('{"data":[],"count":0}', [])).toMatchObject({ ok: false });
  });

  it.each([
    ['{"data":[{},{}],"count":2}', '"count" beside the rows may vary with the period'],
    ['{"data":[{},{}],"totals":{}}', '"totals" beside the rows may vary with the period'],
    ['{"data":[{},{}],"days":[]}', '"days" beside the rows may vary with the period'],
    ['{"meta":{},"x":{"rows":[{},{}]}}', '"meta" beside the rows may vary with the period'],
    ['{"x":{"rows":[{},{}],"sum":1}}', '"sum" beside the rows may vary with the period'],
    ['{"data":[{},{}],"next_page_url":"x"}', 'the answer is one page of several'],
    ['{"data":[{},{}],"links":{"next":"x"}}', 'the answer is one page of several'],
  ])('is refused for %s', (text, reason) => {
    expect(judge(text, D)).toEqual({ ok: false, reason });
  });

  it('needs every row to have a date inside the asked period', () => {
    const cut = (dates: (string | null)[], ask: Partial<RowsInput> = {}) => judge('[{},{}]', dates, ask);
    expect(cut(['2026-11-01', null])).toEqual({ ok: false, reason: 'row 1 has no date that is a whole day' });
    for (const date of ['2026-10-31', '2026-12-01']) {
      expect(cut([date, '2026-11-01'])).toEqual({
        ok: false,
        reason: 'the date of row 0 is outside the asked period',
      });
    }
    expect(cut(D, { period: { from: null, to: null } })).toEqual({
      ok: false,
      reason: 'no period was asked for',
    });
  });

  it('needs a split by date, and an array', () => {
    expect(judge('[{},{}]', D, { byDate: false })).toEqual({
      ok: false,
      reason: 'the report is not split by date',
    });
    expect(judge('{"reach":1}', D, { splits: false })).toEqual({
      ok: false,
      reason: 'the report is one object',
    });
  });

  it('reports paging', () => {
    const found = findRows(parseJson('{"data":[{}],"meta":{"current_page":1,"last_page":2}}'), SPLIT);
    expect(found.paging).toEqual({ page: 1, pages: 2, perPage: null, total: null });
    expect(findRows(parseJson('{"data":[{}],"meta":{"total":1}}'), SPLIT).paging).toBeNull();
  });
});
