import { describe, expect, it } from 'vitest';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn, withGateway } from '../support/start-gateway.js';
import { HOUR, MINUTE, SECOND } from '../support/test-clock.js';
import { cacheOf, RESTATING } from './reports.js';

const ROWS = '{"data":[{"campaign_id":7,"advertiser_id":1}]}';

describe('stale-while-revalidate', () => {
  it('answers at once with what there is, asks behind, and has the new answer next time', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const first = reportIn(await gateway.report(key, RESTATING));
    gateway.simulator.restate({ advertiserId: 1 });
    gateway.clock.advance(HOUR);
    const stale = await gateway.report(key, RESTATING);
    expect(cacheOf(stale)).toBe('hit; ttl=0; detail=stale-while-revalidate');
    expect(stale.headers).toMatchObject({ age: '3600', 'cache-control': 'private, max-age=3600' });
    expect(reportIn(stale)).toEqual({ data: first.data, meta: { ...first.meta, stale: true } });
    await gateway.services.settled();
    const fresh = await gateway.report(key, RESTATING);
    expect(cacheOf(fresh)).toBe('hit; ttl=3600; detail=store');
    expect(reportIn(fresh).meta).toMatchObject({ asOf: '2026-11-21T13:00:00.000Z', stale: false });
    expect(reportIn(fresh).data).not.toEqual(first.data);
    expect(gateway.simulator.callCount).toBe(2);
  });

  it('asks once for all who come meanwhile, and lets none of them wait', async () => {
    const platform = await startHeldPlatform(sends(ROWS));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    platform.release();
    await gateway.report(key, RESTATING);
    gateway.clock.advance(HOUR + SECOND);
    platform.hold();
    const replies = await Promise.all(Array.from({ length: 20 }, () => gateway.report(key, RESTATING)));
    expect(new Set(replies.map(cacheOf))).toEqual(new Set(['hit; ttl=-1; detail=stale-while-revalidate']));
    await platform.arrived(2);
    platform.release();
    await gateway.services.settled();
    expect(platform.requests).toHaveLength(2);
  });

  it('lasts ten minutes; then whoever asks waits for the platform', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    await gateway.report(key, RESTATING);
    gateway.clock.advance(HOUR + 10 * MINUTE - 1);
    gateway.simulator.fault({ kind: 'status', status: 500 });
    expect(cacheOf(await gateway.report(key, RESTATING))).toBe(
      'hit; ttl=-600; detail=stale-while-revalidate',
    );
    await gateway.services.settled();
    gateway.clock.advance(1);
    expect(cacheOf(await gateway.report(key, RESTATING))).toBe('fwd=stale; stored');
  });

  it('charges the refresh to the gateway, and to no request', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ id: 'growth' });
    await gateway.report(key, RESTATING);
    gateway.clock.advance(HOUR);
    await gateway.report(key, RESTATING);
    await gateway.services.settled();
    const metrics = await gateway.services.metrics.registry.metrics();
    expect(metrics).toContain('dsp_gateway_platform_calls_total{outcome="answer",team="growth"} 1');
    expect(metrics).toContain('dsp_gateway_platform_calls_total{outcome="answer",team="gateway"} 1');
    const requests = gateway.log.filter(({ plane }) => plane === 'data');
    expect(requests.map(({ outcome, platformCalls }) => [outcome, platformCalls])).toEqual([
      ['miss', 1],
      ['stale', 0],
    ]);
  });

  it('goes on when the refresh fails, says so in the log, and tries again five seconds later', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    await gateway.report(key, RESTATING);
    gateway.clock.advance(HOUR);
    gateway.simulator.fault({ kind: 'status', status: 500, times: 2 });
    const failures = () => gateway.log.filter(({ msg }) => msg.includes('a refresh')).length;
    for (const [restS, ttl, failed] of [
      [0, 0, 1],
      [0, 0, 1],
      [5, -5, 2],
    ] as const) {
      gateway.clock.advance(restS * 1000);
      const answer = await gateway.report(key, RESTATING);
      expect(cacheOf(answer)).toBe(`hit; ttl=${ttl}; detail=stale-while-revalidate`);
      await gateway.services.settled();
      expect(failures()).toBe(failed);
    }
  });

  it('goes on when too many wait for the platform already', async () => {
    const platform = await startHeldPlatform(sends(ROWS));
    const gateway = await gatewayAt(platform, { config: { platform: { maxConcurrent: 1, maxQueued: 0 } } });
    const key = await gateway.addTeam();
    platform.release();
    await gateway.report(key, RESTATING);
    gateway.clock.advance(HOUR);
    platform.hold();
    const replies = await Promise.all([0, 1, 2].map(() => gateway.report(key, RESTATING)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    platform.release();
    await gateway.services.settled();
  });
});
