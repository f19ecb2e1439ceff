/** How an answer visibly differs from what was asked for. */
import { expect, it } from 'vitest';
import { digestAnswer } from '../../../src/reports/rows/digest.js';

const day = (date: string | null, spent = 1) => ({ date, campaign_id: 7, spent });
const ROWS = [day('2026-11-01'), day('2026-11-02', 2), day('2026-11-03', 3)];
const TWICE = { spent: 2, date: '2026-11-02', campaign_id: 7 };

const codesOf = (answer: object, byDate = true) =>
  digestAnswer(JSON.stringify(answer), {
    rule: {},
    byDate,
    splits: byDate,
    accountPattern: /^advertiserid$/,
    whole: false,
    period: { from: '2026-11-01', to: '2026-11-03' },
  }).flaws.map(({ code }) => code);

it.each<[code: string, answer: object]>([
  ['rows_outside_range', { data: [...ROWS, day('2026-11-09')] }],
  ['rows_outside_range', { data: [day('2026-10-31'), ...ROWS] }],
  ['undated_rows', { data: [...ROWS, day(null, 6)] }],
  ['undated_rows', { data: [...ROWS, { campaign_id: 7, spent: 6 }] }],
  ['undated_rows', { data: [...ROWS, day('', 6)] }],
  ['duplicate_rows', { data: [...ROWS, ROWS[1]] }],
  ['duplicate_rows', { data: [...ROWS, TWICE, { campaign_id: 7, date: '2026-11-02' }] }],
  ['platform_warning', { data: ROWS, warnings: ['data incomplete'] }],
  ['platform_warning', { data: ROWS, meta: { warning: 'data incomplete' } }],
])('%s: %j', (code, answer) => {
  expect(codesOf(answer)).toEqual([code]);
});

it('duplicate_rows of an answer that is not split by date', () => {
  expect(codesOf({ data: [day(null), day('2026-11-01'), day(null)] }, false)).toEqual(['duplicate_rows']);
});

it.each([
  { data: ROWS, warnings: 'none', meta: { warnings: 0 } },
  { data: [day('2026-11-01 07:00:00')] },
  { data: [{ stat_date: '01.11.2026', spent: 1 }] },
  { data: [day('2026/11/01'), day('2026/11/02', 2)] },
  { data: [day('2026-11-01'), day('02.11.2026', 2)] },
  { data: [{ date: 1793491200, spent: 1 }] },
  { data: [{ date: { date: '2026-11-01 00:00:00.000000' }, spent: 1 }] },
  { data: ROWS.map((row) => ({ ...row, advertiser_id: 1 })) },
])('does not take %j for one', (answer) => {
  expect(codesOf(answer)).toEqual([]);
});
