/** Days that the platform has forgotten, of a report that was proven divisible by day, on either store. */
import { expect, it, onTestFinished } from 'vitest';
import { openOnRedis } from '../../support/on-redis.js';
import { prove } from '../../support/prove.js';
import { startRedis } from '../../support/redis.js';
import { reportIn, withGateway } from '../../support/start-gateway.js';
import { HOUR } from '../../support/test-clock.js';

const RANGE = 'advertiserId=1&byDate=1&dateFrom=2026-09-22&dateTo=2026-10-11';

async function redisStore() {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  return openOnRedis(redis, 'forgotten');
}

it.each([
  ['embedded', 'empty'],
  ['embedded', 400],
  ['redis', 422],
] as const)('are given from history: %s, a platform that answers with %s', async (kind, beyondRetention) => {
  const store = kind === 'redis' ? await redisStore() : null;
  const gateway = await withGateway(store === null ? {} : { sharedStore: store });
  const key = await gateway.addTeam();
  await prove(gateway, key);
  const ask = async () => {
    const reply = await gateway.report(key, RANGE);
    await gateway.services.settled();
    return reportIn(reply);
  };
  const before = await ask();
  gateway.clock.advance(HOUR);
  gateway.simulator.set({ retentionDays: 50, beyondRetention });
  for (let look = 0; look < 2; look += 1) {
    await gateway.manage('POST', '/cache/purge', { all: true });
    const after = await ask();
    expect(after.data).toEqual(before.data);
    expect(after.meta).toMatchObject({ final: true, source: 'history', revision: before.meta.revision });
    expect(after.meta.warnings).toEqual([
      expect.objectContaining({ code: 'beyond_retention', since: '2026-11-21T13:00:00.000Z' }),
    ]);
    expect(after.meta.warnings?.[0]?.days).toHaveLength(10);
    gateway.clock.advance(2 * HOUR);
  }
  const { data } = (
    await gateway.call(`/gateway/v1/revisions?endpoint=campaigns/get&query=${encodeURIComponent(RANGE)}`, {
      key,
    })
  ).json<{ data: { revisions: unknown[] }[] }>();
  expect(data.map(({ revisions }) => revisions.length)).toEqual(data.map(() => 1));
  expect(await gateway.services.reporting.retentionEdges()).toMatchObject([
    { endpoint: 'campaigns/get', days: 50, source: 'learned' },
  ]);
});
