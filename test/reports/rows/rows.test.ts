/** Which answers are taken for reports, in whatever envelope they come, and where their rows are. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestAnswer } from '../../../src/reports/rows/digest.js';
import { findErrorSign } from '../../../src/reports/rows/flaws.js';
import { type Json, type JsonObject, parseJson, writeJson } from '../../../src/reports/rows/json.js';
import { readPageHeaders, readPaging } from '../../../src/reports/rows/paging.js';
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
    ['data', '{"data":[{"a":1}],"rows":[{"b":1}]}', '[{"a":1}]'],
    ['any only array of objects', '{"stats":[{"a":1}]}', '[{"a":1}]'],
    ['an array three levels down', '{"x":{"y":{"z":[{"a":1}]}}}', '[{"a":1}]'],
    ['the only one that holds something', '{"list":[],"other":[{"a":1}],"rows":[]}', '[{"a":1}]'],
    ['an only empty one', '{"stats":[]}', '[]'],
    ['the usual name of several', '{"advertisers":[{"b":1}],"items":[{"a":1}]}', '[{"a":1}]'],
    ['usual names in their order', '{"campaigns":[{"b":1}],"rows":[{"a":1}]}', '[{"a":1}]'],
    ['a usual name below other ones', '{"sites":[{"b":1}],"result":{"rows":[{"a":1}]}}', '[{"a":1}]'],
    ['objects, not lists of scalars', '{"currencies":["USD"],"stats":[{"a":1}]}', '[{"a":1}]'],
    ['the report, not the faults', '{"errors":[{"e":1}],"messages":[],"stats":[{"a":1}]}', '[{"a":1}]'],
    ['the report, not page links', '{"links":[{"url":"x"}],"stats":[{"a":1}]}', '[{"a":1}]'],
  ])('takes %s', (_, text, rows) => {
    expect(rowsOf(text)).toBe(rows);
  });

  it.each([
    ['{"a":[{"x":1}],"b":[{"x":1}]}', /^several arrays/],
    ['{"x":{"rows":[{"a":1}]},"y":{"rows":[{"a":1}]}}', /^several arrays/],
    ['{"a":{"b":{"c":{"d":[{"x":1}]}}}}', /^there is no array of objects/],
    ['{"stats":[1,2]}', /^there is no array of objects/],
    ['{"data":{"5":{"spent":1}},"errors":[]}', /^there is no array of objects/],
    ['{"message":"Unauthenticated."}', /^there is no array of objects/],
    ['[{"a":1},null]', /^the root contains an element/],
    ['[[{"a":1}]]', /^the root contains an element/],
    ['{"data":[{"a":1},[]]}', /^"data" contains an element/],
    ['null', /^the root is not an array of rows/],
  ])('refuses %s', (text, reason) => {
    expect(errorOf(text)).toMatch(reason);
  });
});

describe('findRows by configuration', () => {
  it.each([
    ['', '[{"a":1}]', '[{"a":1}]'],
    ['result.rows', '{"data":[{"b":1}],"result":{"rows":[{"a":1}]}}', '[{"a":1}]'],
    ['__proto__', '{"__proto__":[{"a":1}]}', '[{"a":1}]'],
  ])('follows %j in %s', (rowsPath, text, rows) => {
    expect(rowsOf(text, { rule: { rowsPath } })).toBe(rows);
  });

  it.each([
    ['result.rows', '{"result":[]}', 'the configured path "result.rows" ends before "rows"'],
    [
      'result.rows',
      '{"result":{"rows":{"5":{}}}}',
      '"result"."rows" is not an array of rows, although a split was requested',
    ],
    ['toString', '{}', 'the configured path "toString" ends before "toString"'],
    ['', '{"data":[]}', 'the root is not an array of rows, although a split was requested'],
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
    ['report', '{"report":{"reach":null}}', '[{"reach":null}]'],
    ['the root, with nothing in its data', '{"data":{},"reach":5}', '[{"data":{},"reach":5}]'],
    ['the root, with no faults in it', '{"errors":[],"reach":5}', '[{"errors":[],"reach":5}]'],
  ])('may be %s', (_, text, rows) => {
    expect(rowsOf(text, UNSPLIT)).toBe(rows);
  });

  it.each([
    '{"data":{}}',
    '{"success":false,"code":17,"errors":["x"]}',
    '{"rows":[1,2],"total":3}',
    '"text"',
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
          const sign = findErrorSign(parseJson(text), null, false);
          expect(sign === null || text.includes(JSON.stringify(sign))).toBe(true);
          for (const row of rows) expect(text).toContain(writeJson(row));
          if (splits) expect(text).toContain(writeJson(rows as Json));
        } catch (error) {
          if (!(error instanceof RowsError)) throw error;
          expect(error.message).not.toBe('');
        }
      }),
    );
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
    ['{"data":[{},{}],"totals":{}}', '"totals" beside the rows may vary with the period'],
    ['{"meta":{},"x":{"rows":[{},{}]}}', '"meta" beside the rows may vary with the period'],
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
        reason: 'the date of row 0 is outside the requested period',
      });
    }
    expect(cut(D, { period: { from: null, to: null } })).toEqual({
      ok: false,
      reason: 'no period was requested',
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
});

const read = (text: string, rowCount = 2) => readPaging([parseJson(text) as JsonObject], rowCount);
const NOTHING = { page: null, pages: null, perPage: null, total: null };

describe('readPaging', () => {
  it.each([
    ['{"links":{"first":"a","next":"https://x/?page=2"}}', NOTHING],
    ['{"next_page_url":"https://x/?page=2"}', NOTHING],
    ['{"meta":{"next_cursor":"abc"}}', NOTHING],
    ['{"pageInfo":{"hasNextPage":true}}', NOTHING],
    ['{"has_more":true}', NOTHING],
    ['{"last_page":3}', { ...NOTHING, pages: 3 }],
    ['{"meta":{"total":"3"}}', { ...NOTHING, total: 3 }],
    ['{"recordsTotal":3}', { ...NOTHING, total: 3 }],
    ['{"RecordsTotal":3}', { ...NOTHING, total: 3 }],
    ['{"meta":{"row_count":3}}', { ...NOTHING, total: 3 }],
    ['{"truncated":true}', NOTHING],
    ['{"Meta":{"IsTruncated":"true"}}', NOTHING],
    [
      '{"meta":{"current_page":1,"last_page":4,"per_page":2,"total":7}}',
      { page: 1, pages: 4, perPage: 2, total: 7 },
    ],
    [
      '{"meta":{"pagination":{"current_page":4,"total_pages":4,"per_page":2,"total":8}}}',
      { page: 4, pages: 4, perPage: 2, total: 8 },
    ],
  ])('finds that %s is not all', (text, paging) => {
    expect(read(text)).toEqual(paging);
  });

  it.each([
    '{}',
    '{"links":{"next":null,"prev":"x"}}',
    '{"next":"null"}',
    '{"next":0,"next_page":0}',
    '{"nextPage":-1}',
    '{"nextCursor":"0"}',
    '{"last_page":1,"current_page":1,"total":2,"per_page":15}',
    '{"recordsTotal":2,"rowCount":2,"truncated":false}',
    '{"recordsTotal":9,"recordsFiltered":2}',
    '{"total":12.75}',
    '{"total":{"spent":900}}',
    '{"totals":{"total":900}}',
    '{"campaign":{"next":"x"}}',
  ])('takes %s for whole', (text) => {
    expect(read(text)).toBeNull();
  });

  it('looks at every container, the outer ones first', () => {
    const outer = parseJson('{"total":9}') as JsonObject;
    const inner = parseJson('{"total":2,"per_page":2}') as JsonObject;
    expect(readPaging([outer, inner], 2)).toEqual({ ...NOTHING, total: 9, perPage: 2 });
    expect(readPaging([inner, outer], 2)).toBeNull();
  });
});

describe('readPageHeaders', () => {
  const more = (headers: Readonly<Record<string, string | string[]>>) =>
    readPaging([], 100, readPageHeaders(headers));

  it.each<[string, Readonly<Record<string, string | string[]>>, number | null]>([
    ['a link to the next page', { link: '<https://x/?page=2>; rel="next"' }, null],
    [
      'a link beside others',
      { link: '<https://x/?a=1,2>; rel=prev, </p/2>; title="a, b"; REL="last NEXT"' },
      null,
    ],
    ['links in several headers', { link: ['</1>; rel=first', '</2>; rel=next'] }, null],
    ['a number of the next page', { 'x-next-page': '2' }, null],
    ['a total', { 'x-total-count': '250' }, 250],
    ['a range of items', { 'content-range': 'items 0-99/250' }, 250],
    ['a range without a unit', { 'content-range': '0-99/250' }, 250],
  ])('says that there are more rows: %s', (_what, headers, total) => {
    expect(more(headers)).toEqual({ ...NOTHING, total });
  });

  it.each<[string, Readonly<Record<string, string | string[]>>]>([
    ['nothing of pages', {}],
    [
      'links to other things',
      { link: '</app.css>; rel=preload, </1>; rel="prev first"; title="; rel=next"' },
    ],
    ['a next page in an address', { link: '<https://x/?a=;rel=next>; rel=self' }],
    ['no next page', { 'x-next-page': '' }],
    ['page 0 as the next one', { 'x-next-page': '0' }],
    ['a total of these rows', { 'x-total-count': '100' }],
    ['a range of these rows', { 'content-range': 'items 0-99/100' }],
    ['an unknown total', { 'content-range': 'items 0-99/*' }],
    ['a range of bytes', { 'content-range': 'bytes 0-999/1000' }],
  ])('says that these rows are all: %s', (_what, headers) => {
    expect(more(headers)).toBeNull();
  });

  it('reads a long link in linear time', () => {
    for (const link of ['<'.repeat(16_000), `<a>;${' '.repeat(16_000)}`, `<a>"${'<a>;x="'.repeat(2000)}`])
      expect(more({ link })).toBeNull();
  });
});

type Verdict = 'report' | 'doubtful' | 'refused';

function verdictOf(answer: unknown, splits: boolean, figures: readonly string[]): Verdict {
  try {
    const { doubt } = digestAnswer(JSON.stringify(answer), {
      rule: {},
      period: { from: '2026-11-01', to: '2026-11-10' },
      byDate: false,
      splits,
      accountPattern: /^advertiserid$/,
      known: { places: [], figures },
      whole: true,
    });
    return doubt === null ? 'report' : 'doubtful';
  } catch (error) {
    if (error instanceof RowsError) return 'refused';
    throw error;
  }
}

const COLUMNS = ['spent', 'impressions', 'clicks', 'reach', 'campaignId', 'campaignName', 'spentTotal'];
const figures = fc
  .record(
    {
      spent: fc.constantFrom<unknown>('1.50', 0, null, 12),
      impressions: fc.nat(),
      clicks: fc.nat().map(String),
      spent_total: fc.double({ noNaN: true, noDefaultInfinity: true, min: 0, max: 1e9 }),
      campaign_name: fc.constantFrom('limit', 'Error 7', 'a'),
      reach: fc.nat(),
    },
    { requiredKeys: ['reach'] },
  )
  .filter((row) => Object.values(row).some((value) => value !== null));
const rows = fc.array(
  figures.chain((row) => fc.nat().map((id) => ({ campaign_id: id, ...row }))),
  { minLength: 1, maxLength: 5 },
);

/** What goes around a report that went well. */
const envelope = fc.constantFrom<(payload: unknown) => unknown>(
  (data) => data,
  (data) => ({ data }),
  (data) => ({ code: 0, message: 'OK', data }),
  (data) => ({ success: true, error: null, errors: [], data }),
  (data) => ({ status: 'ok', result: data }),
  (data) => ({ meta: { status: 200, took: 3 }, data }),
  (data) => ({ code: 20000, msg: 'success', data }),
  (report) => ({ request_id: 'abc', report }),
);
/** What goes around a refusal with status 200. */
const cover = fc.constantFrom<(payload: unknown) => unknown>(
  (data) => data,
  (data) => ({ data }),
  (data) => ({ code: 7, data }),
  (data) => ({ retcode: 1, message: 'limit', data }),
  (data) => ({ meta: { took: 3 }, data }),
  (report) => ({ report }),
  (result) => ({ result, took: 3 }),
);
const odd = fc.constantFrom('retry', 'remaining', 'quota', 'limit', 'total', 'took', 'wait_seconds', 'hint');
const tells = fc.constantFrom('reason', 'msg', 'message', 'error', 'code');
const refusal = fc.oneof(
  fc.dictionary(odd, fc.nat(), { minKeys: 1, maxKeys: 3 }),
  fc
    .tuple(tells, fc.constantFrom('quota', 'limit reached', 'E_FAIL: error'), fc.dictionary(odd, fc.nat()))
    .map(([name, text, rest]) => ({ [name]: text, ...rest })),
  fc.constantFrom<unknown>('oops', 7, true, null),
);

describe('an answer that is not split by date', () => {
  it('is a report, whether the endpoint is known or not', () => {
    fc.assert(
      fc.property(envelope, figures, rows, fc.boolean(), (around, single, list, isKnown) => {
        const known = isKnown ? COLUMNS : [];
        expect(verdictOf(around(single), false, known)).toBe('report');
        expect(verdictOf(around(list), false, known)).toBe('report');
        expect(verdictOf(around(list), true, known)).toBe('report');
      }),
    );
  });

  it('is never a report when it is a refusal', () => {
    fc.assert(
      fc.property(cover, refusal, fc.boolean(), fc.boolean(), (around, payload, splits, isKnown) => {
        const verdict = verdictOf(around(payload), splits, isKnown ? COLUMNS : []);
        expect(verdict).not.toBe('report');
        if (isKnown) expect(verdict).toBe('refused');
      }),
    );
  });

  it.each<[Verdict, unknown, readonly string[]]>([
    ['doubtful', { code: 50001, msg: 'limit', total: 0 }, ['spent', 'total']],
    ['refused', { data: 'oops' }, []],
    ['doubtful', { code: 7, data: { spent: 3 } }, []],
    ['report', { code: 7, data: { spent: 3 } }, ['spent']],
    ['refused', { campaignId: 7, retry: 3 }, ['spent']],
    ['doubtful', { campaignId: 7, retry: 3 }, []],
    ['refused', { campaignId: 7, name: 'weekly', created_at: 1793491200 }, []],
    ['report', { campaignId: 7, auctions: 3 }, ['auctions']],
    ['doubtful', { campaignId: 7, auctions: 3 }, []],
    ['report', { code: 0, msg: 'ok', spent: 3 }, []],
    ['report', { code: 'A7', spent: 3 }, ['code', 'spent']],
    ['refused', [{ notice: 'closed', retry: 3 }], ['spent']],
    ['report', { data: { spent_total: 3 } }, ['spentTotal']],
    ['report', { data: { spent_total: 3 } }, []],
    ['doubtful', { data: { total: 3 } }, []],
    ['doubtful', { data: [{ clicks: 1 }, { spent: 3 }] }, []],
    ['refused', [{ code: 1, msg: 'limit' }], ['code', 'spent']],
    ['refused', [{ campaignId: 7, date: '2026-11-01', name: 'weekly' }], ['auctions']],
    ['doubtful', [{ campaignId: 7, date: '2026-11-01', name: 'weekly' }], []],
    ['report', [{ campaignId: 7, auctions: '1,200' }, { campaignId: 8 }], ['auctions']],
    ['report', [{ code: 1, msg: 'limit' }], ['code', 'msg']],
    ['doubtful', [{ reason: 'quota', retry: 3 }], []],
    ['report', { data: [{ reason: 'viewable', impressions: 5 }] }, []],
    ['refused', { Id: 'b8c1', Status: 1 }, []],
    ['refused', { data: { id: 'b8c1', status: 'queued', created_at: '2026-11-21T10:00:00Z' } }, []],
    ['refused', { report_id: 7, state: 'building', ready: false, download_url: null, errors: [] }, []],
    ['refused', { id: 7, name: 'weekly', status: 2 }, ['spent']],
    ['doubtful', { id: 'b8c1', status: 1, progress: 35 }, []],
    ['report', { id: 7, status: 2, spent: '1.5' }, []],
    ['report', { id: 7, name: 'weekly', status: 2 }, ['name']],
  ])('%s: %j, known for %j', (verdict, answer, columns) => {
    expect(verdictOf(answer, false, columns)).toBe(verdict);
  });
});

describe('a failure beside rows', () => {
  const ROWS = [{ campaignId: 7, spent: 3 }];

  it.each<object>([
    { success: false },
    { ok: 0 },
    { error: 'quota' },
    { error: { code: 4 } },
    { error: 17 },
    { errors: ['shard 3'] },
    { status: 'error' },
    { status: 503 },
    { code: 429 },
    { code: '404' },
    { meta: { status: { code: 500 } } },
  ])('is refused whatever the rows are: %j', (beside) => {
    for (const figures of [[], COLUMNS])
      for (const splits of [false, true])
        expect(verdictOf({ ...beside, data: ROWS }, splits, figures)).toBe('refused');
  });

  it.each<object>([
    { success: true },
    { error: null, errors: [] },
    { error: '', message: 'The limit was raised: errors are unlikely' },
    { status: 'preliminary', code: 7 },
    { status: 200, code: 0 },
    { code: 50001, errors: 3 },
  ])('is not told by %j', (beside) => {
    expect(verdictOf({ ...beside, data: ROWS }, true, [])).toBe('report');
  });
});

describe('figures of an answer', () => {
  const figuresOf = (answer: unknown, ask: object) =>
    digestAnswer(JSON.stringify(answer), {
      rule: {},
      byDate: false,
      splits: true,
      whole: true,
      accountPattern: /^advertiserid$/,
      period: { from: '2026-11-01', to: '2026-11-10' },
      ...ask,
    }).newFigures;
  const row = {
    date: '2026-11-02',
    advertiser_id: 7,
    name: '12',
    hour: 5,
    status: 2,
    auctions: 3,
    won: '1.5',
  };
  const filters = [{ column: 'advertiserId', values: ['7'], code: 'rows_of_other_advertisers' }];

  it('are its columns of numbers, but for ids, dates, names and states', () => {
    expect(figuresOf([row], { byDate: true })).toEqual(['auctions', 'won']);
    expect(figuresOf([row], { filters })).toEqual(['auctions', 'won']);
    expect(figuresOf([row], { filters, known: { places: [], figures: ['won'] } })).toEqual(['auctions']);
  });

  it('are none if nothing in it is about the question', () => {
    expect(figuresOf([row], {})).toEqual([]);
    expect(figuresOf([{ ...row, date: '2026-12-02' }], { byDate: true })).toEqual([]);
    expect(figuresOf([{ ...row, date: null }], { byDate: true })).toEqual([]);
    expect(figuresOf([{ ...row, advertiser_id: 8 }], { filters })).toEqual([]);
    expect(figuresOf({ warnings: ['late'], data: [row] }, { byDate: true })).toEqual([]);
    expect(figuresOf([row, { other: 1 }], { byDate: true })).toEqual([]);
  });
});

describe('an answer without rows', () => {
  it.each<[Verdict, object]>([
    ['refused', { code: 'E_LIMIT' }],
    ['refused', { code: 50001 }],
    ['doubtful', { reason: 'quota exceeded' }],
    ['doubtful', { message: 'Your plan has ended' }],
    ['doubtful', { message: 'partially completed' }],
    ['doubtful', { status: 'throttled' }],
    ['doubtful', { isTruncated: true }],
    ['doubtful', { meta: { incomplete: true } }],
    ['doubtful', { code: 1 }],
    ['doubtful', { header: { status: 1 } }],
    ['report', {}],
    ['report', { code: 0, message: 'OK' }],
    ['report', { code: 'A00000' }],
    ['report', { code: 'NO_DATA' }],
    // In words it is like any other sentence.
    ['doubtful', { message: 'No data found for the given period' }],
    ['report', { status: 'finished', message: 'Done.' }],
    ['report', { code: 1, msg: 'success' }],
    ['report', { code: 200000 }],
    ['report', { success: true, code: 1 }],
    ['report', { success: true, partial: false }],
    ['report', { total: 0, meta: { current_page: 1, last_page: 1, total: 0 } }],
    ['report', { currency: 'EUR', timezone: 'UTC', advertiser_id: 1 }],
  ])('is %s beside %j', (verdict, beside) => {
    for (const columns of [[], COLUMNS])
      for (const splits of [false, true])
        expect(verdictOf({ ...beside, data: [] }, splits, columns)).toBe(verdict);
  });
});

const signIn = (text: string, hasRows = false) => findErrorSign(parseJson(text), null, hasRows);

describe('an answer says that it is an error', () => {
  it.each([
    ['{"success":false}', 'success'],
    ['{"status":"INTERNAL_ERROR"}', 'status'],
    ['{"status_code":"404"}', 'status_code'],
    ['{"status":false}', 'status'],
    ['{"result":"failed"}', 'result'],
    ['{"error":"x"}', 'error'],
    ['{"error":{"code":4,"message":"x"}}', 'error'],
    ['{"errors":{"dateFrom":["is wrong"]}}', 'errors'],
    ['{"error_message":"x"}', 'error_message'],
    ['{"exception":"RuntimeException"}', 'exception'],
    ['{"hasErrors":"true","data":[]}', 'hasErrors'],
    ['{"message":"Server Error","trace":[{"file":"a"}]}', 'trace'],
    ['{"code":"E_FAIL: error"}', 'code'],
    ['{"code":-1}', 'code'],
    ['{"meta":{"status":{"code":500}}}', 'code'],
    ['{"response":{"result":{"error":"x"}}}', 'error'],
  ])('%s by %s', (text, sign) => {
    expect(signIn(text)).toBe(sign);
  });

  it.each([
    '{"success":true,"ok":1,"status":"ok","code":0,"error":null,"errors":[],"message":""}',
    '{"code":10000,"message":"Success"}',
    '{"error":{"code":0,"message":""}}',
    '{"error":"","errors":{},"exception":null}',
    '{"error":"none","error_message":"No error."}',
    '{"status":"paused"}',
    '{"is_error":false,"hasErrors":0,"failed":null}',
    '{"data":[{"status":"error","error":"x"}]}',
    '"error"',
  ])('%s does not', (text) => {
    expect(signIn(text)).toBeNull();
  });

  it('says so beside rows too, but for codes and counts', () => {
    expect(signIn('{"success":false}', true)).toBe('success');
    expect(signIn('{"errors":["shard 3"]}', true)).toBe('errors');
    expect(signIn('{"code":7,"errors":3}', true)).toBeNull();
  });
});
