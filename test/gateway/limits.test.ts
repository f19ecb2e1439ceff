import { describe, expect, it, vi } from 'vitest';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import {
  gatewayAt,
  outcomeOf,
  REPORT,
  type Reply,
  reportIn,
  withGateway,
  withTeam,
} from '../support/start-gateway.js';
import { HOUR, MINUTE, SECOND } from '../support/test-clock.js';
import { cacheOf, FINAL, RESTATING } from './reports.js';

const ROWS = '{"data":[{"campaign_id":7,"advertiser_id":1,"spent":"1.50"}]}';
const rateOf = ({ headers }: Reply) => [headers['ratelimit-policy'], headers.ratelimit];
const day = (of: number) => `advertiserId=1&dateFrom=2026-10-${of}&dateTo=2026-10-${of}`;

describe("a team's requests a minute", () => {
  it('beyond its limit are refused until one comes back, whatever they ask', async () => {
    const { gateway, key } = await withTeam({}, { limits: { requestsPerMinute: 3 } });
    const other = await gateway.addTeam({ limits: { requestsPerMinute: 3 } });
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('200');
    expect(outcomeOf(await gateway.report(key, 'nonsense=1&nonsense=2'))).toMatch(/^4/);
    expect(outcomeOf(await gateway.call('/api/v1/campaign/7', { key }))).toBe('404');
    const calls = gateway.simulator.callCount;
    for (const path of [`${REPORT}?${FINAL}`, '/api/v1/campaign/7']) {
      const refused = await gateway.call(path, { key });
      expect(outcomeOf(refused)).toBe('429 rate_limited');
      expect(refused.headers['retry-after']).toBe('20');
      expect(rateOf(refused)).toEqual(['"team";q=3;w=60', '"team";r=0;t=20']);
    }
    expect(gateway.simulator.callCount).toBe(calls);
    expect(outcomeOf(await gateway.report(other, FINAL))).toBe('200');
    gateway.clock.advance(20 * SECOND);
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('200');
    expect(outcomeOf(await gateway.report(key, FINAL))).toBe('429 rate_limited');
  });

  it('are told on every answer to a team that is known, and to nobody else', async () => {
    const { gateway, key } = await withTeam(
      {},
      {
        id: 'growth',
        scopes: ['report:read'],
        limits: { requestsPerMinute: 60 },
      },
    );
    const shown: Reply[] = [
      await gateway.report(key, FINAL),
      await gateway.report(key, FINAL, { headers: { 'if-none-match': '*' } }),
      await gateway.report(key, 'dateFrom=tomorrow'),
      // Neither of these is charged.
      await gateway.call('/api/v1/campaign/7', { key }),
      await gateway.call('/gateway/v1/me', { key }),
    ];
    expect(shown.map(({ status }) => status)).toEqual([200, 304, 400, 403, 200]);
    expect(shown.map(rateOf)).toEqual([
      ['"team";q=60;w=60', '"team";r=59;t=1'],
      ['"team";q=60;w=60', '"team";r=58;t=2'],
      ['"team";q=60;w=60', '"team";r=57;t=3'],
      ['"team";q=60;w=60', '"team";r=57;t=3'],
      ['"team";q=60;w=60', '"team";r=57;t=3'],
    ]);
    for (const reply of [await gateway.report('dgw_unknown', FINAL), await gateway.call('/readyz')])
      expect(rateOf(reply)).toEqual([undefined, undefined]);
  });

  it('are shared by replicas', async () => {
    const gateway = await withGateway();
    const replica = await gatewayAt(gateway.simulator, { sharedStore: gateway.store, clock: gateway.clock });
    const key = await gateway.addTeam({ limits: { requestsPerMinute: 20 } });
    const outcomes: string[] = [];
    for (let call = 0; call < 15; call++) {
      outcomes.push(outcomeOf(await gateway.report(key, FINAL)));
      outcomes.push(outcomeOf(await replica.report(key, FINAL)));
    }
    expect(outcomes.filter((outcome) => outcome === '200')).toHaveLength(20);
    expect(new Set(outcomes)).toEqual(new Set(['200', '429 rate_limited']));
  });
});

describe("a team's requests at once", () => {
  it('beyond its limit are refused, and free their place however they end', async () => {
    const platform = await startHeldPlatform(sends(ROWS));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam({ limits: { maxConcurrent: 2 } });
    const under = [gateway.report(key, day(10)), gateway.call('/api/v1/thing', { key })];
    await platform.arrived(2);
    const refused = await gateway.report(key, day(12));
    expect([outcomeOf(refused), refused.headers['retry-after']]).toEqual(['429 rate_limited', '1']);
    platform.release();
    expect((await Promise.all(under)).map(({ status }) => status)).toEqual([200, 200]);
    for (let call = 0; call < 5; call++) {
      expect(outcomeOf(await gateway.report(key, day(10)))).toBe('200');
      expect(outcomeOf(await gateway.report(key, 'dateFrom=never'))).toBe('400 invalid_query');
    }
  });
});

describe("a team's daily share of platform calls", () => {
  it('used up leaves what is cached, fresh or old, and refuses the rest until midnight UTC', async () => {
    const { gateway, key } = await withTeam({}, { limits: { upstreamCallsPerDay: 2 } });
    const other = await gateway.addTeam();
    await gateway.report(key, FINAL);
    await gateway.report(key, RESTATING);
    const refused = await gateway.report(key, day(10));
    expect(outcomeOf(refused)).toBe('429 upstream_budget_exhausted');
    expect(refused.headers['retry-after']).toBe(String((12 * HOUR) / SECOND));
    const write = await gateway.call('/api/v1/campaign/create', { key, method: 'POST', json: { name: 'x' } });
    expect(outcomeOf(write)).toBe('429 upstream_budget_exhausted');
    expect(gateway.simulator.callCount).toBe(2);
    expect(cacheOf(await gateway.report(key, FINAL))).toMatch(/^hit/);
    gateway.clock.advance(HOUR + 11 * MINUTE);
    const old = await gateway.report(key, RESTATING);
    expect([old.status, cacheOf(old)]).toEqual([200, expect.stringMatching(/stale-if-error$/)]);
    expect(outcomeOf(await gateway.report(other, day(10)))).toBe('200');
    gateway.clock.set('2026-11-22T00:00:00Z');
    expect(outcomeOf(await gateway.report(key, day(11)))).toBe('200');
  });

  it('of which one call is left answers all who ask the same on two replicas', async () => {
    const platform = await startHeldPlatform(sends(ROWS));
    const gateway = await gatewayAt(platform);
    const replica = await gatewayAt(platform, { sharedStore: gateway.store, clock: gateway.clock });
    const key = await gateway.addTeam({ limits: { upstreamCallsPerDay: 1 } });
    await vi.waitUntil(async () => (await replica.call('/gateway/v1/me', { key })).status === 200);
    const early = [gateway, replica, gateway].map((one) => one.report(key, day(10)));
    await platform.arrived(1);
    const late = [replica, gateway, replica].map((one) => one.report(key, day(10)));
    const other = await gateway.report(key, day(11));
    expect(outcomeOf(other)).toBe('429 upstream_budget_exhausted');
    platform.release();
    expect((await Promise.all([...early, ...late])).map(outcomeOf)).toEqual(Array(6).fill('200'));
    expect(platform.requests).toHaveLength(1);
  });

  it('is not charged for refreshing behind an answer, nor for what another team asked for', async () => {
    const platform = await startHeldPlatform(sends(ROWS));
    const gateway = await gatewayAt(platform);
    const [key, other] = [
      await gateway.addTeam({ limits: { upstreamCallsPerDay: 1 } }),
      await gateway.addTeam(),
    ];
    const leader = gateway.report(other, day(10));
    await platform.arrived(1);
    const follower = gateway.report(key, day(10));
    platform.release();
    expect((await Promise.all([leader, follower])).map(outcomeOf)).toEqual(['200', '200']);
    const me = async () => (await gateway.call('/gateway/v1/me', { key })).json<{ left: object }>().left;
    // Whoever waits for another's call is not charged.
    expect(await me()).toMatchObject({ upstreamCallsPerDay: 1 });
    await gateway.report(key, RESTATING);
    gateway.clock.advance(HOUR + MINUTE);
    expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/stale-while-revalidate$/);
    await gateway.services.settled();
    expect(platform.requests).toHaveLength(3);
    expect(await me()).toMatchObject({ upstreamCallsPerDay: 0 });
  });
});

describe('a share that ends in the middle of a call', () => {
  it.each([
    ['refuses its team, not others who waited for that call', [0, 0.99], '429 upstream_budget_exhausted'],
    ['lets its team use what another brings that asks again first', [0.99, 0], '200'],
  ])('%s', async (_what, jitters, outcome) => {
    let answers = 0;
    const platform = await startHeldPlatform((request, response) => {
      answers += 1;
      (answers === 1 ? sends('{}', {}, 503) : sends(ROWS))(request, response);
    });
    const gateway = await gatewayAt(platform, {
      config: { platform: { retry: { attempts: 1, baseMs: 1000 } } },
    });
    const [key, other] = [
      await gateway.addTeam({ limits: { upstreamCallsPerDay: 1 } }),
      await gateway.addTeam(),
    ];
    const leader = gateway.report(key, day(10));
    await platform.arrived(1);
    const follower = gateway.report(other, day(10));
    await expect.poll(() => gateway.services.reporting.waiting()).toBe(1);
    // When each asks again: the leader draws first.
    const jitter = vi.spyOn(Math, 'random');
    for (const share of jitters) jitter.mockReturnValueOnce(share);
    platform.release();
    expect(outcomeOf(await leader)).toBe(outcome);
    expect(outcomeOf(await follower)).toBe('200');
    expect(platform.requests).toHaveLength(2);
  });
});

describe('a platform that keeps failing', () => {
  it('is left alone: old answers go on, the rest is refused at once, and one call finds that it is back', async () => {
    const { gateway, key } = await withTeam({
      config: { platform: { circuit: { failures: 3, openSeconds: 5 }, retry: { baseMs: 1 } } },
    });
    const first = reportIn(await gateway.report(key, RESTATING));
    gateway.clock.advance(HOUR + 11 * MINUTE);
    gateway.simulator.fault({ kind: 'status', status: 503, times: 1000 });
    // Two tries more than the first: the third opens the circuit.
    expect(outcomeOf(await gateway.report(key, day(10)))).toBe('502 upstream_error');
    const calls = gateway.simulator.callCount;
    const refused = await gateway.report(key, day(11));
    expect(outcomeOf(refused)).toBe('503 upstream_circuit_open');
    expect(['4', '5']).toContain(refused.headers['retry-after']);
    const old = await gateway.report(key, RESTATING);
    expect(cacheOf(old)).toMatch(/stale-if-error$/);
    expect(reportIn(old).data).toEqual(first.data);
    expect(gateway.simulator.callCount).toBe(calls);
    expect((await gateway.call('/readyz')).json()).toMatchObject({
      ready: true,
      platform: expect.stringMatching(/^failing: 3 calls in a row failed; no call is made for [45] s more$/),
    });
    const metrics = await gateway.services.metrics.registry.metrics();
    expect(metrics).toContain('dsp_gateway_platform_circuit_open 1');

    gateway.simulator.clearFaults();
    gateway.clock.advanceMonotonic(5000);
    expect((await gateway.call('/readyz')).json()).toMatchObject({
      platform: 'failing: 3 calls in a row failed; the next request calls it again',
    });
    expect(outcomeOf(await gateway.report(key, day(11)))).toBe('200');
    expect((await gateway.call('/readyz')).json()).toMatchObject({ platform: 'ok' });
  });

  it('is not called failing for ever by a process without requests, if it answers another one', async () => {
    const config = { platform: { circuit: { failures: 3, openSeconds: 5 }, retry: { attempts: 0 } } };
    const gateway = await withGateway({ config });
    const { simulator, store: sharedStore, clock } = gateway;
    const replica = await gatewayAt(simulator, { config, sharedStore, clock });
    await Promise.all([gateway, replica].map(({ services }) => services.limits.replicas.join()));
    const key = await gateway.addTeam({ id: 'growth' });
    const platform = async () =>
      (await replica.call('/readyz')).json<{ platform: string; worst: { platform: string } }>();
    await expect.poll(async () => outcomeOf(await replica.call('/gateway/v1/me', { key }))).toBe('200');
    simulator.fault({ kind: 'status', status: 500, times: 3 });
    for (const at of [10, 11, 12])
      expect(outcomeOf(await replica.report(key, day(at)))).toBe('502 upstream_error');
    clock.pass(6 * MINUTE);
    const failing = expect.stringMatching(
      /^failing: 3 calls in a row failed; the next request calls it again$/,
    );
    expect(await platform()).toMatchObject({ platform: failing, worst: { platform: failing } });
    expect(outcomeOf(await gateway.report(key, day(10)))).toBe('200');
    await expect
      .poll(platform, { timeout: 20_000 })
      .toMatchObject({ platform: 'ok', worst: { platform: 'ok' } });
    const metrics = await replica.services.metrics.registry.metrics();
    expect(metrics).toContain('dsp_gateway_platform_circuit_open 0');
  });
});

describe('doctor, while the platform is called failing', () => {
  it('closes the circuit if the platform answers, and leaves it open if not, without a report of a caller', async () => {
    const { gateway, key } = await withTeam({
      config: { platform: { circuit: { failures: 1, openSeconds: 600 }, retry: { attempts: 1 } } },
    });
    expect(outcomeOf(await gateway.report(key, RESTATING))).toBe('200');
    gateway.simulator.fault({ kind: 'status', status: 500, times: 1000 });
    expect(outcomeOf(await gateway.report(key, day(11)))).toBe('502 upstream_error');
    const platform = async () => (await gateway.call('/readyz')).json<{ platform: string }>().platform;
    await gateway.manage('POST', '/doctor');
    expect(await platform()).toMatch(/^failing: /);
    gateway.simulator.clearFaults();
    await gateway.manage('POST', '/doctor');
    expect(await platform()).toBe('ok');
    expect(outcomeOf(await gateway.report(key, day(11)))).toBe('200');
  });
});

describe('the limits that apply, in GET /gateway/v1/me', () => {
  type Me = { left: Record<string, unknown>; applies: Record<string, unknown> };
  const me = async (gateway: Awaited<ReturnType<typeof gatewayAt>>, key: string) =>
    (await gateway.call('/gateway/v1/me', { key })).json<Me>();

  it("are the platform's where it allows all teams fewer calls than the team has left", async () => {
    // So many that the gateway hardly spreads them over the minute.
    let remaining = 100;
    const rate = () => ({ 'x-ratelimit-limit': '600', 'x-ratelimit-remaining': String(remaining) });
    const platform = await startHeldPlatform((request, response) => sends(ROWS, rate())(request, response));
    platform.release();
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam({ limits: { upstreamCallsPerDay: 200 } });
    expect((await me(gateway, key)).applies).toMatchObject({
      upstreamCalls: 200,
      upstreamCallsLimitedBy: 'team',
    });
    expect(outcomeOf(await gateway.report(key, day(10)))).toBe('200');
    const limited = await me(gateway, key);
    expect(limited.left).toMatchObject({ upstreamCallsPerDay: 199 });
    expect(limited.applies).toMatchObject({ upstreamCalls: 100, upstreamCallsLimitedBy: 'platform' });
    const resetInMs = Date.parse(limited.applies.upstreamCallsResetAt as string) - gateway.clock.now();
    expect(resetInMs).toBeGreaterThan(0);
    expect(resetInMs).toBeLessThanOrEqual(MINUTE);
    remaining = 300;
    expect(outcomeOf(await gateway.report(key, day(11)))).toBe('200');
    expect((await me(gateway, key)).applies).toEqual({
      maxConcurrent: 32,
      upstreamCalls: 198,
      upstreamCallsResetAt: limited.left.upstreamCallsResetAt,
      upstreamCallsLimitedBy: 'team',
    });
  });

  it('are none while the platform has asked for a pause', async () => {
    const platform = await startHeldPlatform(sends('{}', { 'retry-after': '30' }, 429));
    platform.release();
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    expect(outcomeOf(await gateway.report(key, day(10)))).toBe('503 upstream_rate_limited');
    expect((await me(gateway, key)).applies).toMatchObject({
      upstreamCalls: 0,
      upstreamCallsLimitedBy: 'platform',
    });
  });

  it("are this replica's part of the concurrent requests, and so are those of the refusal", async () => {
    const platform = await startHeldPlatform(sends(ROWS));
    const gateway = await gatewayAt(platform);
    await gatewayAt(platform, { sharedStore: gateway.store, clock: gateway.clock });
    await vi.waitUntil(() => gateway.services.limits.replicas.count === 2, { timeout: 10_000 });
    const key = await gateway.addTeam({ limits: { maxConcurrent: 2 } });
    expect((await me(gateway, key)).applies).toMatchObject({ maxConcurrent: 1 });
    const running = gateway.report(key, day(10));
    await platform.arrived(1);
    expect((await me(gateway, key)).left).toMatchObject({ maxConcurrent: 0 });
    expect((await gateway.report(key, day(11))).json<{ detail: string }>().detail).toBe(
      "The team has reached its limit of 1 concurrent requests, this replica's part of 2.",
    );
    platform.release();
    expect(outcomeOf(await running)).toBe('200');
  });
});

describe('status notes teams that their limits refuse, at the level well:', () => {
  const WELL = { level: 'well', findings: [] };

  it('the requests refused within five minutes at all processes, and how to raise the limit', async () => {
    const gateway = await withGateway();
    const { simulator, store: sharedStore, clock } = gateway;
    const replica = await gatewayAt(simulator, { sharedStore, clock });
    await Promise.all([gateway, replica].map(({ services }) => services.limits.replicas.join()));
    const key = await gateway.addTeam({ id: 'growth', limits: { requestsPerMinute: 2, maxConcurrent: 20 } });
    const ask = async (at: typeof replica, times: number) => {
      const outcomes: string[] = [];
      for (let asked = 0; asked < times; asked += 1) outcomes.push(outcomeOf(await at.report(key, FINAL)));
      return outcomes.filter((outcome) => outcome === '429 rate_limited').length;
    };
    expect((await ask(gateway, 6)) + (await ask(replica, 4))).toBe(8);
    const shown = async () => {
      const { notes, verdict } = await gateway.manage('GET', '/status');
      return { notes, verdict };
    };
    const note =
      'growth: 8 requests refused by its limit of 2 requests a minute within the last 5 minutes (to see them: dsp-gateway requests list --team growth --code rate_limited; to raise it: dsp-gateway teams update growth --requests-per-minute <number>)';
    await expect.poll(shown, { timeout: 20_000 }).toEqual({ notes: [note], verdict: WELL });
    clock.pass(6 * MINUTE);
    await expect.poll(shown, { timeout: 20_000 }).toEqual({ notes: [], verdict: WELL });
  });

  it('platform calls of the day that are used up, until midnight', async () => {
    const { gateway, key } = await withTeam({}, { id: 'growth', limits: { upstreamCallsPerDay: 2 } });
    const notes = async () => (await gateway.manage('GET', '/status')).notes;
    await gateway.report(key, day(10));
    expect(await notes()).toEqual([]);
    await gateway.report(key, day(11));
    const [spent, raise] = [
      'growth has used up its 2 platform calls of today (until 00:00 UTC)',
      ' (to raise it: dsp-gateway teams update growth --upstream-calls-per-day <number>)',
    ];
    await expect.poll(notes).toEqual([`${spent}${raise}`]);
    await gateway.report(key, day(12));
    expect(await notes()).toEqual([`${spent}, 1 request refused within the last 5 minutes${raise}`]);
    gateway.clock.pass(13 * HOUR);
    expect(await notes()).toEqual([]);
  });

  it('in one line which limits refused and their values now, after an operator has raised them', async () => {
    const limits = { requestsPerMinute: 30, upstreamCallsPerDay: 1 };
    const { gateway, key } = await withTeam({}, { id: 'growth', limits });
    for (const at of [10, 11, 12, 13]) await gateway.report(key, day(at));
    for (let asked = 4; asked < 32; asked += 1) await gateway.report(key, day(10));
    await gateway.manage('PATCH', '/teams/growth', {
      limits: { requestsPerMinute: 600, upstreamCallsPerDay: 500 },
    });
    expect((await gateway.manage('GET', '/status')).notes).toEqual([
      'growth: 3 requests refused by its limit of platform calls a day (500 now); 2 requests refused by its limit of requests a minute (600 now) within the last 5 minutes (to see them: dsp-gateway requests list --team growth --code upstream_budget_exhausted; to see them: dsp-gateway requests list --team growth --code rate_limited)',
    ]);
  });

  it('requests at once, and not its requests a minute', async () => {
    const platform = await startHeldPlatform(sends(ROWS));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam({ id: 'growth', limits: { maxConcurrent: 1 } });
    const running = gateway.report(key, day(10));
    await platform.arrived(1);
    expect(outcomeOf(await gateway.report(key, day(11)))).toBe('429 rate_limited');
    platform.release();
    await running;
    expect((await gateway.manage('GET', '/status')).notes).toEqual([
      'growth: 1 request refused by its limit of 1 requests at once within the last 5 minutes (to see them: dsp-gateway requests list --team growth --code rate_limited; to raise it: dsp-gateway teams update growth --max-concurrent <number>)',
    ]);
  });

  it('at most five, those with the most refused requests, and how many more there are', async () => {
    const gateway = await withGateway();
    for (let at = 1; at <= 7; at += 1) {
      const key = await gateway.addTeam({ id: `team-${at}`, limits: { requestsPerMinute: 1 } });
      for (let asked = 0; asked <= at; asked += 1) await gateway.report(key, FINAL);
    }
    const notes = (await gateway.manage('GET', '/status')).notes as string[];
    expect(notes.map((note) => note.split(' refused')[0])).toEqual([
      ...[7, 6, 5, 4, 3].map((at) => `team-${at}: ${at} requests`),
      '2 more teams at or near a limit',
    ]);
  });
});
