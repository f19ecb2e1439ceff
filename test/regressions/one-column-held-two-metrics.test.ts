/** `spent_total` and `spentTotal` are two metrics: where a row had the first alone, it went by the name of the second. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { digestAnswer } from '../../src/reports/rows/digest.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';

const ask = (from: string, to: string) => `advertiserId=1&byDate=1&dateFrom=${from}&dateTo=${to}`;
const ALONE = { date: '2026-11-01', spent_total: 1 };
const BOTH = { date: '2026-11-02', spent_total: 2, spentTotal: 20 };
const SHOWN = [
  { date: '2026-11-01', spent_total: 1 },
  { date: '2026-11-02', spent_total: 2, spentTotal: 20 },
];
const BARE = [{ date: '2026-11-03', spentTotal: 30 }];

async function started(rows: readonly object[]) {
  const platform = await startRawPlatform(sends(JSON.stringify(rows)));
  const gateway = await gatewayAt(platform, {
    config: { report: { endpoints: { 'campaigns/get': { divisible: 'always' } } } },
  });
  return { platform, gateway, key: await gateway.addTeam() };
}

it('names the columns of one answer alike in all rows', async () => {
  const { gateway, key } = await started([ALONE, BOTH]);
  const query = ask('2026-11-01', '2026-11-02');
  expect(reportIn(await gateway.report(key, query)).data).toEqual(SHOWN);
  const csv = await gateway.report(key, `${query}&_format=csv`);
  expect(csv.text).toBe('date,spent_total,spentTotal\r\n2026-11-01,1,\r\n2026-11-02,2,20\r\n');
});

it('names them alike where days come from several answers, of whichever metric', async () => {
  const { platform, gateway, key } = await started([ALONE]);
  const first = reportIn(await gateway.report(key, ask('2026-11-01', '2026-11-01')));
  expect(first.data).toEqual([{ date: '2026-11-01', spentTotal: 1 }]);
  platform.answer(sends(JSON.stringify(BARE)));
  await gateway.report(key, ask('2026-11-03', '2026-11-03'));
  await gateway.services.reporting.settled();
  platform.answer(sends(JSON.stringify([BOTH])));
  const all = reportIn(await gateway.report(key, ask('2026-11-01', '2026-11-03')));
  expect(all.data).toEqual([...SHOWN, ...BARE]);
  const csv = await gateway.report(key, `${ask('2026-11-01', '2026-11-03')}&_format=csv`);
  expect(csv.text).toBe(
    'date,spent_total,spentTotal\r\n2026-11-01,1,\r\n2026-11-02,2,20\r\n2026-11-03,,30\r\n',
  );
});

it('gives the shared name to the first member where none is spelt so, days joined', async () => {
  const { platform, gateway, key } = await started([{ date: '2026-11-01', aB_c: 1 }]);
  await gateway.report(key, ask('2026-11-01', '2026-11-01'));
  await gateway.services.reporting.settled();
  platform.answer(sends(JSON.stringify([{ date: '2026-11-02', a_b_c: 2, aB_c: 3 }])));
  const alone = reportIn(await gateway.report(key, ask('2026-11-02', '2026-11-02')));
  expect(alone.data).toEqual([{ date: '2026-11-02', aBC: 2, aB_c: 3 }]);
  const both = reportIn(await gateway.report(key, ask('2026-11-01', '2026-11-02')));
  expect(both.data).toEqual([
    { date: '2026-11-01', aBC: 1 },
    { date: '2026-11-02', a_b_c: 2, aBC: 3 },
  ]);
});

it('gives a day as it would be alone, whatever the names of other days', () => {
  const period = { from: '2026-11-01', to: '2026-11-03' };
  const row = fc.record(
    {
      date: fc.constantFrom('2026-11-01', '2026-11-02', '2026-11-03'),
      ...{ spent_total: fc.nat(9), spentTotal: fc.nat(9), a_b_c: fc.nat(9), aB_c: fc.nat(9) },
    },
    { requiredKeys: ['date'] },
  );
  const digest = (rows: readonly object[], range: typeof period) =>
    digestAnswer(JSON.stringify(rows), {
      ...{ rule: {}, byDate: true, splits: true, accountPattern: /^advertiserid$/, whole: false },
      period: range,
    }).days;
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 8 }), (rows) => {
      for (const day of digest(rows, period) ?? []) {
        const own = rows.filter(({ date }) => date === day.date);
        expect(digest(own, { from: day.date, to: day.date })).toEqual([day]);
      }
    }),
  );
});
