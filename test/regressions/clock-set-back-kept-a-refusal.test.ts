/** What was noted before the machine's clock was set back must not last until that time comes again. */
import { expect, it } from 'vitest';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';
import { HOUR } from '../support/test-clock.js';

it('a refusal of the platform is not given again for an hour after the clock was set back an hour', async () => {
  const platform = await startRawPlatform(sends('{"message":"no such report"}', {}, 404));
  const gateway = await gatewayAt(platform);
  const key = await gateway.addTeam();
  const query = 'advertiserId=1&dateFrom=2026-10-10&dateTo=2026-10-10';
  for (const calls of [1, 1]) {
    expect(outcomeOf(await gateway.report(key, query))).toBe('404 upstream_rejected');
    expect(platform.requests).toHaveLength(calls);
  }
  gateway.clock.advance(-HOUR);
  expect(outcomeOf(await gateway.report(key, query))).toBe('404 upstream_rejected');
  expect(platform.requests).toHaveLength(2);
});
