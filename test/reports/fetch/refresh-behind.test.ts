import { expect, it } from 'vitest';
import { sends, startHeldPlatform } from '../../support/raw-platform.js';
import { gatewayAt, reportIn } from '../../support/start-gateway.js';
import { MINUTE, SECOND } from '../../support/test-clock.js';

const QUERY = 'advertiserId=1&dateFrom=2026-11-20&dateTo=2026-11-21';
const rows = (impressions: number) => sends(`{"data":[{"impressions":${impressions}}]}`);

/** A report that is past its freshness, in front of a platform that hangs. */
async function startStale() {
  const platform = await startHeldPlatform(rows(1));
  const gateway = await gatewayAt(platform, {
    config: { platform: { timeoutMs: 1000, retry: { attempts: 0 } } },
  });
  const key = await gateway.addTeam();
  platform.release();
  await gateway.report(key, QUERY);
  platform.hold();
  gateway.clock.advance(6 * MINUTE);
  return {
    platform,
    gateway,
    async ask(query = QUERY) {
      const reply = await gateway.report(key, query);
      expect(reply.headers['cache-status']).toContain('stale-while-revalidate');
      return reportIn(reply).data;
    },
    failures: () => gateway.log.filter(({ msg }) => msg === 'a refresh behind a stale answer failed'),
  };
}

it('however many ask for a stale report while the platform hangs, one refresh waits and one line is logged', async () => {
  const { platform, gateway, ask, failures } = await startStale();
  const other = await gateway.addTeam();
  for (let hit = 0; hit < 20; hit++) await ask();
  await gateway.report(other, `${QUERY}&_format=csv`);
  await platform.arrived(2);
  await gateway.services.settled();
  expect(failures()).toHaveLength(1);
  expect(platform.requests).toHaveLength(2);
});

it('a refresh that failed is not tried again by the next hit, but soon', async () => {
  const { platform, gateway, ask, failures } = await startStale();
  platform.answer(sends('{}', {}, 500));
  platform.release();
  for (let hit = 0; hit < 20; hit++) {
    await ask();
    await gateway.services.settled();
  }
  expect([platform.requests.length, failures().length]).toEqual([2, 1]);
  platform.answer(rows(2));
  gateway.clock.advance(5 * SECOND);
  expect(await ask()).toEqual([{ impressions: 1 }]);
  await gateway.services.settled();
  expect(platform.requests).toHaveLength(3);
});

it('a refresh that succeeded is followed by the next when its answer is stale again', async () => {
  const { platform, gateway, ask } = await startStale();
  platform.answer(rows(2));
  platform.release();
  await ask();
  await gateway.services.settled();
  gateway.clock.advance(6 * MINUTE);
  platform.answer(rows(3));
  expect(await ask()).toEqual([{ impressions: 2 }]);
  await gateway.services.settled();
  expect(platform.requests).toHaveLength(3);
});
