import { describe, expect, it } from 'vitest';
import { FAULT_KINDS } from '../../src/simulator/faults.js';
import type { Simulator } from '../../src/simulator/simulator-api.js';
import { SWITCHES } from '../../src/simulator/switches.js';
import { DAY, NOON } from '../support/test-clock.js';
import { type CallOptions, call, REPORT, type Row, rowsOf, start } from './support.js';

const control = (simulator: Simulator, path: string, options: CallOptions = {}) =>
  call(simulator, `/_sim${path}`, { ...options, headers: { authorization: '' } });

interface Overview extends Row {
  readonly help: {
    controls: Record<string, { curl: string }>;
    switches: Row;
    faults: { kinds: Row };
    report: string;
  };
}

describe('the control path', () => {
  it('explains every switch, fault and control to a stranger', async () => {
    const simulator = await start({ switches: { shape: 'paged' } });
    await call(simulator, REPORT);
    const overview = (await control(simulator, '')).json<Overview>();
    expect(overview).toMatchObject({
      today: '2026-11-21',
      now: '2026-11-21T12:00:00.000Z',
      offsetMs: 0,
      counts: { calls: 1, faultsQueued: 0 },
      token: simulator.token,
      account: simulator.account,
      switches: { ...simulator.switches, shape: 'paged' },
    });
    expect(Object.keys(overview.help.switches)).toEqual(Object.keys(SWITCHES));
    expect(overview.help.switches.shape).toMatchObject({
      about: expect.stringContaining('bare array'),
      allowed: expect.stringContaining('"nested"'),
      default: 'data',
    });
    expect(Object.keys(overview.help.faults.kinds)).toEqual(Object.keys(FAULT_KINDS));
    expect(overview.help.report).toContain(simulator.token);
    for (const [name, { curl }] of Object.entries(overview.help.controls)) {
      expect(curl).toContain(`${simulator.url}${name.split(' ')[1]}`);
    }
  });

  it('understands its own examples', async () => {
    const simulator = await start();
    const { help } = (await control(simulator, '')).json<Overview>();
    for (const [name, { curl }] of Object.entries(help.controls)) {
      const [method = '', path = ''] = name.split(' ');
      const body = /-d '(\{.*\})'/.exec(curl)?.[1];
      const query = [...curl.matchAll(/-d (\w+=\S+)/g)].map(([, pair]) => pair).join('&');
      const target = path.slice('/_sim'.length) + (query && `?${query}`);
      const options = { method: method as 'GET', ...(body === undefined ? {} : { body }) };
      expect((await control(simulator, target, options)).status).toBeLessThan(300);
    }
  });

  it('changes switches, all or none', async () => {
    const simulator = await start();
    const patch = (json: unknown) => control(simulator, '/switches', { method: 'PATCH', json });
    const changed = await patch({ shape: 'array', latencyMs: 0 });
    expect(changed.json()).toEqual(simulator.switches);
    expect(simulator.switches.shape).toBe('array');
    const refused = await patch({ shape: 'data', rowCap: 'many' });
    expect(refused.status).toBe(422);
    expect(refused.headers['content-type']).toBe('application/problem+json');
    expect(refused.json()).toMatchObject({
      status: 422,
      errors: [{ field: 'rowCap', message: 'is "many"', allowed: 'a whole number from 0 to 1000000' }],
    });
    expect(simulator.switches.shape).toBe('array');
    expect((await patch({ hue: 1 })).json()).toMatchObject({
      errors: [{ field: 'hue', allowed: expect.stringContaining('rateLimitPerMinute') }],
    });
    expect((await patch([])).status).toBe(422);
    expect((await control(simulator, '/switches', { method: 'PATCH', body: '{' })).status).toBe(400);
  });

  it('lists and forgets the platform calls, its own not among them', async () => {
    const simulator = await start();
    await call(simulator, `${REPORT}?advertiserId=1&campaignIds[]=5`);
    await call(simulator, REPORT, { method: 'POST', json: { advertiserId: 2 } });
    const { calls } = (await control(simulator, '/calls')).json<{ calls: Row[] }>();
    expect(calls).toEqual(JSON.parse(JSON.stringify(simulator.calls)));
    expect(calls).toMatchObject([
      {
        at: NOON,
        method: 'GET',
        path: REPORT,
        url: `${REPORT}?advertiserId=1&campaignIds[]=5`,
        query: { advertiserId: '1', campaignIds: ['5'] },
        headers: { authorization: `Bearer ${simulator.token}` },
        body: '',
        status: 200,
      },
      { method: 'POST', body: '{"advertiserId":2}', query: {}, status: 200 },
    ]);
    await control(simulator, '/calls', { method: 'DELETE' });
    expect(simulator.calls).toEqual([]);
    expect((await control(simulator, '')).json()).toMatchObject({ counts: { calls: 2 } });
  });

  it('queues and clears faults', async () => {
    const simulator = await start();
    const add = (json: unknown) => control(simulator, '/faults', { method: 'POST', json });
    expect((await add({ kind: 'status', status: 503, times: 2 })).status).toBe(201);
    expect(simulator.faults).toEqual([{ kind: 'status', status: 503, times: 2 }]);
    expect((await call(simulator, REPORT)).status).toBe(503);
    expect((await add({ kind: 'fire' })).json()).toMatchObject({ errors: [{ field: 'kind' }] });
    await control(simulator, '/faults', { method: 'DELETE' });
    expect((await call(simulator, REPORT)).status).toBe(200);
  });

  it('issues and revokes tokens', async () => {
    const simulator = await start();
    const { token } = (await control(simulator, '/tokens', { method: 'POST' })).json<{ token: string }>();
    const statusOf = async (sent: string) =>
      (await call(simulator, REPORT, { headers: { authorization: `Bearer ${sent}` } })).status;
    expect(await statusOf(token)).toBe(200);
    await control(simulator, '/revoke', { method: 'POST', json: { token } });
    expect([await statusOf(token), await statusOf(simulator.token)]).toEqual([401, 200]);
    await control(simulator, '/revoke', { method: 'POST' });
    expect(await statusOf(simulator.token)).toBe(401);
    const unknown = await control(simulator, '/revoke', { method: 'POST', json: { token: 'x' } });
    expect(unknown.json()).toMatchObject({ status: 422, errors: [{ field: 'token' }] });
  });

  it('moves the clock', async () => {
    const simulator = await start();
    const moved = await control(simulator, '/clock', { method: 'PUT', json: { offsetMs: 2 * DAY } });
    expect(moved.json()).toEqual({
      now: '2026-11-23T12:00:00.000Z',
      today: '2026-11-23',
      offsetMs: 2 * DAY,
    });
    expect((await rowsOf(simulator, '?advertiserId=1&byDate=1')).at(-1)?.date).toBe('2026-11-23');
    expect((await control(simulator, '/clock', { method: 'PUT', json: {} })).status).toBe(422);
    expect((await control(simulator, '/clock', { method: 'PUT', json: { offsetMs: '1' } })).status).toBe(422);
  });

  it('restates days', async () => {
    const simulator = await start();
    const query = '?advertiserId=1&byDate=1&dateFrom=2026-10-01&dateTo=2026-10-03';
    const before = await rowsOf(simulator, query);
    const json = { advertiserId: 1, from: '2026-10-02', to: '2026-10-02' };
    expect((await control(simulator, '/restate', { method: 'POST', json })).status).toBe(200);
    const after = await rowsOf(simulator, query);
    expect(after.map((row, day) => row.impressions === before[day]?.impressions)).toEqual([
      true,
      false,
      true,
    ]);
    expect(await rowsOf(simulator, query)).toEqual(after);
    const refused = await control(simulator, '/restate', { method: 'POST', json: { from: 'then' } });
    expect(refused.json()).toMatchObject({ errors: [{ field: 'from' }] });
  });

  it('tells the truth, now and at another time', async () => {
    const simulator = await start();
    const query = { advertiserId: 1, byDate: true, dateFrom: '2026-11-19', dateTo: '2026-11-21' };
    const ask = async (at: string) => {
      const path = `/truth?advertiserId=1&byDate=1&dateFrom=2026-11-19&dateTo=2026-11-21${at}`;
      return (await control(simulator, path)).json<{ at: string; rows: unknown }>();
    };
    expect(await ask('')).toEqual({ at: '2026-11-21T12:00:00.000Z', rows: simulator.truth(query) });
    const earlier = NOON - DAY;
    expect((await ask(`&at=${earlier}`)).rows).toEqual(simulator.truth(query, earlier));
    expect((await ask('&at=2026-11-20T12:00:00Z')).rows).toEqual(simulator.truth(query, earlier));
    expect((await control(simulator, '/truth?at=soon')).json()).toMatchObject({ errors: [{ field: 'at' }] });
    expect((await control(simulator, '/truth?dateFrom=x')).json()).toMatchObject({
      errors: [{ field: 'dateFrom' }],
    });
  });

  it('names the controls to whoever misses them', async () => {
    const simulator = await start();
    const reply = await control(simulator, '/nothing');
    expect(reply.status).toBe(404);
    expect(reply.json()).toMatchObject({ detail: expect.stringContaining('PATCH /_sim/switches') });
  });
});
