/** A team's daily platform calls as they run out: header and forecast for the team, log and metric for operators, by one replica of two. */
import { expect, it, onTestFinished } from 'vitest';
import { startDayPlatform } from '../engine/day-platform.js';
import { withReplicas } from '../engine/replicas.js';
import { startRedis } from '../support/redis.js';
import type { TestGateway } from '../support/start-gateway.js';
import { createTestClock, DAY, MINUTE } from '../support/test-clock.js';

const TOLD = 'a team has used most of its platform calls of this UTC day';

it('shows use and end from 80 % on, and reports each threshold once', async () => {
  const platform = await startDayPlatform();
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const shared = { platform, redis, clock: createTestClock(), prefix: 'budget' };
  const replicas = await withReplicas({ ...shared, count: 2 });
  const [here, there] = replicas.all as [TestGateway, TestGateway];
  const key = await here.addTeam({ id: 'spender', limits: { upstreamCallsPerDay: 20 } });
  await replicas.agreed();
  const me = async () => (await here.call('/gateway/v1/me', { key })).json<{ forecast?: object }>();
  const header = async (gateway = here) =>
    (await gateway.call('/gateway/v1/me', { key })).headers['gateway-budget'];
  let asked = 0;
  const spend = async (count: number) => {
    for (const until = asked + count; asked < until; ) {
      replicas.clock.advance(10 * MINUTE);
      const query = `advertiserId=${++asked}&dateFrom=2026-11-01&dateTo=2026-11-02`;
      expect((await (asked % 2 === 0 ? here : there).report(key, query)).status).toBe(200);
      await replicas.settled();
    }
  };
  const told = () =>
    replicas.all
      .flatMap(({ log }) => log)
      .filter(({ msg }) => msg === TOLD)
      .map(({ team, percent }) => [team, percent]);

  expect(await me()).not.toHaveProperty('forecast');
  await spend(15);
  expect(await header()).toBeUndefined();
  // Calls of the other replica are known some seconds later: the time is not exact.
  const exhaustedAt = expect.stringMatching(/^2026-11-21T1[45]:/);
  expect(await me()).toMatchObject({ forecast: { used: 75, exhaustedAt } });
  const shown = await here.manage('GET', '/series?range=24h&team=spender');
  expect(shown).toMatchObject({ forecast: { used: 75, exhaustedAt } });
  expect(told()).toEqual([]);
  await spend(1);
  await expect.poll(() => header()).toMatch(/^used=80, exhausted-at="1[45]:[0-5]\dZ"$/);
  // It made no call since.
  await expect.poll(() => header(there)).toBe(await header());
  const hit = await here.report(key, 'advertiserId=2&dateFrom=2026-11-01&dateTo=2026-11-02');
  expect(hit.headers['cache-status']).toContain('; hit;');
  expect(hit.headers['gateway-budget']).toMatch(/^used=80, /);
  await expect.poll(told).toEqual([['spender', 80]]);
  await spend(3);
  await expect.poll(told).toEqual([
    ['spender', 80],
    ['spender', 95],
  ]);
  const metrics = await Promise.all(replicas.all.map(({ services }) => services.metrics.registry.metrics()));
  const counted = metrics.join('\n').match(/(?<=budget_thresholds_total{percent=")\d+"} [1-9]/g);
  expect(counted?.toSorted()).toEqual(['80"} 1', '95"} 1']);
  await spend(1);
  expect(await me()).toMatchObject({ forecast: { used: 100, exhaustedAt: null } });
  expect((await here.report(key, `advertiserId=99&dateFrom=2026-11-01&dateTo=2026-11-02`)).status).toBe(429);
  replicas.clock.advance(DAY);
  expect(await me()).not.toHaveProperty('forecast');
  expect(await header()).toBeUndefined();
});
