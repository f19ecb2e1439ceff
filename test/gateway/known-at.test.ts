/** `meta.knownAt`: as of it, the very rows of the answer are given again, by whatever clock they were fetched. */
import { expect, it } from 'vitest';
import { prove } from '../support/prove.js';
import { gatewayAt, reportIn, type TestGateway, withGateway } from '../support/start-gateway.js';
import { createTestClock, MINUTE, NOON, SECOND } from '../support/test-clock.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-19&dateTo=2026-11-20';
const FORCED = { headers: { 'cache-control': 'no-cache' } };

async function scene() {
  const gateway = await withGateway();
  const key = await gateway.addTeam();
  await prove(gateway, key);
  const ask = async (of: TestGateway, query: string, call = {}) => {
    const reply = await of.report(key, query, call);
    await of.services.settled();
    return reportIn(reply);
  };
  const restate = () => gateway.simulator.restate({ advertiserId: 1, from: '2026-11-19', to: '2026-11-20' });
  return { gateway, ask, restate };
}

it('is another for other rows of the same millisecond', async () => {
  const { gateway, ask, restate } = await scene();
  const answers = [await ask(gateway, QUERY)];
  for (let times = 0; times < 3; times += 1) {
    restate();
    answers.push(await ask(gateway, QUERY, FORCED));
  }
  gateway.clock.advance(SECOND);
  expect(new Set(answers.map(({ meta }) => meta.revision)).size).toBe(4);
  for (const { data, meta } of answers)
    expect((await ask(gateway, `${QUERY}&_asOf=${meta.knownAt}`)).data).toEqual(data);
});

it('is in the order of the fetches where the clocks of replicas are not', async () => {
  const { gateway, ask, restate } = await scene();
  const ahead = await gatewayAt(gateway.simulator, {
    sharedStore: gateway.store,
    clock: createTestClock(new Date(NOON + 10 * SECOND).toISOString()),
  });
  await ahead.services.registry.refresh();
  const first = await ask(ahead, QUERY);
  restate();
  gateway.clock.advance(SECOND);
  const second = await ask(gateway, QUERY, FORCED);
  expect(second.data).not.toEqual(first.data);
  const hit = await ask(gateway, QUERY);
  expect(hit.data).toEqual(second.data);
  gateway.clock.advance(MINUTE);
  for (const { data, meta } of [first, second, hit])
    expect((await ask(gateway, `${QUERY}&_asOf=${meta.knownAt}`)).data).toEqual(data);
});
