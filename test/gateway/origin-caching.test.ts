import { describe, expect, it } from 'vitest';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, withGateway } from '../support/start-gateway.js';
import { SECOND } from '../support/test-clock.js';
import { cacheOf, FINAL } from './reports.js';

const ORIGIN = { report: { endpoints: { 'campaigns/get': { freshness: 'origin', readByPost: true } } } };

describe('the platform’s own caching headers', () => {
  it.each(['no-cache, private', '', 'max-age=1', 'private', 'must-revalidate'])(
    'do not decide by default: %j',
    async (cacheControl) => {
      const gateway = await withGateway({ switches: { cacheControl, vary: '*' } });
      const key = await gateway.addTeam();
      await gateway.report(key, FINAL);
      expect(cacheOf(await gateway.report(key, FINAL))).toMatch(/^hit/);
    },
  );

  it.each(['no-store', 'No-Store, max-age=60', 'private, no-store'])(
    'are honoured when they say no-store: %j',
    async (cacheControl) => {
      const gateway = await withGateway({ switches: { cacheControl } });
      const key = await gateway.addTeam();
      for (const format of ['json', 'raw', 'json']) {
        const reply = await gateway.report(key, `${FINAL}&_format=${format}`);
        expect([reply.status, cacheOf(reply), reply.headers['cache-control']]).toEqual([
          200,
          'fwd=miss',
          'private, no-store',
        ]);
      }
      expect(gateway.simulator.callCount).toBe(3);
      expect(gateway.services.l1.entries).toBe(0);
    },
  );

  it('are honoured for a refusal, too', async () => {
    const gateway = await withGateway({ switches: { cacheControl: 'no-store', foreignAdvertiser: 404 } });
    const key = await gateway.addTeam();
    for (let at = 0; at < 2; at++)
      expect(outcomeOf(await gateway.report(key, 'advertiserId=999'))).toBe('404 upstream_rejected');
    expect(gateway.simulator.callCount).toBe(2);
  });

  it('no-store is still asked for once by all who ask at the same time', async () => {
    const platform = await startHeldPlatform(sends('{"data":[]}', { 'cache-control': 'no-store' }));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    const calls = [0, 1, 2].map(() => gateway.report(key, FINAL));
    await platform.arrived(1);
    platform.release();
    expect((await Promise.all(calls)).map(cacheOf)).toEqual([
      'fwd=miss',
      'fwd=miss; collapsed',
      'fwd=miss; collapsed',
    ]);
    expect(platform.requests).toHaveLength(1);
  });
});

describe('freshness: origin', () => {
  it.each<[string, string, number]>([
    ['max-age=60', '', 60],
    ['max-age=60, s-maxage=90', '', 90],
    ['public, max-age=60', 'accept', 60],
    ['must-revalidate, max-age=60', '', 60],
  ])('keeps an answer for as long as RFC 9111 lets it: %j', async (cacheControl, vary, seconds) => {
    const gateway = await withGateway({ config: ORIGIN, switches: { cacheControl, vary } });
    const key = await gateway.addTeam();
    const first = await gateway.report(key, FINAL);
    expect([cacheOf(first), first.headers['cache-control']]).toEqual([
      'fwd=miss; stored',
      `private, max-age=${seconds}`,
    ]);
    gateway.clock.advance((seconds - 1) * SECOND);
    expect(cacheOf(await gateway.report(key, FINAL))).toMatch(/^hit; ttl=1;/);
    gateway.clock.advance(SECOND);
    // Stale answers are the gateway's own rule, and do not hold here.
    expect(cacheOf(await gateway.report(key, FINAL))).toMatch(/^fwd=/);
    gateway.clock.advance(seconds * SECOND);
    gateway.simulator.fault({ kind: 'status', status: 500 });
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('502 upstream_error');
  });

  it.each<[string, string]>([
    ['no-store', ''],
    ['private, max-age=60', ''],
    ['max-age=60', '*'],
    ['max-age=60', 'accept, *'],
    ['no-cache, max-age=60', ''],
    ['max-age=0', ''],
    ['', ''],
  ])('answers nobody twice with cache-control %j, vary %j', async (cacheControl, vary) => {
    const gateway = await withGateway({ config: ORIGIN, switches: { cacheControl, vary } });
    const key = await gateway.addTeam();
    for (let at = 0; at < 2; at++) expect(cacheOf(await gateway.report(key, FINAL))).toMatch(/^fwd=/);
    expect(gateway.simulator.callCount).toBe(2);
  });
});
