import { describe, expect, it } from 'vitest';
import type { Problem } from '../../src/errors.js';
import type { Fault } from '../../src/simulator/simulator.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf, withGateway } from '../support/start-gateway.js';
import { problemIn, QUERY } from './problem.js';

describe('what the platform does', () => {
  it('keeps the status and the words of a refusal', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    for (const status of [403, 404, 409, 410, 422, 451] as const) {
      gateway.simulator.fault({ kind: 'status', status, message: `said ${status}` });
      const reply = await gateway.report(key, `${QUERY}&x=${status}`);
      expect(problemIn(reply)).toBe(`${status} upstream_rejected`);
      expect(reply.json<Problem>().upstream).toEqual({ status, message: `said ${status}` });
    }
  });

  it.each<[string, Fault, string]>([
    ['500', { kind: 'status', status: 500 }, '502 upstream_error'],
    ['503', { kind: 'status', status: 503, times: 3 }, '502 upstream_error'],
    ['a reset', { kind: 'reset', times: 3 }, '502 upstream_error'],
    ['408', { kind: 'status', status: 408 }, '504 upstream_timeout'],
    ['silence', { kind: 'hang' }, '504 upstream_timeout'],
    ['a redirect elsewhere', { kind: 'redirect' }, '502 upstream_invalid_response'],
    ['HTML', { kind: 'html' }, '502 upstream_invalid_response'],
    ['garbage', { kind: 'garbage' }, '502 upstream_invalid_response'],
    ['half an answer', { kind: 'truncate', times: 3 }, '502 upstream_error'],
    ['too much', { kind: 'oversize', bytes: 3_000_000 }, '502 upstream_too_large'],
    ['201', { kind: 'status', status: 201 }, '502 upstream_invalid_response'],
    ['206', { kind: 'status', status: 206 }, '502 upstream_invalid_response'],
  ])('%s', async (_what, fault, expected) => {
    // Short where it has to pass, and long where it must not.
    const timeoutMs = fault.kind === 'hang' ? 2000 : 30_000;
    const gateway = await withGateway({
      config: { platform: { timeoutMs, maxAnswerBytes: 1_000_000, retry: { baseMs: 1 } } },
    });
    const key = await gateway.addTeam();
    gateway.simulator.fault(fault);
    expect(problemIn(await gateway.report(key, QUERY))).toBe(expected);
    gateway.simulator.clearFaults();
    // Nothing of it was kept.
    const again = await gateway.report(key, QUERY);
    expect([again.status, again.headers['cache-status']]).toEqual([200, 'dsp-gateway; fwd=miss; stored']);
  });

  it.each([204, 205, 304])('%s, which is no report', async (status) => {
    const platform = await startRawPlatform(sends('', {}, status));
    const gateway = await gatewayAt(platform);
    const key = await gateway.addTeam();
    expect(problemIn(await gateway.report(key, QUERY))).toBe('502 upstream_invalid_response');
    platform.answer(sends('{"data":[]}'));
    expect((await gateway.report(key, QUERY)).headers['cache-status']).toBe('dsp-gateway; fwd=miss; stored');
  });

  it('too many rows', async () => {
    const gateway = await withGateway({ config: { report: { maxRows: 1 } } });
    const key = await gateway.addTeam();
    expect(problemIn(await gateway.report(key, `${QUERY}&byDate=1`))).toBe('502 upstream_too_large');
  });

  it('429 opens a pause for all, that says how long it lasts and ends', async () => {
    const gateway = await withGateway();
    const [one, other] = [await gateway.addTeam(), await gateway.addTeam()];
    gateway.simulator.fault({ kind: 'status', status: 429, retryAfterS: 30 });
    const refused = await gateway.report(one, QUERY);
    expect([problemIn(refused), refused.headers['retry-after']]).toEqual(['503 upstream_rate_limited', '30']);
    gateway.clock.advanceMonotonic(20_000);
    const waiting = await gateway.report(other, 'advertiserId=2');
    expect([problemIn(waiting), waiting.headers['retry-after']]).toEqual(['503 upstream_rate_limited', '10']);
    expect(gateway.simulator.callCount).toBe(1);
    gateway.clock.advanceMonotonic(10_000);
    expect(outcomeOf(await gateway.report(other, 'advertiserId=2'))).toBe('200');
  });

  it('a refused token, with no other to put in its place', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    gateway.simulator.revoke();
    const refused = await gateway.report(key, QUERY);
    expect(problemIn(refused)).toBe('503 credential_unavailable');
    expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    const ready = await gateway.call('/readyz');
    expect(ready.json()).toMatchObject({ credential: 'refused' });
  });

  it('remembers a refusal for as long as it may, and no other error', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    for (const status of [400, 404, 422] as const) {
      gateway.simulator.fault({ kind: 'status', status, message: 'no' });
      const query = `advertiserId=1&x=${status}`;
      const before = gateway.simulator.callCount;
      for (let at = 0; at < 3; at++)
        expect(problemIn(await gateway.report(key, query))).toBe(`${status} upstream_rejected`);
      gateway.clock.advance(29_999);
      expect(problemIn(await gateway.report(key, query))).toBe(`${status} upstream_rejected`);
      expect(gateway.simulator.callCount - before).toBe(1);
      gateway.clock.advance(1);
      expect(outcomeOf(await gateway.report(key, query))).toBe('200');
    }
    gateway.simulator.fault({ kind: 'status', status: 403, message: 'no' });
    expect(problemIn(await gateway.report(key, 'advertiserId=3'))).toBe('403 upstream_rejected');
    expect(outcomeOf(await gateway.report(key, 'advertiserId=3'))).toBe('200');
  });
});
