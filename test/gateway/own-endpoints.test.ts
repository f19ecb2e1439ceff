import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../src/errors.js';
import { outcomeOf, withGateway } from '../support/start-gateway.js';
import { FINAL } from './reports.js';

describe('GET /healthz and /readyz', () => {
  it('tell that the process lives, and that it can answer', async () => {
    const gateway = await withGateway();
    expect((await gateway.call('/healthz')).json()).toEqual({ status: 'ok' });
    const ready = await gateway.call('/readyz');
    // The platform has not answered to the pasted token yet.
    const conditions = { store: 'ok', credential: 'unproven', platform: 'ok' };
    expect([ready.status, ready.json()]).toEqual([200, { ready: true, ...conditions, worst: conditions }]);
    expect(ready.headers['cache-control']).toBe('no-store');
  });

  it('tell of a pause and of an expired token, and stay ready', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    gateway.simulator.fault({ kind: 'status', status: 429, retryAfterS: 30 });
    await gateway.report(key, FINAL);
    expect((await gateway.call('/readyz')).json()).toMatchObject({
      ready: true,
      platform: 'paused for 30 s',
    });
    gateway.clock.advanceMonotonic(30_001);
    gateway.clock.set('2028-01-01T00:00:00Z');
    expect((await gateway.call('/readyz')).json()).toMatchObject({ credential: 'expired', platform: 'ok' });
  });
});

describe('GET /gateway/v1/me', () => {
  it('tells a team what it may do', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({
      id: 'growth',
      name: 'Growth',
      advertisers: [1, 2],
      scopes: ['report:read'],
      limits: { maxRangeDays: 31 },
    });
    const me = await gateway.call('/gateway/v1/me', { key });
    expect(me.status).toBe(200);
    expect(me.headers['cache-control']).toBe('private, no-store');
    expect(me.json()).toMatchObject({
      team: { id: 'growth', name: 'Growth' },
      scopes: ['report:read'],
      advertisers: [1, 2],
      defaultFormat: 'json',
      limits: { maxRangeDays: 31 },
      credential: { state: 'unproven', expiresAt: expect.stringMatching(/^2027-/) },
    });
    expect(me.text).not.toContain(gateway.simulator.token);
    expect(me.text).not.toContain(key);
  });

  it('is closed to whom everything is', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ id: 'growth', ipAllow: ['10.0.0.0/8'] });
    expect(outcomeOf(await gateway.call('/gateway/v1/me'))).toBe('401 missing_api_key');
    expect(outcomeOf(await gateway.call('/gateway/v1/me', { key, from: '192.0.2.1' }))).toBe(
      '403 ip_forbidden',
    );
    await gateway.manage('PATCH', '/teams/growth', { disabled: true });
    expect(outcomeOf(await gateway.call('/gateway/v1/me', { key, from: '10.0.0.1' }))).toBe(
      '403 team_disabled',
    );
  });
});

describe('the pages about errors', () => {
  it('are where each problem says they are', async () => {
    const gateway = await withGateway();
    for (const [code, { title }] of Object.entries(CATALOGUE)) {
      const page = await gateway.call(`/docs/errors/${code}`);
      expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(page.text).toContain(`<code>${code}</code>`);
      expect(page.text).toContain(title);
    }
  });

  it.each(['nothing', 'constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'are not there for %s',
    async (code) => {
      const gateway = await withGateway();
      expect(outcomeOf(await gateway.call(`/docs/errors/${code}`))).toBe('404 not_found');
    },
  );
});

describe('endpoints named like what every object has', () => {
  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty/get'])(
    '%s is an undeclared report like any other',
    async (name) => {
      const gateway = await withGateway();
      const key = await gateway.addTeam();
      expect(outcomeOf(await gateway.call(`/api/v1/report/${name}?advertiserId=1`, { key }))).toBe(
        '404 upstream_rejected',
      );
      gateway.simulator.fault({ kind: 'status', status: 200, message: 'x' });
      const reply = await gateway.call(
        `/api/v1/report/${name}?advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-02&x=1`,
        { key },
      );
      expect([reply.status, reply.headers['cache-control']]).toEqual([502, 'no-store']);
    },
  );

  it('is an endpoint, a parameter, a value and an account like any other word', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    const day = 'dateFrom=2026-10-10&dateTo=2026-10-10';
    for (const word of ['constructor', '__proto__', 'toString', 'hasOwnProperty'])
      for (const path of [
        word,
        `report/campaigns/get?advertiserId=1&${day}&${word}=1`,
        `report/campaigns/get?advertiserId=1&${day}&spentBased=${word}`,
        `report/campaigns/get?advertiserId=${word}`,
        `report/other/get?userId=${word}`,
        `report/other/get?byDate=1&advertiserId=${word}&dateFrom=2026-10-10`,
      ])
        expect((await gateway.call(`/api/v1/${path}`, { key })).status, path).toBeLessThan(500);
  });
});

describe('the two planes', () => {
  it('know nothing of each other: paths, keys, tokens', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam();
    for (const path of ['/admin/v1/status', '/admin/v1/teams', '/metrics'])
      expect(outcomeOf(await gateway.call(path, { key }))).toBe('404 not_found');
    const asAdmin = await gateway.admin.inject({
      url: '/admin/v1/teams',
      headers: { authorization: `Bearer ${key}` },
    });
    expect([asAdmin.statusCode, asAdmin.json().code]).toEqual([401, 'invalid_admin_token']);
    const report = await gateway.admin.inject({
      url: `/api/v1/report/campaigns/get?${FINAL}`,
      headers: { 'x-api-key': key },
    });
    expect(report.statusCode).toBe(404);
  });

  it.each(['OPTIONS', 'PUT'] as const)('%s finds nothing that it may do', async (method) => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ scopes: ['report:read', 'platform:read'] });
    for (const path of ['/healthz', '/gateway/v1/me', `/api/v1/report/campaigns/get?${FINAL}`]) {
      const { status } = await gateway.call(path, { method, key });
      expect([403, 404, 405]).toContain(status);
    }
    expect(gateway.simulator.callCount).toBe(0);
  });
});
