import { describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../../src/simulator/simulator.js';
import { openEmbedded } from '../../support/shared-registry.js';
import { gatewayAt, outcomeOf } from '../../support/start-gateway.js';
import { createTestClock } from '../../support/test-clock.js';

const QUERY = 'advertiserId=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-07';

describe('a request that waits for the call of another replica', () => {
  it('answers upstream_timeout when its own time is up', async () => {
    const clock = createTestClock();
    const simulator = await startSimulator({ clock, switches: { rateLimitPerMinute: 0 } });
    onTestFinished(() => simulator.close());
    const sharedStore = await openEmbedded(clock);
    const patient = await gatewayAt(simulator, { clock, sharedStore });
    const hasty = await gatewayAt(simulator, {
      clock,
      sharedStore,
      config: { platform: { timeoutMs: 1000 } },
    });
    const key = await patient.addTeam();
    await expect.poll(async () => (await hasty.call('/gateway/v1/me', { key })).status).not.toBe(401);
    simulator.fault({ kind: 'hang' });
    const slow = patient.report(key, QUERY);
    await expect.poll(() => simulator.callCount).toBe(1);
    expect(outcomeOf(await hasty.report(key, QUERY))).toBe('504 upstream_timeout');
    expect(simulator.callCount).toBe(1);
    await simulator.close();
    expect(outcomeOf(await slow)).toBe('502 upstream_error');
  });
});
