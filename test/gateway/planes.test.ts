/** Cases of docs/security.md that no other test looks at by themselves. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../src/errors/catalogue.js';
import { BUILD } from '../../src/lib/package-root.js';
import {
  ADMIN_TOKEN,
  outcomeOf,
  REPORT,
  type Reply,
  type SimulatedGateway,
  startGateway,
  withGateway,
  withTeam,
} from '../support/start-gateway.js';
import { FINAL } from './reports.js';

let gateway: SimulatedGateway;
let key: string;

beforeAll(async () => {
  gateway = await startGateway();
  key = await gateway.addTeam();
});
afterAll(() => gateway.close());

describe('a key', () => {
  it.each(['x-api-key', 'api_key', 'access_token', 'authorization', 'key'])(
    'in the query (%s) is none, and is in no log line',
    async (name) => {
      const reply = await gateway.call(`${REPORT}?${FINAL}&${name}=${key}`);
      expect(outcomeOf(reply)).toBe('401 missing_api_key');
      expect(reply.text).not.toContain(key);
      expect(gateway.logText).not.toContain(key);
    },
  );
});

describe('the other plane', () => {
  it('is not on the data plane, whoever asks', async () => {
    for (const path of ['/admin/v1/status', '/admin/v1/teams', '/metrics', '/admin/v1/token'])
      for (const headers of [{ authorization: `Bearer ${ADMIN_TOKEN}` }, { 'x-api-key': key }])
        expect([path, outcomeOf(await gateway.call(path, { headers }))]).toEqual([path, '404 not_found']);
  });

  it('takes no team key, in either header, by any method', async () => {
    for (const headers of [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }])
      for (const method of ['GET', 'HEAD', 'POST', 'DELETE'] as const) {
        const { statusCode } = await gateway.admin.inject({ method, url: '/admin/v1/teams', headers });
        expect([method, statusCode]).toEqual([method, expect.toBeOneOf([401, 405])]);
      }
  });
});

describe('an address that looks like a file', () => {
  it('is a report of its own name, for its caller alone, and never answered from another one’s entry', async () => {
    await gateway.report(key, FINAL);
    const calls = gateway.simulator.callCount;
    for (const path of [`${REPORT}.css`, `${REPORT}/x.css`, `${REPORT}.js`]) {
      const reply = await gateway.call(`${path}?${FINAL}`, { key });
      expect(reply.headers['cache-status'] ?? 'none').not.toMatch(/hit/);
      expect(reply.headers['cache-control']).toMatch(/private|no-store/);
      expect((await gateway.call(`${path}?${FINAL}`)).status).toBe(401);
    }
    expect(gateway.simulator.callCount).toBe(calls + 3);
  });
});

describe('headers that a platform could be told by', () => {
  it('change neither the question nor the answer', async () => {
    const plain = await gateway.report(key, FINAL);
    const calls = gateway.simulator.callCount;
    const reply = await gateway.report(key, FINAL, {
      headers: {
        forwarded: 'host=evil',
        'x-forwarded-host': 'evil',
        'x-original-url': '/admin',
        'x-rewrite-url': '/x',
        'x-http-method-override': 'DELETE',
        'x-host': 'evil',
        cookie: 'a=b',
        'accept-language': 'de',
      },
    });
    expect([reply.status, reply.text, gateway.simulator.callCount]).toEqual([200, plain.text, calls]);
  });
});

const VARY = 'accept, accept-encoding, authorization, x-api-key';
const get = (headers: Record<string, string> = {}, query = FINAL): Promise<Reply> =>
  gateway.report(key, query, { headers });

describe('an answer', () => {
  it('says what it depends on, be it a miss, a hit, not modified or refused', async () => {
    const miss = await get();
    const hit = await get();
    const same = await get({ 'if-none-match': String(hit.headers.etag) });
    const refused = await get({ accept: 'text/html' });
    const foreign = await gateway.report('dgw_none', FINAL);
    expect([miss, hit, same, refused, foreign].map(({ status }) => status)).toEqual([
      200, 200, 304, 406, 401,
    ]);
    for (const { headers } of [miss, hit, same, refused, foreign]) expect(headers.vary).toBe(VARY);
  });

  it('that is not modified repeats the headers that a cache would renew', async () => {
    const full = await get();
    const same = await get({ 'if-none-match': `"other", W/${full.headers.etag}` });
    expect(same.status).toBe(304);
    for (const name of ['etag', 'age', 'cache-control', 'cache-status', 'vary'])
      expect([name, same.headers[name]?.replace(/store|l1/, '')]).toEqual([
        name,
        full.headers[name]?.replace(/store|l1/, '').replace('fwd=miss; stored', ''),
      ]);
    expect((await get({ 'if-none-match': '*' })).status).toBe(304);
    expect((await get({ 'if-none-match': '"other"' })).status).toBe(200);
  });

  it('to HEAD has the headers of GET and no body', async () => {
    const [full, head] = [await get(), await gateway.report(key, FINAL, { method: 'HEAD' })];
    expect(head.body).toHaveLength(0);
    for (const name of ['content-length', 'content-type', 'etag', 'cache-control', 'vary'])
      expect([name, head.headers[name]]).toEqual([name, full.headers[name]]);
  });
});

describe('a refusal', () => {
  it('is kept by nobody, and is a problem document whose status is its own', async () => {
    const refused = [
      await gateway.report('dgw_none', FINAL),
      await get({ accept: 'text/html' }),
      await get({}, 'advertiserId=01'),
      await gateway.call(REPORT, { method: 'PUT', key }),
      await gateway.call('/nowhere', { key }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([401, 406, 400, 405, 404]);
    for (const { status, headers, json } of refused) {
      expect(headers['content-type']).toBe('application/problem+json; charset=utf-8');
      expect(headers['cache-control']).toBe('no-store');
      expect(json()).toMatchObject({ status, type: expect.stringMatching(/^\/docs\/errors\/\w+$/) });
    }
    expect(refused[0]?.headers['www-authenticate']).toBe('Bearer realm="dsp-gateway"');
    expect(refused[3]?.headers.allow).toBe('GET, HEAD, POST');
  });
});

it('nothing is said of the way or of what will end: no via, sunset, deprecation or digest', async () => {
  const { headers } = await get();
  for (const name of [
    'via',
    'sunset',
    'deprecation',
    'content-digest',
    'repr-digest',
    'server',
    'warning',
    'pragma',
  ])
    expect(headers[name]).toBeUndefined();
});

describe('GET /healthz and /readyz', () => {
  it('tell that the process lives, and that it can answer', async () => {
    const gateway = await withGateway();
    expect((await gateway.call('/healthz')).json()).toEqual({ status: 'ok', ...BUILD });
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
    const { gateway, key } = await withTeam(
      {},
      {
        id: 'growth',
        name: 'Growth',
        advertisers: [1, 2],
        scopes: ['report:read'],
        limits: { maxRangeDays: 31 },
      },
    );
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
});

describe('the pages about errors', () => {
  it('are where each problem says they are', async () => {
    for (const [code, { title }] of Object.entries(CATALOGUE)) {
      const page = await gateway.call(`/docs/errors/${code}`);
      expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
      expect(page.text).toContain(` ${code}</code>`);
      expect(page.text).toContain(title);
    }
  });

  it.each(['nothing', 'constructor', 'toString', '__proto__', 'hasOwnProperty'])(
    'are not there for %s',
    async (code) => {
      expect(outcomeOf(await gateway.call(`/docs/errors/${code}`))).toBe('404 not_found');
    },
  );
});

describe('endpoints named like what every object has', () => {
  it('is an endpoint, a parameter, a value and an account like any other word', async () => {
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
