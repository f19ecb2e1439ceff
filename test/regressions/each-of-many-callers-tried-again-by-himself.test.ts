/**
 * Callers who had waited for one call that failed each backed off for a time of their own. Where the platform failed
 * faster than they came back, each asked it by himself: 50 callers with two retries made dozens of calls, not three.
 */
import { expect, it, vi } from 'vitest';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, reportIn } from '../support/start-gateway.js';

const QUERY = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const RETRIES = {
  platform: { retry: { attempts: 2, baseMs: 400 }, circuit: { failures: 1000, openSeconds: 1 } },
};
const ILL = sends('{}', {}, 503);

/** Callers of two teams, all of whom wait for one call that is going to fail. */
async function manyWaiting() {
  let drawn = 0;
  // Spread evenly: nobody comes back together with another by chance.
  vi.spyOn(Math, 'random').mockImplementation(() => (drawn++ % 50) / 50);
  const platform = await startHeldPlatform(ILL);
  const gateway = await gatewayAt(platform, { config: RETRIES });
  const keys = [await gateway.addTeam(), await gateway.addTeam()];
  const calls = Array.from({ length: 50 }, (_, at) => gateway.report(keys[at % 2] as string, QUERY));
  await platform.arrived(1);
  await expect.poll(() => gateway.services.reporting.waiting()).toBe(49);
  return { platform, calls };
}

it('callers whose one call failed try again together, as often as one of them would', async () => {
  const { platform, calls } = await manyWaiting();
  platform.release();
  const replies = await Promise.all(calls);
  expect(new Set(replies.map(outcomeOf))).toEqual(new Set(['502 upstream_error']));
  expect(platform.requests).toHaveLength(3);
});

it('what the second try of one caller brings is for all, also when it may not be kept', async () => {
  const { platform, calls } = await manyWaiting();
  platform.answer(sends('{"data":[{"impressions":7}]}', { 'cache-control': 'no-store' }));
  platform.release();
  const replies = await Promise.all(calls);
  expect(new Set(replies.map((reply) => reportIn(reply).data.length))).toEqual(new Set([1]));
  expect(platform.requests).toHaveLength(2);
});
