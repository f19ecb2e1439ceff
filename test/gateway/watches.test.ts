/** `/gateway/v1/watches`: reports that the gateway reads by itself. */
import { describe, expect, it } from 'vitest';
import type { Problem } from '../../src/lib/http/problem.js';
import { prove, stateOf } from '../support/prove.js';
import {
  gatewayAt,
  outcomeOf,
  type Reply,
  type TestGateway,
  type withGateway,
  withTeam,
} from '../support/start-gateway.js';
import { DAY, HOUR, MINUTE } from '../support/test-clock.js';

const WATCHES = '/gateway/v1/watches';
const LAST_30 = 'advertiserId=1&byDate=1&_period=last_30_days';
const FIXED = 'advertiserId=1&byDate=1&dateFrom=2026-11-10&dateTo=2026-11-20';
const SCOPES = ['report:read', 'report:watch', 'cache:refresh'];

interface Shown {
  readonly id: string;
  readonly query: string;
  readonly maxAgeDays: number;
  readonly state: string;
  readonly reason: string | null;
  readonly period: { readonly from: string; readonly to: string } | null;
  readonly callsPerDay: number;
  readonly days: number;
  readonly readAt: string | null;
  readonly nextReadAt: string | null;
  readonly failed: { readonly at: string; readonly message: string } | null;
}

/** What the leader does each second. */
const look = async (gateway: TestGateway) => {
  await gateway.services.reporting.led['reads of watches'](() => false);
  await gateway.services.settled();
};

async function scene(options: Parameters<typeof withGateway>[0] = {}, isProven = true) {
  const { gateway, key } = await withTeam(options, { id: 'watcher', scopes: SCOPES });
  if (isProven) await prove(gateway, key);
  const put = (query = LAST_30, more: object = {}, path = 'w', asking = key) =>
    gateway.call(`${WATCHES}/${path}`, {
      method: 'PUT',
      key: asking,
      json: { endpoint: 'campaigns/get', query, ...more },
    });
  const get = async (id = 'w') => shown(await gateway.call(`${WATCHES}/${id}`, { key }));
  /** Ranges of the platform calls since the last time: `11-01/11-07`. */
  const calls = () => {
    const ranges = gateway.simulator.calls.map(
      ({ query }) => `${String(query.dateFrom).slice(5)}/${String(query.dateTo).slice(5)}`,
    );
    gateway.simulator.clearCalls();
    return ranges;
  };
  /** Lets time pass. @returns the calls of the leader afterwards */
  const lookAfter = async (ms: number) => {
    gateway.clock.advance(ms);
    await look(gateway);
    return calls();
  };
  gateway.simulator.clearCalls();
  return { gateway, key, put, get, calls, lookAfter };
}

function shown(reply: Reply): Shown {
  expect(reply.status, reply.text).toBeLessThan(300);
  return reply.json<Shown>();
}

describe('a watch', () => {
  it('is put, shown, listed, replaced and deleted', async () => {
    const { gateway, key, put, get } = await scene();
    expect((await put()).status).toBe(201);
    expect(await get()).toMatchObject({ id: 'w', query: LAST_30, maxAgeDays: 45, state: 'watching' });
    expect((await put(FIXED, { maxAgeDays: 20 })).status).toBe(200);
    expect(await get()).toMatchObject({
      query: FIXED,
      maxAgeDays: 20,
      period: { from: '2026-11-10', to: '2026-11-20' },
    });
    await put(LAST_30, {}, 'a');
    const list = (await gateway.call(WATCHES, { key })).json<{ data: Shown[]; meta: object }>();
    expect(list.data.map(({ id }) => id)).toEqual(['a', 'w']);
    expect(list.meta).toEqual({ count: 2, maxCount: 100 });
    const gone = await gateway.call(`${WATCHES}/w`, { method: 'DELETE', key });
    expect([gone.status, gone.text]).toEqual([204, '']);
    expect(outcomeOf(await gateway.call(`${WATCHES}/w`, { method: 'DELETE', key }))).toBe('404 not_found');
    expect(outcomeOf(await gateway.call(`${WATCHES}/w`, { key }))).toBe('404 not_found');
  });

  it('is refused with what is wrong: id, body, report, access', async () => {
    const { gateway, key, put } = await scene();
    const limited = await gateway.addTeam({ id: 'limited', scopes: SCOPES, advertisers: [2] });
    const reader = await gateway.addTeam({ id: 'reader', scopes: ['report:read'] });
    const unread = await gateway.addTeam({ id: 'unread', scopes: ['report:watch'] });
    const refusals = [
      [put(LAST_30, {}, 'No'), '400 invalid_query'],
      [put(LAST_30, {}, '-no'), '400 invalid_query'],
      [put(LAST_30, {}, 'w?dryRun=2'), '400 invalid_query'],
      [put(LAST_30, {}, 'w?other=1'), '400 invalid_query'],
      [put(LAST_30, { maxAgeDays: 0 }), '400 invalid_body'],
      [put(LAST_30, { maxAgeDays: 401 }), '400 invalid_body'],
      [put(LAST_30, { maxAgeDays: 1.5 }), '400 invalid_body'],
      [put(LAST_30, { maxAgeDays: '45' }), '400 invalid_body'],
      [put(LAST_30, { other: 1 }), '400 invalid_body'],
      [put(`${LAST_30}&x=${'x'.repeat(4096)}`), '400 invalid_body'],
      [put('advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-02'), '400 invalid_query'],
      [put('advertiserId=1&byDate=1'), '400 invalid_query'],
      [put(`${LAST_30}&_asOf=2026-11-09`), '400 invalid_query'],
      [put('advertiserId=1&byDate=1&dateFrom=2020-01-01&dateTo=2026-11-02'), '400 invalid_query'],
      [put(LAST_30, {}, 'w', limited), '403 advertiser_forbidden'],
      [put(LAST_30, {}, 'w', reader), '403 scope_missing'],
      [put(LAST_30, {}, 'w', unread), '403 scope_missing'],
      [put(LAST_30, {}, 'w', 'none'), '401 invalid_api_key'],
      [gateway.call(WATCHES, { key: unread }), '403 scope_missing'],
      [gateway.call(`${WATCHES}/w`, { method: 'DELETE', key: reader }), '403 scope_missing'],
      [gateway.call(`${WATCHES}/w`, { method: 'POST', key, json: {} }), '405 method_not_allowed'],
    ] as const;
    for (const [reply, outcome] of refusals) expect(outcomeOf(await reply), (await reply).text).toBe(outcome);
    expect((await gateway.call(WATCHES, { key })).json()).toMatchObject({ data: [] });
  });

  it('of another team is not there, nor one of a deleted team for its successor', async () => {
    const { gateway, key, put } = await scene();
    const other = await gateway.addTeam({ id: 'other', scopes: SCOPES });
    await put();
    expect(outcomeOf(await gateway.call(`${WATCHES}/w`, { key: other }))).toBe('404 not_found');
    expect(outcomeOf(await gateway.call(`${WATCHES}/w`, { method: 'DELETE', key: other }))).toBe(
      '404 not_found',
    );
    await gateway.manage('DELETE', '/teams/watcher');
    const successor = await gateway.addTeam({ id: 'watcher', scopes: SCOPES });
    expect(outcomeOf(await gateway.call(`${WATCHES}/w`, { key: successor }))).toBe('404 not_found');
    await look(gateway);
    expect(gateway.services.registry.list('watch/')).toEqual([]);
    expect(outcomeOf(await gateway.call(WATCHES, { key }))).toBe('401 revoked_api_key');
  });

  it('is one of a hundred at most, which may come at once', async () => {
    const { put } = await scene();
    const ids = Array.from({ length: 100 }, (_, at) => `w${at + 1}`);
    for (let from = 0; from < ids.length; from += 25) {
      const some = await Promise.all(ids.slice(from, from + 25).map((id) => put(FIXED, {}, id)));
      expect(new Set(some.map(({ status }) => status))).toEqual(new Set([201]));
    }
    const refused = await put(FIXED, {}, 'w101');
    expect(outcomeOf(refused)).toBe('409 conflict');
    expect(refused.json<Problem>().detail).toContain('100 watches');
    expect((await put(LAST_30, {}, 'w100')).status).toBe(200);
  });

  it('of a later release is shown with what is known of it, and a damaged one is not there', async () => {
    const { gateway, key } = await scene();
    const later = { endpoint: 'campaigns/get', query: FIXED, maxAgeDays: 45, createdAt: 0, further: true };
    const writes = new Map([
      ['watch/watcher:0/later', JSON.stringify(later)],
      ['watch/watcher:0/damaged', '{"endpoint":1}'],
    ]);
    await gateway.services.registry.commit({ writes });
    const list = (await gateway.call(WATCHES, { key })).json<{ data: Shown[] }>();
    expect(list.data.map(({ id, days }) => [id, days])).toEqual([['later', 11]]);
    expect(outcomeOf(await gateway.call(`${WATCHES}/damaged`, { key }))).toBe('404 not_found');
  });

  it('of a kind that is refuted later is kept, and not read until it is proven again', async () => {
    const { gateway, put, get, lookAfter } = await scene();
    await put();
    await lookAfter(0);
    const [[record = '', stored] = []] = gateway.services.registry.list('divisible/');
    const refuted = {
      ...JSON.parse(stored?.value ?? ''),
      ...{ state: 'refuted', generation: 'other', refutedFor: 'It was wrong.' },
      refutedUntil: gateway.clock.now() + DAY,
    };
    await gateway.services.registry.commit({ writes: new Map([[record, JSON.stringify(refuted)]]) });
    expect(await lookAfter(2 * HOUR)).toEqual([]);
    expect(await get()).toMatchObject({
      state: 'proving',
      reason: 'Cached as one period until 2026-11-22 12:00 UTC. It was wrong.',
      nextReadAt: null,
    });
    // The proof, and then all days: those before are of another generation.
    await lookAfter(DAY);
    await look(gateway);
    expect(await get()).toMatchObject({ state: 'watching', reason: null });
  });

  it('with dryRun=1 has a price, and nothing is kept, proved or read', async () => {
    const { gateway, key, put, lookAfter } = await scene({}, false);
    const reply = await put(LAST_30, {}, 'w?dryRun=1');
    expect([reply.status, reply.json()]).toEqual([200, { callsPerDay: 25.15, days: 30 }]);
    expect(await lookAfter(0)).toEqual([]);
    expect((await gateway.call(WATCHES, { key })).json()).toMatchObject({ data: [] });
  });

  it('starts the proof of its kind, and its days are read once that is proven', async () => {
    const { gateway, put, get, calls } = await scene({}, false);
    expect(shown(await put())).toMatchObject({ state: 'proving', nextReadAt: null });
    await gateway.services.settled();
    expect((await stateOf(gateway)).because).toBe('proven: a day has the same numbers in every period');
    await look(gateway);
    const made = calls();
    // The proof makes eight calls at most.
    expect(made.length).toBeLessThanOrEqual(9);
    expect(made.filter((range) => range.endsWith('11-20'))).toEqual(['11-16/11-20']);
    expect(await get()).toMatchObject({
      state: 'watching',
      reason: null,
      readAt: '2026-11-21T12:00:00.000Z',
      nextReadAt: '2026-11-21T13:00:00.000Z',
      failed: null,
    });
  });

  it('of a kind that is refuted is refused, with the reason', async () => {
    const { gateway, put, calls } = await scene({ switches: { divisible: false } }, false);
    await put();
    await gateway.services.settled();
    calls();
    for (const path of ['other', 'w', 'other?dryRun=1']) {
      const refused = await put(LAST_30, {}, path);
      expect(outcomeOf(refused)).toBe('409 not_divisible');
      expect(refused.json<Problem>().detail).toMatch(/Cached as one period until 2026-11-22.*had other rows/);
    }
    await look(gateway);
    expect(calls()).toEqual([]);
  });

  it('of a kind that settings keep whole is refused', async () => {
    const endpoints = { 'campaigns/get': { divisible: 'never' } };
    const { put } = await scene({ config: { report: { endpoints } } }, false);
    const refused = await put();
    expect(outcomeOf(refused)).toBe('409 not_divisible');
    expect(refused.json<Problem>().detail).toContain('as configured');
  });
});

describe('the days of a watch', () => {
  it('are read when they are due by their age, and not before', async () => {
    const { put, lookAfter } = await scene();
    await put();
    // The others were fetched by the proof.
    expect(await lookAfter(0)).toEqual(['11-13/11-20']);
    expect(await lookAfter(59 * MINUTE)).toEqual([]);
    expect(await lookAfter(MINUTE)).toEqual(['11-16/11-20']);
    expect(await lookAfter(0)).toEqual([]);
  });

  it('move with a relative period at midnight in the zone of the account', async () => {
    const config = { platform: { timezones: { 1: 'America/New_York' } } };
    const { gateway, put, lookAfter, get } = await scene({ config });
    gateway.clock.set('2026-11-22T04:30:00Z');
    await put('advertiserId=1&byDate=1&_period=yesterday');
    expect(await lookAfter(0)).toEqual(['11-20/11-20']);
    expect((await get()).period).toEqual({ from: '2026-11-20', to: '2026-11-20' });
    expect(await lookAfter(29 * MINUTE)).toEqual([]);
    // With the day before, as half of its hour has passed.
    expect(await lookAfter(MINUTE)).toEqual(['11-20/11-21']);
    expect((await get()).period).toEqual({ from: '2026-11-21', to: '2026-11-21' });
  });

  it('are read once a week in one call when they are final, until they are too old', async () => {
    const { put, lookAfter, get, gateway } = await scene();
    await put(FIXED, { maxAgeDays: 20 });
    expect(await lookAfter(0)).toEqual(['11-13/11-20']);
    const read: string[] = [];
    for (let day = 1; day <= 25; day++) {
      const calls = await lookAfter(DAY);
      if (calls.length > 0) read.push(`${gateway.simulator.today.slice(5)}: ${calls.join(' ')}`);
    }
    expect(read).toEqual([
      '11-22: 11-16/11-20',
      '11-23: 11-17/11-20',
      '11-24: 11-18/11-20',
      '11-25: 11-19/11-20',
      '11-26: 11-20/11-20',
      '11-28: 11-10/11-20',
      '12-05: 11-15/11-20',
    ]);
    expect(await get()).toMatchObject({ state: 'done', nextReadAt: null });
  });

  it('show within a week what the platform has restated after they were final', async () => {
    const { gateway, key, put, lookAfter } = await scene();
    await put();
    await lookAfter(0);
    gateway.simulator.restate({ advertiserId: 1, from: '2026-11-05', to: '2026-11-05' });
    for (let hour = 0; hour < 7 * 24; hour += 6) await lookAfter(6 * HOUR);
    const about = encodeURIComponent('advertiserId=1&byDate=1&dateFrom=2026-11-05&dateTo=2026-11-05');
    const reply = await gateway.call(`/gateway/v1/revisions?endpoint=campaigns/get&query=${about}`, { key });
    expect(reply.json()).toMatchObject({
      data: [{ date: '2026-11-05', revisions: [{ kind: 'first' }, { kind: 'changed', ageDays: 23 }] }],
    });
  });

  it('that a caller has just had fetched are not due', async () => {
    const { gateway, key, put, lookAfter } = await scene();
    await put();
    await lookAfter(0);
    gateway.clock.advance(30 * MINUTE);
    await gateway.report(key, LAST_30, { headers: { 'cache-control': 'no-cache' } });
    expect(await lookAfter(0)).toHaveLength(1);
    expect(await lookAfter(30 * MINUTE)).toEqual([]);
    expect(await lookAfter(30 * MINUTE)).toEqual(['11-16/11-20']);
  });

  it('are read once by two replicas, and not again by a new leader', async () => {
    const { gateway, put, lookAfter, calls } = await scene();
    const { simulator, clock, store } = gateway;
    const replica = await gatewayAt(simulator, { clock, sharedStore: store });
    await put();
    await replica.services.registry.refresh();
    expect(await lookAfter(0)).toHaveLength(1);
    await look(replica);
    expect(calls()).toEqual([]);
    expect(await lookAfter(HOUR)).toEqual(['11-16/11-20']);
    await look(replica);
    expect(calls()).toEqual([]);
  });

  it('are charged to the team, whose share they may use up', async () => {
    const { gateway, put, lookAfter, get, key } = await scene();
    await gateway.manage('PATCH', '/teams/watcher', { limits: { upstreamCallsPerDay: 2 } });
    const left = async () =>
      (await gateway.call('/gateway/v1/me', { key })).json<{ left: { upstreamCallsPerDay: number } }>().left
        .upstreamCallsPerDay;
    expect(await left()).toBe(1);
    await put();
    await lookAfter(0);
    expect(await left()).toBe(0);
    expect(await lookAfter(HOUR)).toEqual([]);
    expect((await get()).failed).toMatchObject({ message: expect.stringContaining('platform calls') });
  });

  it('are not read for a team that is disabled, or lost the advertiser or the scope, until it has it again', async () => {
    const { gateway, put, lookAfter, get } = await scene();
    const change = async (patch: object) => {
      await gateway.manage('PATCH', '/teams/watcher', patch);
      return await lookAfter(2 * HOUR);
    };
    await put();
    await lookAfter(0);
    expect(await change({ disabled: true })).toEqual([]);
    expect(await change({ disabled: false, advertisers: [2] })).toEqual([]);
    expect(await get()).toMatchObject({
      period: null,
      nextReadAt: null,
      reason: 'The team has no access to advertiser 1 in advertiserId.',
    });
    expect(await change({ advertisers: '*', scopes: ['report:read'] })).toEqual([]);
    expect((await get()).reason).toContain('report:watch');
    expect(await change({ scopes: SCOPES })).toEqual(['11-16/11-20']);
    expect((await get()).reason).toBeNull();
  });

  it('wait while the platform is paused or the circuit open', async () => {
    const config = { platform: { circuit: { openSeconds: 600 } } };
    const { gateway, put, lookAfter } = await scene({ config });
    await put();
    await lookAfter(0);
    const { pause, circuit } = gateway.services;
    pause.open(10 * MINUTE);
    expect(await lookAfter(HOUR)).toEqual([]);
    gateway.clock.advanceMonotonic(10 * MINUTE);
    expect(await lookAfter(10 * MINUTE)).toHaveLength(1);
    for (let nth = 0; nth < 20; nth++)
      await circuit
        .run(
          () => Promise.reject(new Error('down')),
          () => true,
        )
        .catch(() => {});
    expect(circuit.isOpen).toBe(true);
    expect(await lookAfter(HOUR)).toEqual([]);
    const metrics = await gateway.services.metrics.registry.metrics();
    expect(metrics).toContain('dsp_gateway_watch_reads_total{outcome="postponed"} 2');
  });

  it('are read again after a rest if the platform fails, which is told', async () => {
    const { gateway, put, lookAfter, get } = await scene({
      config: { platform: { retry: { attempts: 0 } } },
    });
    gateway.simulator.fault({ kind: 'status', status: 500 });
    await put();
    expect(await lookAfter(0)).toHaveLength(1);
    expect((await get()).failed).toMatchObject({ at: '2026-11-21T12:00:00.000Z' });
    expect(await lookAfter(30_000)).toEqual([]);
    expect(await lookAfter(30_000)).toHaveLength(1);
    expect(await get()).toMatchObject({ failed: null, readAt: '2026-11-21T12:01:00.000Z' });
  });
});
