/** Which answers are taken for reports, in whatever envelope they come. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestAnswer } from '../../../src/reports/rows/digest.js';
import { RowsError } from '../../../src/reports/rows/rows.js';

type Verdict = 'report' | 'doubtful' | 'refused';

function verdictOf(answer: unknown, splits: boolean, columns: readonly string[]): Verdict {
  try {
    const { doubt } = digestAnswer(JSON.stringify(answer), {
      rule: {},
      period: { from: '2026-11-01', to: '2026-11-10' },
      byDate: false,
      splits,
      accountPattern: /^advertiserid$/,
      known: { places: [], columns },
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
    ['refused', { code: 50001, msg: 'limit', total: 0 }, []],
    ['doubtful', { code: 50001, msg: 'limit', total: 0 }, ['spent', 'total']],
    ['refused', { data: 'oops' }, []],
    ['refused', { code: 7, data: { reason: 'quota', retry: 3 } }, []],
    ['doubtful', { code: 7, data: { spent: 3 } }, []],
    ['report', { code: 7, data: { spent: 3 } }, ['spent']],
    ['doubtful', { total: 0 }, []],
    ['doubtful', { campaignId: 7, retry: 3 }, ['campaignId', 'spent']],
    ['report', { code: 0, msg: 'ok', spent: 3 }, []],
    ['report', { code: 'A7', spent: 3 }, ['code', 'spent']],
    ['refused', [{ notice: 'closed', retry: 3 }], ['spent']],
    ['report', { data: { spent_total: 3 } }, ['spentTotal']],
    ['doubtful', [{ code: 1, msg: 'limit' }], []],
    ['doubtful', [{ code: 1, msg: 'limit' }], ['code', 'spent']],
    ['report', [{ code: 1, msg: 'limit' }], ['code', 'msg']],
    ['doubtful', { data: [{}] }, []],
    ['doubtful', [{ reason: 'quota', retry: 3 }], []],
    ['doubtful', { data: [{ reason: 'quota', retry_after: 3 }] }, []],
    ['refused', { rows: [{ code: 4, msg: 'limit' }] }, []],
    ['report', { data: [{ reason: 'viewable', impressions: 5 }] }, []],
    ['report', { data: [{ code: 'SUMMER', orders: 4 }] }, []],
  ])('%s: %j, known for %j', (verdict, answer, columns) => {
    expect(verdictOf(answer, false, columns)).toBe(verdict);
  });
});

describe('an answer without rows', () => {
  it.each<[Verdict, object]>([
    ['refused', { code: 'E_LIMIT' }],
    ['refused', { code: 'RATE_LIMITED' }],
    ['refused', { code: 50001 }],
    ['doubtful', { reason: 'quota exceeded' }],
    ['doubtful', { info: 'limit exceeded' }],
    ['doubtful', { message: 'Your plan has ended' }],
    ['doubtful', { messages: ['Your plan has ended'] }],
    ['doubtful', { message: 'not ok' }],
    ['doubtful', { message: 'partially completed' }],
    ['doubtful', { meta: { reason: 'quota exceeded' } }],
    ['doubtful', { status: 'throttled' }],
    ['doubtful', { partial: true }],
    ['doubtful', { isTruncated: true }],
    ['doubtful', { meta: { incomplete: true } }],
    ['doubtful', { code: 1 }],
    ['doubtful', { header: { status: 1 } }],
    ['report', {}],
    ['report', { code: 0, message: 'OK' }],
    ['report', { code: 'SUCCESS' }],
    ['report', { code: 'A00000' }],
    ['report', { code: 'NO_DATA' }],
    ['report', { code: 'OK', message: 'no data' }],
    ['report', { message: 'No data found for the given period' }],
    ['report', { message: 'Request successful.' }],
    ['report', { code: 1, msg: 'success' }],
    ['report', { code: 20000 }],
    ['report', { code: 200000 }],
    ['report', { success: true, code: 1 }],
    ['report', { status: 1 }],
    ['report', { success: true, partial: false }],
    ['report', { status: 'success' }],
    ['report', { total: 0, meta: { current_page: 1, last_page: 1, total: 0 } }],
    ['report', { currency: 'EUR', timezone: 'UTC', advertiser_id: 1 }],
  ])('is %s beside %j', (verdict, beside) => {
    for (const columns of [[], COLUMNS])
      for (const splits of [false, true])
        expect(verdictOf({ ...beside, data: [] }, splits, columns)).toBe(verdict);
  });
});
