import { describe, expect, it } from 'vitest';
import type { Fault } from '../../src/simulator/faults.js';
import type { Simulator } from '../../src/simulator/simulator-api.js';
import { call, REPORT, start } from './support.js';

const ask = (simulator: Simulator, path = REPORT) => call(simulator, path);

describe('the queue of faults', () => {
  const statuses = async (simulator: Simulator, calls: number) => {
    const seen = [];
    for (let made = 0; made < calls; made++) seen.push((await ask(simulator)).status);
    return seen;
  };

  it('plays each once, in order', async () => {
    const simulator = await start();
    for (const status of [500, 502]) simulator.fault({ kind: 'status', status });
    expect(await statuses(simulator, 3)).toEqual([500, 502, 200]);
  });

  it('plays one as often as told, or until cleared', async () => {
    const simulator = await start();
    simulator.fault({ kind: 'status', times: 2 });
    expect(simulator.faults).toEqual([{ kind: 'status', times: 2 }]);
    expect(await statuses(simulator, 3)).toEqual([500, 500, 200]);
    simulator.fault({ kind: 'status', times: 0 });
    expect(await statuses(simulator, 4)).toEqual([500, 500, 500, 500]);
    expect(simulator.faults).toEqual([{ kind: 'status', times: 0 }]);
    simulator.clearFaults();
    expect(await statuses(simulator, 1)).toEqual([200]);
  });

  it('picks the first that matches path and method', async () => {
    const simulator = await start();
    simulator.fault({ kind: 'status', status: 501, path: '/creatives/' });
    simulator.fault({ kind: 'status', status: 502, method: 'POST' });
    simulator.fault({ kind: 'status', status: 503 });
    expect((await call(simulator, REPORT, { method: 'POST', json: {} })).status).toBe(502);
    expect((await ask(simulator)).status).toBe(503);
    expect((await ask(simulator)).status).toBe(200);
    expect((await ask(simulator, '/api/v1/report/creatives/get')).status).toBe(501);
  });

  it.each([
    ['dateFrom=2026-11-01&dateTo=2026-11-04', {}, false],
    ['dateFrom=2026-11-01&dateTo=2026-11-05', {}, true],
    ['dateFrom=2026-11-06&dateTo=2026-11-09', {}, true],
    ['dateFrom=2026-11-07&dateTo=2026-11-09', {}, false],
    ['dateFrom=2026-11-01&dateTo=2026-11-30', {}, true],
    ['', {}, false],
    ['dateFrom=2026-12-01&dateTo=2026-12-02', { to: undefined }, true],
    ['dateFrom=2026-10-01&dateTo=2026-10-02', { from: undefined }, true],
  ])('of 5 and 6 November, asked for %j %j: played %s', async (query, changes, isPlayed) => {
    const simulator = await start();
    const period = Object.entries({ from: '2026-11-05', to: '2026-11-06', ...changes });
    const given = Object.fromEntries(period.filter(([, day]) => day !== undefined));
    simulator.fault({ kind: 'status', ...given });
    expect((await ask(simulator, `${REPORT}?${query}`)).status).toBe(isPlayed ? 500 : 200);
  });

  it('reads the period of a POST from its body', async () => {
    const simulator = await start();
    simulator.fault({ kind: 'status', from: '2026-11-05', to: '2026-11-06' });
    const json = { dateFrom: '2026-11-01', dateTo: '2026-11-05' };
    expect((await call(simulator, REPORT, { method: 'POST', json })).status).toBe(500);
  });

  it('covers the token request and calls without a token', async () => {
    const simulator = await start();
    simulator.fault({ kind: 'status', status: 503, path: '/oauth/token' });
    expect(
      (await call(simulator, '/oauth/token', { method: 'POST', headers: { authorization: '' } })).status,
    ).toBe(503);
  });

  it.each([
    [{ kind: 'flood' }, /^kind: is "flood"; allowed: "status"/],
    [{}, /^kind: is missing/],
    [{ kind: 'hang', colour: 1 }, /^colour: is not known; allowed: kind, status/],
    [{ kind: 'status', status: 99 }, /^status/],
    [{ kind: 'hang', from: '2026-02-30' }, /^from: .*YYYY-MM-DD/],
    [{ kind: 'redirect', location: 'a\r\nb' }, /^location/],
  ])('refuses %j', async (fault, message) => {
    const simulator = await start();
    expect(() => simulator.fault(fault as Fault)).toThrow(message);
    expect(simulator.faults).toEqual([]);
  });
});
