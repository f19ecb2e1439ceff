/** A kind that is split by day, whose answers can be split no more: asked for as a whole, once. */
import { expect, it } from 'vitest';
import { byDay } from '../reports/fetch/by-day.js';
import { prove, stateOf } from '../support/prove.js';
import { rule } from '../support/scene.js';
import { reportIn, withGateway } from '../support/start-gateway.js';
import { DAY } from '../support/test-clock.js';

/** The answers of a proven kind get a row of totals. */
async function openProven() {
  const gateway = await withGateway({ config: { report: { crossCheckEvery: 0 } } });
  const key = await gateway.addTeam();
  await prove(gateway, key);
  gateway.simulator.set({ shape: 'totals' });
  async function ask(dateFrom: string, dateTo: string, more = '') {
    gateway.simulator.clearCalls();
    const reply = await gateway.report(key, byDay(dateFrom, dateTo) + more);
    await gateway.services.settled();
    const truth = gateway.simulator.truth({ advertiserId: 1, byDate: true, dateFrom, dateTo });
    expect(reportIn(reply).data).toEqual(truth);
    return gateway.simulator.calls.map(({ query }) => `${query.dateFrom}/${query.dateTo}`);
  }
  return { gateway, ask };
}

it('the answer in hand is the whole, and later ranges are asked for as a whole at once', async () => {
  const { gateway, ask } = await openProven();
  expect(await ask('2026-09-01', '2026-09-10')).toEqual(['2026-09-01/2026-09-10']);
  expect((await stateOf(gateway)).because).toMatch(
    /^an answer could not be split by day, so that is tried again after 2026-11-22 /,
  );
  expect(await ask('2026-09-02', '2026-09-11')).toEqual(['2026-09-02/2026-09-11']);
  expect(await ask('2026-11-02', '2026-11-13')).toEqual(['2026-11-02/2026-11-13']);
  expect(await ask('2026-09-01', '2026-09-10', '&_days=1')).toEqual([]);
});

it('where days were known the whole is asked for once, and after a day days are tried again', async () => {
  const { gateway, ask } = await openProven();
  const first = await ask('2026-11-01', '2026-11-13');
  expect(first).toEqual(['2026-11-13/2026-11-13', '2026-11-01/2026-11-13']);
  expect(await ask('2026-11-02', '2026-11-14')).toEqual(['2026-11-02/2026-11-14']);
  gateway.simulator.set({ shape: 'data' });
  gateway.clock.advance(DAY);
  expect(await ask('2026-11-02', '2026-11-15')).toEqual(['2026-11-13/2026-11-15']);
});

it('what is kept as a whole serves every format, and helps when the platform fails', async () => {
  const query = byDay('2026-11-01', '2026-11-10');
  const gateway = await withGateway({
    switches: { shape: 'totals' as const },
    config: rule({ divisible: 'always' }),
  });
  const key = await gateway.addTeam();
  const first = reportIn(await gateway.report(key, query));
  const calls = gateway.simulator.callCount;
  for (const more of ['_format=csv', '_format=ndjson', '_days=1']) {
    const { status, headers } = await gateway.report(key, `${query}&${more}`);
    expect([more, status, headers['cache-status']]).toEqual([more, 200, expect.stringMatching(/; hit; /)]);
  }
  const headers = { 'cache-control': 'only-if-cached' };
  expect((await gateway.report(key, `${query}&_days=1&_format=json`, { headers })).status).toBe(200);
  expect(gateway.simulator.callCount).toBe(calls);
  // Past its freshness, while the platform fails.
  gateway.clock.advance(33 * DAY);
  gateway.simulator.fault({ kind: 'status', status: 500, times: 20 });
  const old = { data: first.data, meta: { stale: true } };
  expect(reportIn(await gateway.report(key, query))).toMatchObject(old);
});
