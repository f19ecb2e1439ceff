/** The limits of a team, and turns at the platform, kept by three gateways on one Redis together. */
import { randomBytes } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { type Answer, admin, ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { type Env, startGateway, startPlatform } from '../support/processes.js';
import { startRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

async function openFleet() {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const platform = await startPlatform();
  const env: Env = {
    ...platform.env,
    GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
    ADMIN_TOKEN: 'an-admin-token-for-tests',
    REDIS_URL: redis.url,
  };
  const gateways = await Promise.all([startGateway(env), startGateway(env), startGateway(env)]);
  const [first] = gateways;
  if (first === undefined) throw new Error('no gateway was started');
  const replicas = async (count: number) => {
    for (const gateway of gateways.slice(0, count))
      await waitFor(
        `${count} replicas`,
        async () => (await admin<{ replicas: number }>(gateway, 'GET', '/status')).replicas === count,
      );
  };
  await replicas(3);
  return { gateways, first, replicas, sim: simulatorOf(platform.url) };
}

const codeOf = (answer: Answer) => (answer.status === 200 ? '200' : answer.json<{ code: string }>().code);
const day = (of: number) =>
  `${REPORT}?advertiserId=1&dateFrom=2026-01-01&dateTo=2026-01-${String(of).padStart(2, '0')}`;

it('three gateways keep to one limit together, and to two thirds of the turns when one is killed', async () => {
  const { gateways, first, replicas, sim } = await openFleet();
  const requestsPerMinute = 120;
  const { key } = await newTeam(first, { id: 'rate', limits: { requestsPerMinute, maxConcurrent: 100 } });
  const capped = await newTeam(first, { id: 'share', limits: { upstreamCallsPerDay: 9 } });
  for (const { data } of gateways)
    for (const one of [key, capped.key])
      await waitFor('the key', async () => (await ask(`${data}/gateway/v1/me`, { key: one })).status === 200);

  const startedMs = performance.now();
  const codes = (
    await Promise.all(
      gateways.map(async ({ data }) => {
        const seen: string[] = [];
        for (let call = 0; call < requestsPerMinute; call++)
          seen.push(codeOf(await ask(data + day(1), { key })));
        return seen;
      }),
    )
  ).flat();
  const cameBack = ((performance.now() - startedMs) / 60_000) * requestsPerMinute;
  const accepted = codes.filter((code) => code === '200').length;
  expect(new Set(codes)).toEqual(new Set(['200', 'rate_limited']));
  expect(accepted).toBeGreaterThanOrEqual(requestsPerMinute * 0.9);
  expect(accepted).toBeLessThanOrEqual(requestsPerMinute * 1.1 + cameBack);

  await sim.forget();
  const shared: string[] = [];
  for (let call = 0; call < 12; call++)
    shared.push(codeOf(await ask(`${gateways[call % 3]?.data}${day(2 + call)}`, { key: capped.key })));
  expect(shared).toEqual([...Array(9).fill('200'), ...Array(3).fill('upstream_budget_exhausted')]);
  expect(await sim.calls()).toHaveLength(9);

  await gateways[2]?.end('SIGKILL');
  await replicas(2);
});

it('a daily share outlives a restart of the embedded store', async () => {
  const platform = await startPlatform();
  const before = await startGateway(platform.env);
  const { key } = await newTeam(before, { id: 'share', limits: { upstreamCallsPerDay: 3 } });
  for (const of of [1, 2]) expect((await ask(before.data + day(of), { key })).status).toBe(200);
  await before.end('SIGTERM');
  const after = await startGateway({ ...platform.env, GATEWAY_DATA_DIR: before.dataDir });
  const codes: string[] = [];
  for (const of of [3, 4]) codes.push(codeOf(await ask(after.data + day(of), { key })));
  expect(codes).toEqual(['200', 'upstream_budget_exhausted']);
});
