/** The answers of a proven kind got a total: each new range was asked for twice, once for its days and once as a whole. */
import { expect, it } from 'vitest';
import { prove, stateOf } from '../support/prove.js';
import { reportIn, withGateway } from '../support/start-gateway.js';
import { DAY } from '../support/test-clock.js';

const query = (dateFrom: string, dateTo: string) =>
  `advertiserId=1&byDate=1&dateFrom=${dateFrom}&dateTo=${dateTo}`;

async function withTotals() {
  const gateway = await withGateway({ config: { report: { crossCheckEvery: 0 } } });
  const key = await gateway.addTeam();
  await prove(gateway, key);
  gateway.simulator.set({ shape: 'totals' });
  gateway.simulator.clearCalls();
  const ask = async (from: string, to: string, more = '') => {
    const reply = await gateway.report(key, query(from, to) + more);
    await gateway.services.settled();
    const calls = gateway.simulator.calls.map((call) => `${call.query.dateFrom}/${call.query.dateTo}`);
    gateway.simulator.clearCalls();
    const truth = gateway.simulator.truth({ advertiserId: 1, byDate: true, dateFrom: from, dateTo: to });
    expect(reportIn(reply).data).toEqual(truth);
    return { calls, cache: reply.headers['cache-status'] };
  };
  return { gateway, ask };
}

it('the answer in hand is the whole, and later ranges are asked for as a whole at once', async () => {
  const { gateway, ask } = await withTotals();
  const expected = (range: string) => ({ calls: [range], cache: 'dsp-gateway; fwd=miss; stored' });
  expect(await ask('2026-09-01', '2026-09-10')).toEqual(expected('2026-09-01/2026-09-10'));
  const { because } = await stateOf(gateway);
  expect(because).toMatch(/^an answer could not be split: asked for as a whole until 2026-11-22T/);
  for (const [from, to] of [
    ['2026-09-02', '2026-09-11'],
    ['2026-11-02', '2026-11-13'],
  ] as const) {
    expect(await ask(from, to)).toEqual(expected(`${from}/${to}`));
  }
  expect(await ask('2026-09-01', '2026-09-10', '&_days=1')).toMatchObject({ calls: [] });
});

it('where days were known the whole is asked for once, and after a day days are tried again', async () => {
  const { gateway, ask } = await withTotals();
  expect((await ask('2026-11-01', '2026-11-13')).calls).toEqual([
    '2026-11-13/2026-11-13',
    '2026-11-01/2026-11-13',
  ]);
  expect((await ask('2026-11-02', '2026-11-14')).calls).toEqual(['2026-11-02/2026-11-14']);
  gateway.simulator.set({ shape: 'data' });
  gateway.clock.advance(DAY);
  expect((await ask('2026-11-02', '2026-11-15')).calls).toEqual(['2026-11-13/2026-11-15']);
});
