/** Soft purges, on two replicas that share one store: matching entries become stale, and none is removed. */
import { describe, expect, it } from 'vitest';
import type { Explanation } from '../../src/api/data/explain.js';
import { PURGES_RECORD } from '../../src/reports/cache/purges.js';
import { reportIn, type TestGateway } from '../support/start-gateway.js';
import { createTestClock, DAY, HOUR, MINUTE, SECOND } from '../support/test-clock.js';
import { startDayPlatform } from './day-platform.js';
import { withReplicas } from './replicas.js';
import { shiftDay } from './world.js';

const TODAY = '2026-11-21';
const day = (ago: number) => shiftDay(TODAY, -ago);
const query = (from: number, to: number, more = '') =>
  `advertiserId=1&byDate=1&dateFrom=${day(from)}&dateTo=${day(to)}${more}`;
const MONTH = query(40, 13);

async function two(divisible: 'always' | 'never' = 'always', maxConcurrent = 8) {
  const platform = await startDayPlatform();
  const config = {
    platform: { retry: { attempts: 0 }, timeoutMs: 110_000, maxConcurrent },
    report: { endpoints: { 'campaigns/get': { divisible } } },
  };
  const replicas = await withReplicas({ platform, clock: createTestClock(), count: 2, config });
  const [here, there] = replicas.all as [TestGateway, TestGateway];
  const key = replicas.key;
  return {
    platform,
    here,
    there,
    key,
    clock: replicas.clock,
    settled: replicas.settled,
    async purge(scope: object, soft = true) {
      replicas.clock.advance(SECOND);
      await replicas.settled();
      const { seq } = here.services.purges;
      await there.manage('POST', '/cache/purge', { ...scope, ...(soft ? { soft } : {}) });
      await replicas.agreed();
      expect([here, there].map(({ services }) => services.purges.seq)).toEqual([seq + 1, seq + 1]);
      replicas.clock.advance(SECOND);
    },
    /** How it was answered, by which of the platform's revisions. */
    async ask(asked: string, cacheControl?: string, gateway = here) {
      const headers = cacheControl === undefined ? {} : { 'cache-control': cacheControl };
      const reply = await gateway.report(key, asked, { headers });
      if (reply.status !== 200) return String(reply.status);
      const { data, meta } = reportIn(reply);
      const revisions = [...new Set(data.map(({ impressions }) => impressions))].join();
      const [, how] = /^dsp-gateway; (.*)$/.exec(reply.headers['cache-status'] ?? '') ?? [];
      return `${how}${meta.stale ? ' stale' : ''} ${revisions}`;
    },
    calls: () => platform.calls.map(({ from, to }) => `${from} ${to}`),
  };
}

describe('a soft purge', () => {
  it.each(['always', 'never'] as const)(
    'makes entries stale everywhere, and one request refreshes them after its answer (divisible: %s)',
    async (divisible) => {
      const { platform, here, there, ask, purge, settled } = await two(divisible);
      for (const gateway of [here, there]) await ask(MONTH, undefined, gateway);
      platform.revision = 2;
      await purge({ advertiserId: 1 });
      expect(platform.calls).toHaveLength(1);
      expect(await ask(MONTH)).toBe('hit; ttl=-1; detail=stale-while-revalidate stale 1');
      await settled();
      expect(platform.calls).toHaveLength(2);
      for (const gateway of [here, there])
        expect(await ask(MONTH, undefined, gateway)).toMatch(/^hit; ttl=2\d+; detail=\w+ 2$/);
      expect(platform.calls).toHaveLength(2);
    },
  );

  it('causes a refresh of requested days only', async () => {
    const { ask, purge, settled, calls } = await two();
    await ask(MONTH);
    await purge({ from: day(40), to: day(13) });
    await ask(query(15, 13));
    await settled();
    expect(await ask(query(15, 13))).toMatch(/detail=l1 1$|detail=store 1$/);
    await settled();
    expect(calls().slice(1)).toEqual([`${day(15)} ${day(13)}`]);
  });

  it('causes a refresh that waits for the queued calls of all teams', async () => {
    const { platform, ask, purge, settled } = await two('always', 1);
    await ask(MONTH);
    await purge({ all: true });
    platform.hold(() => true);
    const ahead = ask(`advertiserId=2&dateFrom=${day(9)}&dateTo=${day(9)}`);
    await platform.arrived(2);
    expect(await ask(MONTH)).toMatch(/stale-while-revalidate stale 1$/);
    await platform.arrived(2);
    const behind = ask(`advertiserId=3&dateFrom=${day(9)}&dateTo=${day(9)}`);
    await platform.arrived(2);
    platform.release();
    await Promise.all([ahead, behind]);
    await settled();
    expect(platform.calls.map(({ advertiserId }) => advertiserId)).toEqual(['1', '2', '3', '1']);
  });

  it('lets entries be served for ten minutes, then only if the platform fails, and not after a week', async () => {
    const { platform, here, ask, purge, clock } = await two();
    await ask(MONTH);
    platform.revision = 2;
    await purge({ all: true });
    expect(await ask(MONTH, 'only-if-cached')).toBe('hit; ttl=-1; detail=stale-while-revalidate stale 1');
    clock.advance(11 * MINUTE);
    expect(await ask(MONTH, 'only-if-cached')).toBe('504');
    expect(await ask(MONTH, 'max-stale=3600')).toMatch(/stale-while-revalidate stale 1$/);
    await here.services.settled();
    expect(await ask(MONTH)).toMatch(/ 2$/);
    await purge({ all: true });
    clock.advance(HOUR);
    platform.fail = true;
    expect(await ask(MONTH)).toMatch(/^hit; ttl=-36\d\d; detail=stale-if-error stale 2$/);
    clock.advance(7 * DAY);
    expect(await ask(MONTH)).toBe('502');
  });

  it.each(['no-cache', 'max-age=0'])('yields to a request with %s', async (directive) => {
    const { platform, ask, purge } = await two();
    await ask(MONTH);
    platform.revision = 2;
    await purge({ all: true });
    expect(await ask(MONTH, directive)).toMatch(/^fwd=stale; stored.* 2$/);
  });

  it('covers the answer to a call that began before it', async () => {
    const { platform, here, ask, purge, settled, clock } = await two();
    platform.hold(() => true);
    const before = ask(MONTH);
    await platform.arrived(1);
    clock.advance(SECOND);
    await here.manage('POST', '/cache/purge', { advertiserId: 1, soft: true });
    platform.revision = 2;
    platform.release();
    expect(await before).toMatch(/ 1$/);
    await settled();
    expect(await ask(MONTH)).toMatch(/stale-while-revalidate stale 1$/);
    await settled();
    expect(await ask(MONTH)).toMatch(/ 2$/);
    await purge({ advertiserId: 2 });
    expect(await ask(MONTH)).toMatch(/^hit; .* 2$/);
  });

  it('does not soften a hard purge, before or after it', async () => {
    const { platform, ask, purge, settled } = await two();
    for (const order of [
      [true, false],
      [false, true],
    ]) {
      await ask(MONTH);
      await settled();
      platform.revision += 1;
      for (const soft of order) await purge({ advertiserId: 1 }, soft);
      expect(await ask(MONTH)).toMatch(new RegExp(`^fwd=miss; stored.* ${platform.revision}$`));
    }
  });

  it('is shown by explain with its time, while it is the reason', async () => {
    const { here, ask, purge, clock } = await two();
    await ask(query(14, 13));
    await purge({ from: day(13), to: day(13) });
    const explain = () =>
      here.services.reporting.explain('campaigns/get', query(14, 13)) as Promise<Explanation>;
    const atMs = clock.now() - SECOND;
    const shown = async () => (await explain()).days?.map(({ state, purgedAt }) => [state, purgedAt]);
    expect(await shown()).toEqual([
      ['final', null],
      ['stale', new Date(atMs).toISOString()],
    ]);
    expect((await explain()).price).toEqual({ calls: 0, behind: 1 });
    clock.advance(31 * DAY);
    await purge({ all: true });
    expect(await shown()).toEqual([
      ['stale', null],
      ['missing', null],
    ]);
  });

  it.each([true, false])('leaves history as it was (soft: %s)', async (soft) => {
    const { platform, ask, purge, settled, clock } = await two();
    const past = (atMs: number) => ask(`${MONTH}&_asOf=${new Date(atMs).toISOString()}`);
    await ask(MONTH);
    await settled();
    clock.advance(SECOND);
    const earlierMs = clock.now();
    const known = await past(earlierMs);
    expect(known).toMatch(/ 1$/);
    platform.revision = 2;
    await purge({ all: true }, soft);
    expect(await past(clock.now())).toBe(known);
    clock.advance(SECOND);
    expect(await ask(MONTH)).toMatch(soft ? /stale-while-revalidate stale 1$/ : /^fwd=miss; stored.* 2$/);
    await settled();
    clock.advance(SECOND);
    expect(await ask(MONTH)).toMatch(/^hit; .* 2$/);
    expect([await past(earlierMs), await past(clock.now())]).toEqual([known, known.replace(/1$/, '2')]);
  });

  it('has a price, which its preview shows', async () => {
    const { here, ask, purge, platform } = await two();
    await ask(MONTH);
    await here.services.settled();
    const scope = {
      endpoint: 'campaigns/get',
      from: day(28),
      to: day(13),
      soft: true,
      dryRun: true,
      query: MONTH,
    };
    expect(await here.manage('POST', '/cache/purge', scope)).toMatchObject({
      soft: true,
      dryRun: true,
      purged: `endpoint campaigns/get, days ${day(28)} to ${day(13)}`,
      preview: { days: 16, report: { entries: 16, calls: 1 } },
    });
    expect(platform.calls).toHaveLength(1);
    await purge({ advertiserId: 1 });
    const { entries } = (await here.manage('GET', '/audit?limit=1')) as { entries: object[] };
    expect(entries).toMatchObject([
      { action: 'cache.soft-purge', subject: 'advertiser 1', after: { soft: true } },
    ]);
  });

  it('is read as a hard purge by the release before, which does not know its time', async () => {
    const { here, ask, purge } = await two();
    await ask(MONTH);
    await purge({ advertiserId: 1 });
    const records = JSON.parse(here.services.registry.get(PURGES_RECORD)?.value ?? '') as {
      softAtMs?: number;
    }[];
    expect(records).toEqual([{ seq: expect.any(Number), advertiserId: '1', softAtMs: expect.any(Number) }]);
    const text = JSON.stringify(records.map(({ softAtMs: __, ...known }) => known));
    await here.services.registry.commit({ writes: new Map([[PURGES_RECORD, text]]) });
    expect(await ask(MONTH)).toMatch(/^fwd=miss/);
  });
});
