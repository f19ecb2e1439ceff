/** What is given after some of its days were replaced, in memory, in the middle of a request, and beside totals. */
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { turn } from '../../../src/lib/time.js';
import { stateOf } from '../../support/prove.js';
import { sends, startRawPlatform } from '../../support/raw-platform.js';
import { openScene } from '../../support/scene.js';
import { spentIn, startSpending } from '../../support/spending.js';
import {
  type Call,
  type GatewayOptions,
  gatewayAt,
  type Reply,
  reportIn,
} from '../../support/start-gateway.js';
import { createTestClock, DAY, HOUR, MINUTE, SECOND, type TestClock } from '../../support/test-clock.js';
import { ALWAYS, byDay } from '../fetch/by-day.js';

const CONFIG = { ...ALWAYS, cache: { compressMinBytes: 0 } };
const NARROW = byDay('2026-11-07', '2026-11-08');
const WIDE = byDay('2026-11-05', '2026-11-10');
const FORCED: Call = { headers: { 'cache-control': 'no-cache' } };

async function open(options: GatewayOptions = { config: CONFIG }) {
  const { platform, said } = await startSpending();
  return { ...(await openScene(platform, options)), said };
}

describe('after a wider range brought its days anew', () => {
  it.each<[what: string, query: string, headers: NonNullable<Call['headers']>]>([
    ['JSON', NARROW, {}],
    ['CSV', `${NARROW}&_format=csv`, {}],
    ['gzip', NARROW, { 'accept-encoding': 'gzip' }],
    ['_days', `${NARROW}&_days=1`, {}],
    ['_fields', `${NARROW}&_fields=spent`, {}],
    ['_final', `${NARROW}&_final=only`, {}],
  ])('%s is given as it is now', async (_what, query, headers) => {
    const { platform, said, gateway, ask } = await open();
    const spent = (reply: Reply) =>
      new Set(
        spentIn({ text: (headers['accept-encoding'] ? gunzipSync(reply.body) : reply.body).toString() }),
      );
    expect(spent(await ask(query, { headers }))).toEqual(new Set([10]));
    said.spent = 20;
    gateway.clock.advance(MINUTE);
    await ask(WIDE, { headers });
    gateway.clock.advance(10 * DAY);
    const reply = await ask(query, { headers });
    expect(spent(reply)).toEqual(new Set([20]));
    expect(reply.headers['cache-status']).toMatch(/hit/);
    expect(platform.requests).toHaveLength(2);
    // And stays in memory, until the next fetch.
    expect((await ask(query, { headers })).headers['cache-status']).toMatch(/detail=l1/);
  });

  it('its revision can be pinned, and is the latest of the history', async () => {
    const { said, gateway, ask } = await open();
    const key = await gateway.addTeam({ scopes: ['report:read', 'report:pin'] });
    await ask(NARROW);
    said.spent = 20;
    gateway.clock.advance(MINUTE);
    await ask(WIDE);
    const { data, meta } = reportIn(await ask(NARROW));
    expect(reportIn(await ask(`${NARROW}&_vintage=latest`)).data).toEqual(data);
    const json = { endpoint: 'campaigns/get', query: NARROW, revision: meta.revision };
    expect((await gateway.call('/gateway/v1/pins', { method: 'POST', key, json })).status).toBe(201);
  });
});

it('after no-cache every format of an unsplit report is given as it is now', async () => {
  const { platform, said, gateway, ask } = await open();
  const unsplit = 'advertiserId=1&dateFrom=2026-11-07&dateTo=2026-11-08';
  expect((await ask(`${unsplit}&_format=csv`)).text).toContain('20');
  said.spent = 20;
  gateway.clock.advance(MINUTE);
  expect(spentIn(await ask(unsplit, FORCED))).toEqual([40]);
  expect((await ask(`${unsplit}&_format=csv`)).text).toContain('40');
  expect(platform.requests).toHaveLength(2);
});

describe('of two replicas on one store', () => {
  async function openTwo(clock?: TestClock) {
    const one = await open();
    const other = await gatewayAt(one.platform, {
      config: CONFIG,
      sharedStore: one.gateway.store,
      clock: clock ?? one.gateway.clock,
    });
    await other.services.registry.refresh();
    const askOther = (query: string, call: Call = {}) => other.report(one.key, query, call);
    return { ...one, other, askOther };
  }

  it('both give the newest days', async () => {
    const { platform, said, gateway, ask, askOther } = await openTwo();
    expect(spentIn(await ask(NARROW))).toEqual([10, 10]);
    expect(spentIn(await askOther(NARROW))).toEqual([10, 10]);
    said.spent = 20;
    gateway.clock.advance(MINUTE);
    await ask(WIDE);
    await expect.poll(async () => spentIn(await askOther(NARROW))).toEqual([20, 20]);
    expect(spentIn(await ask(NARROW))).toEqual([20, 20]);
    expect(platform.requests).toHaveLength(2);
  });

  const UNSPLIT = 'advertiserId=1&dateFrom=2026-11-07&dateTo=2026-11-08';

  it.each([
    { what: 'days', query: NARROW, way: 'behind', aheadMs: -90 * SECOND },
    { what: 'days', query: NARROW, way: 'ahead', aheadMs: 90 * SECOND },
    { what: 'a whole report', query: UNSPLIT, way: 'behind', aheadMs: -90 * SECOND },
    { what: 'a whole report', query: UNSPLIT, way: 'ahead', aheadMs: 90 * SECOND },
  ])('one refreshes $what with a clock 90 s $way, and both give the new rows', async ({ query, aheadMs }) => {
    const clock = createTestClock();
    clock.advance(aheadMs);
    const { platform, said, gateway, other, ask, askOther } = await openTwo(clock);
    const sum = (reply: Reply) => spentIn(reply).reduce((all, one) => all + one, 0);
    expect([sum(await ask(query)), sum(await askOther(query))]).toEqual([20, 20]);
    for (const each of [gateway.clock, clock]) each.advance(SECOND);
    said.spent = 20;
    expect(sum(await askOther(query, FORCED))).toBe(40);
    for (const one of [other, gateway]) await one.services.settled();
    // The store's bus tells in the next turn.
    await turn();
    expect([sum(await ask(query)), sum(await askOther(query))]).toEqual([40, 40]);
    // Neither is it undone by what the other has in hand.
    said.spent = 30;
    expect(sum(await ask(query, FORCED))).toBe(60);
    for (const one of [gateway, other]) await one.services.settled();
    await turn();
    expect([sum(await askOther(query)), sum(await ask(query))]).toEqual([60, 60]);
    expect(platform.requests).toHaveLength(3);
  });

  it('a body of other days stays in memory', async () => {
    const { gateway, other, ask, askOther } = await openTwo();
    const cacheOf = async (query: string) => (await askOther(query)).headers['cache-status'];
    const apart = byDay('2026-10-01', '2026-10-03');
    for (const query of [apart, NARROW, apart]) await askOther(query);
    await other.services.settled();
    gateway.clock.advance(SECOND);
    await ask(WIDE);
    await expect.poll(() => cacheOf(NARROW)).not.toMatch(/detail=l1/);
    expect(await cacheOf(apart)).toMatch(/detail=l1/);
  });
});

it('what was finished before its kind was proven is made anew from its days', async () => {
  const { gateway, ask, count } = await open({ config: { cache: { compressMinBytes: 0 } } });
  const asked = byDay('2026-11-01', '2026-11-08');
  const first = reportIn(await ask(asked));
  expect(first.meta).not.toHaveProperty('revision');
  for (
    let step = 0;
    (await stateOf(gateway)).because !== 'proven: a day has the same numbers in every period';
    step++
  ) {
    expect(step).toBeLessThan(24);
    const [from, to] = [25 - step, 10 - (step % 10)].map((day) => String(day).padStart(2, '0'));
    await ask(byDay(`2026-10-${from}`, `2026-11-${to}`));
  }
  const { reply, calls } = await count(asked);
  const { data, meta } = reportIn(reply);
  expect(meta).toMatchObject({ revision: expect.any(String), knownAt: expect.any(String) });
  expect(data).toEqual(first.data);
  expect(calls).toBeLessThanOrEqual(1);
});

it('takes the place of it neither while it is written nor afterwards', async () => {
  const rowsOf = (clicks: number) =>
    sends(JSON.stringify({ data: [{ date: '2026-11-01', campaign_id: 1, advertiser_id: 1, clicks }] }));
  const late: (() => void)[] = [];
  const held: (() => void)[] = [];
  let isHolding = false;
  const platform = await startRawPlatform((request, response) => {
    late.push(() => rowsOf(1)(request, response));
  });
  const { gateway, key, ask } = await openScene(platform, {
    config: ALWAYS,
    wrapStore: (store) => ({
      ...store,
      cache: {
        ...store.cache,
        async write(entries) {
          if (isHolding) await new Promise<void>((resolve) => void held.push(resolve));
          await store.cache.write(entries);
        },
      },
    }),
  });
  // A call that is answered last, with what the platform said before a restatement.
  const query = byDay('2026-11-01', '2026-11-01');
  const older = gateway.report(key, `${query}&_format=raw`);
  await expect.poll(() => late.length).toBe(1);
  platform.answer(rowsOf(2));
  gateway.clock.advance(1000);
  expect(reportIn(await gateway.report(key, query, FORCED)).data[0]).toMatchObject({ clicks: 2 });
  await gateway.services.reporting.settled();
  isHolding = true;
  for (const answer of late) answer();
  expect((await older).status).toBe(200);
  await expect.poll(() => held.length).toBe(1);
  const meanwhile = await gateway.report(key, `${query}&_format=ndjson`);
  for (const go of held.splice(0)) go();
  await gateway.services.reporting.settled();
  expect(JSON.parse(meanwhile.text)).toMatchObject({ clicks: 2 });
  expect((await ask(`${query}&_format=csv`)).text).toContain(',2');
});

describe('days that were read before a wait, and replaced meanwhile', () => {
  const KEPT = byDay('2026-11-09', '2026-11-11');
  const LONGER = byDay('2026-11-09', '2026-11-13');

  /** A gateway that keeps the first three days. */
  async function openKept() {
    let reads = 0;
    const scene = await open({
      config: ALWAYS,
      wrapStore: (store) => ({
        ...store,
        cache: {
          ...store.cache,
          read(places, after) {
            reads += 1;
            return store.cache.read(places, after);
          },
        },
      }),
    });
    const { platform, said, gateway } = scene;
    await scene.ask(KEPT);
    gateway.clock.advance(MINUTE);
    /** Holds the call that `isHeld` is true of, until it is let go. */
    function hold(isHeld: (isSplit: boolean, from: string) => boolean) {
      let letGo = () => {};
      const isLetGo = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      const before = platform.requests.length;
      said.before = ([from], isSplit) => (isHeld(isSplit, from) ? isLetGo : null);
      return { letGo, arrived: () => expect.poll(() => platform.requests.length).toBe(before + 1) };
    }
    const ask = (query: string, call?: Call) => gateway.report(scene.key, query, call);
    return { ...scene, ask, hold, reads: () => reads };
  }

  it('a range whose first days were replaced while its last ones were fetched holds the new ones', async () => {
    const { platform, said, gateway, ask, hold } = await openKept();
    said.spent = 20;
    const call = hold((_isSplit, from) => from === '2026-11-12');
    const longer = ask(LONGER);
    await call.arrived();
    gateway.clock.advance(SECOND);
    expect(spentIn(await ask(KEPT, FORCED))).toEqual([20, 20, 20]);
    gateway.clock.advance(SECOND);
    call.letGo();
    const { data, meta } = reportIn(await longer);
    expect(data.map((row) => row.spent)).toEqual([20, 20, 20, 20, 20]);
    await gateway.services.settled();
    gateway.clock.advance(SECOND);
    const then = reportIn(await ask(`${LONGER}&_asOf=${meta.knownAt}`));
    expect(then).toMatchObject({ data, meta: { revision: meta.revision } });
    expect(platform.requests).toHaveLength(3);
  });

  it('rows that were replaced while their totals were fetched are the new ones', async () => {
    const { said, gateway, ask, hold } = await openKept();
    said.spent = 20;
    const call = hold((isSplit) => !isSplit);
    const withTotals = ask(`${KEPT}&_totals=1`);
    await call.arrived();
    gateway.clock.advance(SECOND);
    await ask(KEPT, FORCED);
    call.letGo();
    const { data, meta } = reportIn(await withTotals);
    expect([data.map((row) => row.spent), meta.totals?.spent]).toEqual([[20, 20, 20], 60]);
  });

  it('the store is read no more often where nothing was replaced', async () => {
    const { gateway, ask, reads, hold } = await openKept();
    const call = hold((_isSplit, from) => from === '2026-11-12');
    const longer = ask(LONGER);
    await call.arrived();
    const before = reads();
    // Another series, and other days of this one.
    await ask(LONGER.replace('advertiserId=1', 'advertiserId=2'));
    await ask(byDay('2026-10-01', '2026-10-02'));
    await gateway.services.store.cache.read([]);
    const between = reads();
    call.letGo();
    expect(spentIn(await longer)).toEqual([10, 10, 10, 10, 10]);
    expect([between > before, reads() - between]).toEqual([true, 0]);
  });
});

describe('totals', () => {
  const TOTALS = `${byDay('2026-11-07', '2026-11-09')}&_totals=1`;

  async function openTotals() {
    const scene = await open({ config: { ...ALWAYS, platform: { retry: { attempts: 0 } } } });
    const ask = async (query: string, call?: Call) => {
      const { data, meta } = reportIn(await scene.ask(query, call));
      return { rows: data.map((row) => row.spent), totals: meta.totals?.spent, meta };
    };
    expect(await ask(TOTALS)).toMatchObject({ rows: [10, 10, 10], totals: 30 });
    scene.gateway.clock.advance(MINUTE);
    return { ...scene, ask };
  }

  it('totals are fetched anew once a day of their period has other numbers', async () => {
    const { platform, said, gateway, ask } = await openTotals();
    said.spent = 20;
    await ask(WIDE);
    gateway.clock.advance(HOUR);
    const { rows, totals, meta } = await ask(TOTALS);
    expect([rows, totals, meta.final, meta.stale]).toEqual([[20, 20, 20], 60, true, false]);
    expect(meta).toMatchObject({ totalsAsOf: new Date(gateway.clock.now()).toISOString() });
    expect(meta).not.toHaveProperty('warnings');
    expect(platform.requests).toHaveLength(4);
  });

  it('totals stay where the days were fetched anew with the same numbers, and say when they were fetched', async () => {
    const { platform, gateway, ask } = await openTotals();
    const fetchedAt = new Date(gateway.clock.now() - MINUTE).toISOString();
    await ask(WIDE);
    const { rows, totals, meta } = await ask(TOTALS);
    expect([rows, totals, meta.final]).toEqual([[10, 10, 10], 30, true]);
    expect(meta).toMatchObject({ totalsAsOf: fetchedAt, stale: false });
    expect(platform.requests).toHaveLength(3);
  });

  it('totals that are out of date are stale, and not final, where nothing but the cache is asked or answers', async () => {
    const { platform, said, ask } = await openTotals();
    said.spent = 20;
    await ask(WIDE);
    const cached = await ask(TOTALS, { headers: { 'cache-control': 'only-if-cached' } });
    platform.answer(sends('{}', {}, 500));
    for (const { rows, totals, meta } of [cached, await ask(TOTALS)]) {
      expect([rows, totals, meta.final, meta.stale]).toEqual([[20, 20, 20], 30, false, true]);
      expect(meta).toMatchObject({ warnings: [{ code: 'totals_differ' }] });
    }
  });
});

it('is not final while the totals are not, though the rows are', async () => {
  const rows = 'advertiserId=1&byCampaign=1&dateFrom=2026-11-10&dateTo=2026-11-15';
  const { gateway, ask } = await openScene(
    (request, response) => {
      const split = [1, 2].map((campaignId) => ({ campaignId, spent: 2.5 }));
      sends(JSON.stringify(request.url?.includes('byCampaign') ? split : [{ spent: 5 }]))(request, response);
    },
    { now: '2026-11-20T23:30:00Z' },
  );
  // The totals are fetched while the 15th may still be restated, and are fresh for an hour.
  expect(reportIn(await ask(`${rows}&_totals=1`)).meta.final).toBe(false);
  gateway.clock.set('2026-11-21T00:01:00Z');
  expect(reportIn(await ask(rows, FORCED)).meta.final).toBe(true);
  // In another shape, for the first answer is still in memory.
  const { data, meta } = reportIn(await ask(`${rows}&_totals=1&_days=1`));
  expect(data.map((row) => row.spent)).toEqual([2.5, 2.5]);
  expect(meta).toMatchObject({ totals: { spent: 5 }, final: false, stale: false });
});
