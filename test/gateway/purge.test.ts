import { describe, expect, it } from 'vitest';
import { sends, startHeldPlatform, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn, withGateway } from '../support/start-gateway.js';
import { HOUR } from '../support/test-clock.js';
import { cacheOf, FINAL, RESTATING } from './reports.js';

const OTHER = FINAL.replace('advertiserId=1', 'advertiserId=2');
const NAMELESS = 'dateFrom=2026-11-01&dateTo=2026-11-15';

describe('a purge', () => {
  it.each<[string, object, boolean, boolean, boolean]>([
    ['all', { all: true }, true, true, true],
    ['advertiser 1', { advertiserId: 1 }, true, false, true],
    ['advertiser 2', { advertiserId: 2 }, false, true, true],
    ['its endpoint', { endpoint: 'campaigns/get' }, true, true, true],
    ['another endpoint', { endpoint: 'creatives/get' }, false, false, false],
    ['days inside', { from: '2026-11-15', to: '2026-11-15' }, true, true, true],
    ['days after', { from: '2026-11-16' }, false, false, false],
    ['days before', { to: '2026-10-31' }, false, false, false],
    [
      'advertiser 1 on its days',
      { advertiserId: 1, from: '2026-11-10', to: '2026-11-30' },
      true,
      false,
      true,
    ],
  ])('of %s', async (_what, scope, first, second, nameless) => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const queries = [FINAL, OTHER, NAMELESS];
    for (const query of queries) {
      await gateway.report(key, query);
      await gateway.report(key, `${query}&_format=csv`);
    }
    expect(await gateway.manage('POST', '/cache/purge', scope)).toEqual({ purged: expect.any(String) });
    const isGone = async (query: string) => cacheOf(await gateway.report(key, query)).startsWith('fwd=');
    expect([await isGone(FINAL), await isGone(OTHER), await isGone(NAMELESS)]).toEqual([
      first,
      second,
      nameless,
    ]);
    // In memory and in the store alike: what was fetched anew serves every format.
    expect(await isGone(`${FINAL}&_format=csv`)).toBe(false);
    expect(await isGone(`${FINAL}&_format=raw`)).toBe(false);
  });

  it('holds for the store and for every replica', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const replica = await gatewayAt(gateway.simulator, { sharedStore: gateway.store, clock: gateway.clock });
    await gateway.report(key, FINAL);
    await replica.report(key, FINAL);
    await gateway.manage('POST', '/cache/purge', { all: true });
    await expect.poll(() => replica.services.purges.seq).toBe(gateway.services.purges.seq);
    expect(cacheOf(await replica.report(key, FINAL))).toMatch(/^fwd=/);
    await replica.services.settled();
    expect(cacheOf(await gateway.report(key, FINAL))).toBe('hit; ttl=2592000; detail=store');
  });

  it.each([
    ['names it in its second account field', 'advertiserId=1&userId=2', []],
    ['names it in a list', 'advertiserId=1&accountIds[]=3&accountIds[]=2', []],
    ['names it in a list of one text', 'advertiserId=1&accountIds=3,2', []],
    ['holds it in a row', 'advertiserId=1', [{ campaignId: 5, advertiserId: 2, cost: 1 }]],
    ['holds it inside of a row', 'advertiserId=1', [{ campaignId: 5, owner: { userId: 2 }, cost: 1 }]],
  ])('of an advertiser reaches a report of another that %s', async (_what, query, rows) => {
    const platform = await startRawPlatform(sends(JSON.stringify(rows)));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    const asked = `${query}&dateFrom=2026-11-01&dateTo=2026-11-02`;
    const cache = async (more = '') => cacheOf(await gateway.report(key, asked + more));
    // In memory, and in the store alone.
    expect([await cache(), await cache(), await cache('&_format=csv')]).toEqual([
      'fwd=miss; stored',
      expect.stringMatching(/detail=l1$/),
      expect.stringMatching(/detail=store$/),
    ]);
    await gateway.manage('POST', '/cache/purge', { advertiserId: 9 });
    expect(await cache()).toMatch(/detail=l1$/);
    await gateway.manage('POST', '/cache/purge', { advertiserId: 2 });
    expect(await cache('&_format=ndjson')).toMatch(/^fwd=/);
    await gateway.manage('POST', '/cache/purge', { advertiserId: 2 });
    expect(await cache()).toMatch(/^fwd=/);
  });

  it('of an advertiser reaches a remembered refusal that names it in another field', async () => {
    const platform = await startRawPlatform(sends('{"message":"no"}', {}, 404));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    const ask = () => gateway.report(key, 'advertiserId=1&userId=2&dateFrom=2026-11-01&dateTo=2026-11-02');
    await ask();
    await ask();
    expect(platform.requests).toHaveLength(1);
    await gateway.manage('POST', '/cache/purge', { advertiserId: 2 });
    await ask();
    expect(platform.requests).toHaveLength(2);
  });

  it('leaves nothing to be given while it is refreshed', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    await gateway.report(key, RESTATING);
    gateway.clock.advance(HOUR);
    await gateway.manage('POST', '/cache/purge', { all: true });
    expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/^fwd=/);
  });

  it('reaches totals, too', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const query = `${FINAL}&_totals=1`;
    const reach = async () => reportIn(await gateway.report(key, query)).meta.totals?.reach;
    const before = await reach();
    gateway.simulator.restate({ advertiserId: 1 });
    expect(await reach()).toBe(before);
    await gateway.manage('POST', '/cache/purge', { advertiserId: 1 });
    expect(await reach()).not.toBe(before);
  });
});

describe('a purge while the platform is being asked', () => {
  const rows = (spent: number) => sends(`{"data":[{"campaign_id":7,"advertiser_id":1,"spent":${spent}}]}`);

  it('leaves nothing of the answer behind, and lets nobody join who comes after it', async () => {
    const platform = await startHeldPlatform(rows(1));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    const before = gateway.report(key, FINAL);
    await platform.arrived(1);
    await gateway.manage('POST', '/cache/purge', { advertiserId: 1 });
    platform.answer(rows(2));
    const after = await gateway.report(key, FINAL);
    expect(reportIn(after).data).toEqual([{ campaignId: 7, advertiserId: 1, spent: 2 }]);
    platform.release();
    // What was asked for before the purge is worth nothing to anybody, not even to who was waiting for it.
    expect(reportIn(await before).data[0]?.spent).toBe(2);
    // Whichever of the two was written last: what was asked for before the purge is never given again.
    const later = await gateway.report(key, FINAL);
    expect(reportIn(later).data[0]?.spent).toBe(2);
    expect(reportIn(await gateway.report(key, `${FINAL}&_days=1`)).data[0]?.spent).toBe(2);
  });

  it('of something else is none for it', async () => {
    const platform = await startHeldPlatform(rows(1));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    const asked = gateway.report(key, FINAL);
    await platform.arrived(1);
    await gateway.manage('POST', '/cache/purge', { advertiserId: 2 });
    platform.release();
    expect(cacheOf(await asked)).toBe('fwd=miss; stored');
    expect(cacheOf(await gateway.report(key, FINAL))).toMatch(/^hit/);
  });
});
