import { describe, expect, it } from 'vitest';
import type { Fault } from '../../src/simulator/simulator.js';
import { sends, startHeldPlatform } from '../support/raw-platform.js';
import {
  gatewayAt,
  outcomeOf,
  reportIn,
  type SimulatedGateway,
  withGateway,
} from '../support/start-gateway.js';
import { DAY, HOUR, MINUTE } from '../support/test-clock.js';
import { cacheOf, RESTATING } from './reports.js';

/** A gateway that holds a report past its revalidation, for use only when the platform fails. */
async function holding(gateway: Promise<SimulatedGateway> = withGateway()) {
  const started = await gateway;
  const key = await started.addTeam();
  const first = reportIn(await started.report(key, RESTATING));
  started.clock.advance(HOUR + 11 * MINUTE);
  return { gateway: started, key, first };
}

/** The time of a call is short where it has to pass, and long where it must not. */
const quick = (timeoutMs: number) =>
  withGateway({ config: { platform: { timeoutMs, maxAnswerBytes: 1_000_000, retry: { baseMs: 1 } } } });
const ENDLESS: readonly Fault['kind'][] = ['hang', 'hang-headers', 'slow'];

describe('stale-if-error', () => {
  it.each<[string, Fault]>([
    ['500', { kind: 'status', status: 500 }],
    ['502', { kind: 'status', status: 502, times: 3 }],
    ['503', { kind: 'status', status: 503, times: 3 }],
    ['504', { kind: 'status', status: 504, times: 3 }],
    ['408', { kind: 'status', status: 408 }],
    ['429', { kind: 'status', status: 429, retryAfterS: 60 }],
    ['a reset', { kind: 'reset', times: 3 }],
    ['silence', { kind: 'hang' }],
    ['headers without end', { kind: 'hang-headers', latencyMs: 20 }],
    ['a body without end', { kind: 'slow', latencyMs: 20 }],
    ['HTML', { kind: 'html' }],
    ['garbage', { kind: 'garbage' }],
    ['half an answer', { kind: 'truncate', times: 3 }],
    ['too much', { kind: 'oversize', bytes: 3_000_000 }],
    ['a redirect elsewhere', { kind: 'redirect' }],
    ['a redirect to the login', { kind: 'redirect', location: '/login' }],
    ['401', { kind: 'status', status: 401 }],
  ])('answers with what it has on %s, and says so', async (_what, fault) => {
    const timeoutMs = ENDLESS.includes(fault.kind) ? 1500 : 30_000;
    const { gateway, key, first } = await holding(quick(timeoutMs));
    gateway.simulator.fault(fault);
    const reply = await gateway.report(key, RESTATING);
    expect(cacheOf(reply)).toBe('hit; ttl=-660; detail=stale-if-error');
    expect(reply.headers).toMatchObject({ age: '4260', 'cache-control': 'private, max-age=4260' });
    expect(reportIn(reply)).toEqual({ data: first.data, meta: { ...first.meta, stale: true } });
  });

  it('answers while a pause lasts, without asking, and for a token that nothing replaces', async () => {
    const { gateway, key } = await holding();
    gateway.simulator.fault({ kind: 'status', status: 429, retryAfterS: 600 });
    await gateway.report(key, RESTATING);
    const calls = gateway.simulator.callCount;
    expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/stale-if-error$/);
    expect(gateway.simulator.callCount).toBe(calls);
    gateway.clock.advance(10 * MINUTE);
    gateway.simulator.revoke();
    expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/stale-if-error$/);
  });

  it('answers when too many wait for the platform already', async () => {
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
  });

  it.each([400, 403, 404, 409, 422])('does not hide a refusal: %s', async (status) => {
    const { gateway, key } = await holding();
    gateway.simulator.fault({ kind: 'status', status });
    expect(outcomeOf(await gateway.report(key, RESTATING))).toBe(`${status} upstream_rejected`);
  });

  it('lasts seven days, and not a moment longer', async () => {
    const { gateway, key } = await holding();
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    gateway.clock.set('2026-11-28T12:59:59.999Z');
    expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/stale-if-error$/);
    gateway.clock.advance(1);
    expect(outcomeOf(await gateway.report(key, RESTATING))).toBe('502 upstream_error');
  });

  it('ends with a purge', async () => {
    const { gateway, key } = await holding();
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    await gateway.manage('POST', '/cache/purge', { advertiserId: 1 });
    expect(outcomeOf(await gateway.report(key, RESTATING))).toBe('502 upstream_error');
  });

  it('is refused to whom the report is refused', async () => {
    const { gateway } = await holding();
    const limited = await gateway.addTeam({ advertisers: [2] });
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    expect(outcomeOf(await gateway.report(limited, RESTATING))).toBe('403 advertiser_forbidden');
  });

  it('is not kept in memory as if it were fresh, and ends when the platform is back', async () => {
    const { gateway, key } = await holding();
    gateway.simulator.fault({ kind: 'status', status: 500 });
    expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/stale-if-error$/);
    expect(cacheOf(await gateway.report(key, RESTATING))).toBe('fwd=stale; stored');
    expect(cacheOf(await gateway.report(key, RESTATING))).toMatch(/^hit; ttl=3600/);
  });

  it('gives every format', async () => {
    const { gateway, key } = await holding();
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    for (const format of ['csv', 'ndjson', 'raw']) {
      const reply = await gateway.report(key, `${RESTATING}&_format=${format}`);
      expect([reply.status, cacheOf(reply)]).toEqual([200, 'hit; ttl=-660; detail=stale-if-error']);
      expect(reply.body.length).toBeGreaterThan(0);
    }
  });

  it('comes to the rescue of totals alone, too', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const query = `${RESTATING}&byDate=1&_totals=1`;
    await gateway.report(key, query);
    gateway.clock.advance(2 * DAY);
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    const reply = await gateway.report(key, query);
    expect(cacheOf(reply)).toMatch(/stale-if-error$/);
    expect(reportIn(reply).meta).toMatchObject({ stale: true, totals: { reach: expect.any(Number) } });
  });
});
