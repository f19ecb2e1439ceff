/** What a report counts as whose totals the platform does not give. */
import { expect, it } from 'vitest';
import { outcomeOf, reportIn, type SimulatedGateway, withTeam } from '../support/start-gateway.js';
import { RESTATING } from './reports.js';

const ROWS = `${RESTATING}&byDate=1`;

async function savedCalls(gateway: SimulatedGateway): Promise<number> {
  await gateway.services.settled();
  await gateway.services.tally.flush();
  const { usage } = (await gateway.manage('GET', '/usage')) as { usage: { upstreamCallsSaved: number }[] };
  return usage.reduce((sum, day) => sum + day.upstreamCallsSaved, 0);
}

it('a cached report without its totals, which no call was made for, saves the call of its rows alone', async () => {
  const { gateway, key } = await withTeam();
  await gateway.report(key, ROWS);
  gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
  while (outcomeOf(await gateway.report(key, 'advertiserId=2')) !== '503 upstream_circuit_open');
  const before = await savedCalls(gateway);
  const reply = await gateway.report(key, `${ROWS}&_totals=1`);
  expect(reportIn(reply).meta.warnings).toMatchObject([{ code: 'totals_unavailable' }]);
  expect((await savedCalls(gateway)) - before).toBe(1);
});
