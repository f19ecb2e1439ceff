/** Requests without a slot that are answered from the cache nevertheless. */
import { expect, it } from 'vitest';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';
import { HOUR, MINUTE } from '../support/test-clock.js';
import { cacheOf, RESTATING } from './reports.js';

it('a request that got no slot and was answered with an old report counts among those without a slot', async () => {
  const platform = await startHeldPlatform(sends('{"data":[]}'));
  const gateway = await gatewayAt(platform, { config: { platform: { maxConcurrent: 1, maxQueued: 0 } } });
  const key = await gateway.addTeam();
  platform.release();
  await gateway.report(key, RESTATING);
  gateway.clock.advance(HOUR + 11 * MINUTE);
  platform.hold();
  const slow = gateway.report(key, 'advertiserId=2');
  await platform.arrived(2);
  expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/stale-if-error$/);
  platform.release();
  expect(outcomeOf(await slow)).toBe('200');
  expect(await gateway.manage('GET', '/status')).toMatchObject({
    verdict: { findings: [{ part: 'slots' }] },
  });
});
