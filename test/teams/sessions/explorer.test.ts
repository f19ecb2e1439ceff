/** The explorer's cookie on the data plane: what it opens, what it does not, when it ends, and what the store holds of it. */

import { describe, expect, it } from 'vitest';
import type { Problem } from '../../../src/lib/http/problem.js';
import { type Documents, type Store, StoreUnavailable } from '../../../src/store/port.js';
import { sessionDocument } from '../../../src/teams/sessions/session-records.js';
import { FINAL } from '../../gateway/reports.js';
import { listenGateway } from '../../support/listen-gateway.js';
import { sends } from '../../support/raw-platform.js';
import { exchange, head, readAnswers } from '../../support/raw-socket.js';
import { openScene, rule, sharedGateway } from '../../support/scene.js';
import {
  ADMIN_TOKEN,
  type GatewayOptions,
  outcomeOf,
  REPORT,
  withGateway,
} from '../../support/start-gateway.js';
import { createStandingClock, HOUR, MINUTE } from '../../support/test-clock.js';
import { ask, type Browser, HOST, ORIGIN, signIn } from './signed-in.js';

const SESSION = '/gateway/v1/session';

async function open(options: GatewayOptions = {}, team: Readonly<Record<string, unknown>> = {}) {
  const gateway = await withGateway(options);
  const key = await gateway.addTeam({ id: 'growth', name: 'Growth', ...team });
  const browser = await signIn(gateway.data, SESSION, { key });
  const get = (url: string, more: object = {}, by: Browser = browser) =>
    ask(gateway.data, url, { headers: { ...by.reads, ...more } });
  const [keyId = ''] = gateway.services.directory.keysOf('growth').map(({ id }) => id);
  return { gateway, key, keyId, browser, get };
}

/** For what changes nothing of it. */
const shared = sharedGateway();

describe('signing in', () => {
  it('tells the team, and gives a cookie that only the browser sees', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ id: 'growth', name: 'Growth', advertisers: [1, 2] });
    const reply = await ask(gateway.data, SESSION, {
      method: 'POST',
      json: { key: ` ${key}\n` },
      headers: { origin: ORIGIN },
    });
    expect([reply.status, reply.json()]).toEqual([
      201,
      {
        team: { id: 'growth', name: 'Growth' },
        scopes: ['report:read', 'platform:read', 'platform:write', 'cache:refresh'],
        advertisers: [1, 2],
        person: null,
        csrf: expect.stringMatching(/^[\w-]{43}$/),
        expiresAt: '2026-11-22T00:00:00.000Z',
      },
    ]);
    expect(reply.headers['cache-control']).toBe('no-store');
    expect(reply.headers['set-cookie']).toMatch(
      /^dgw_explorer=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
    );
    expect(reply.text).not.toContain(key);
  });

  it.each([
    ['[::1]:80', {}, false],
    ['gateway.test', {}, true],
    ['localhost.evil.test', {}, true],
    // Nobody is trusted to say so.
    ['localhost', { 'x-forwarded-proto': 'https' }, false],
  ])('from this machine to %s without TLS %j: Secure %s', async (host, headers, secure) => {
    const json = { key: await shared().addTeam() };
    const reply = await ask(shared().data, SESSION, { method: 'POST', json, headers: { host, ...headers } });
    expect([reply.status, reply.headers['set-cookie']?.endsWith('; Secure')]).toEqual([201, secure]);
  });

  it('believes a trusted proxy what the browser sees, and nobody else', async () => {
    const trusting = { config: { server: { trustedProxies: ['127.0.0.1/32'] } } };
    const behind = {
      'x-forwarded-proto': 'https',
      'x-forwarded-for': '127.0.0.1',
      origin: `https://${HOST}`,
    };
    const gateway = await withGateway(trusting);
    const key = await gateway.addTeam();
    const sign = (headers: Record<string, string>, from = '127.0.0.1') =>
      ask(gateway.data, SESSION, { method: 'POST', json: { key }, headers, from });
    const reply = await sign({ host: 'localhost', ...behind, origin: 'https://localhost' });
    expect([reply.status, reply.headers['set-cookie']]).toEqual([201, expect.stringMatching(/; Secure$/)]);
    expect(outcomeOf(await sign(behind, '192.0.2.1'))).toBe('403 session_forbidden');
    expect(outcomeOf(await sign({ ...behind, origin: ORIGIN }))).toBe('403 session_forbidden');
  });

  it('is refused from another page, before the key is looked at', async () => {
    const { gateway, key } = await open();
    const others = ['https://evil.test', 'null', `https://${HOST}`, `${ORIGIN}:8080`, `${ORIGIN}.evil.test`];
    for (const origin of others) {
      const reply = await ask(gateway.data, SESSION, { method: 'POST', json: { key }, headers: { origin } });
      expect(outcomeOf(reply)).toBe('403 session_forbidden');
    }
  });

  it('takes one member, in JSON, of a key that is valid', async () => {
    const { gateway, key, keyId } = await open();
    const post = async (options: object) =>
      outcomeOf(await ask(gateway.data, SESSION, { method: 'POST', ...options }));
    expect(await post({})).toBe('415 unsupported_media_type');
    for (const json of [{}, { key: 1 }, { key, more: 1 }, [key], 'x'])
      expect(await post({ json })).toBe('400 invalid_body');
    expect(await post({ json: { key: 'x'.repeat(5000) } })).toBe('413 body_too_large');
    expect(await post({ json: { key: 'dgw_nonsense' } })).toBe('401 invalid_api_key');
    await gateway.manage('PATCH', '/teams/growth', { ipAllow: ['10.0.0.0/8'] });
    expect(await post({ json: { key } })).toBe('403 ip_forbidden');
    await gateway.manage('PATCH', '/teams/growth', { disabled: true, ipAllow: [] });
    expect(await post({ json: { key } })).toBe('403 team_disabled');
    await gateway.manage('DELETE', `/keys/${keyId}`);
    expect(await post({ json: { key } })).toBe('401 revoked_api_key');
  });

  it('is not done without end, so that no holder of a key fills the store', async () => {
    const { gateway, key } = await open();
    const sign = () => ask(gateway.data, SESSION, { method: 'POST', json: { key } });
    for (let count = 2; count <= 100; count += 1) expect((await sign()).status).toBe(201);
    const refused = await sign();
    expect([outcomeOf(refused), refused.headers['retry-after']]).toEqual(['429 rate_limited', '36']);
    gateway.clock.advance(37_000);
    expect((await sign()).status).toBe(201);
  });
});

describe('a signed-in browser', () => {
  it('reads reports, what is passed through, and the gateway’s own calls', async () => {
    const scopes = ['report:read', 'report:pin', 'platform:read'];
    const { gateway, get, browser } = await open({}, { scopes });
    expect((await get(SESSION)).json()).toMatchObject({ team: { id: 'growth' }, csrf: browser.csrf });
    expect((await get('/gateway/v1/me')).json()).toMatchObject({ team: { id: 'growth' } });
    for (const _ of ['miss', 'hit']) {
      const report = await gateway.call(`${REPORT}?${FINAL}`, { headers: { host: HOST, ...browser.reads } });
      expect([report.status, report.headers['cache-control']]).toEqual([200, 'private, no-store']);
    }
    expect((await get('/api/v1/campaign/nothing')).status).toBe(404);
    expect((await get('/docs/errors', { cookie: `dgw_explorer=${'x'.repeat(43)}` })).status).toBe(200);
    const pins = await ask(gateway.data, '/gateway/v1/pins/none', {
      method: 'DELETE',
      headers: browser.changes,
    });
    expect(outcomeOf(pins)).toBe('404 not_found');
    expect(
      gateway.log.filter(({ path, team }) => path === REPORT && team === 'growth').length,
    ).toBeGreaterThan(1);
  });

  it('writes nothing to the platform, and has no other plane', async () => {
    const { gateway, browser } = await open();
    const write = async (method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', url: string) =>
      outcomeOf(await ask(gateway.data, url, { method, headers: browser.changes, json: {} }));
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'] as const)
      expect(await write(method, '/api/v1/campaign/create')).toBe('403 session_forbidden');
    expect(await write('POST', REPORT)).toBe('403 session_forbidden');
    // Assistants show keys alone: no page's origin is let in, and a cookie stands for nobody.
    expect(await write('POST', '/mcp')).toBe('403 origin_forbidden');
    const { origin: _, ...hidden } = browser.changes as Record<string, string>;
    const mcp = await ask(gateway.data, '/mcp', { method: 'POST', headers: hidden, json: {} });
    expect(outcomeOf(mcp)).toBe('401 missing_api_key');
    expect(gateway.simulator.callCount).toBe(0);
    for (const cookie of [browser.cookie, browser.cookie.replace('explorer', 'console')])
      expect((await ask(gateway.admin, '/admin/v1/status', { headers: { cookie } })).status).toBe(401);
  });

  it('is never told of to the platform', async () => {
    const { gateway, key, browser, get } = await open();
    await get('/api/v1/campaign/nothing');
    await gateway.call('/api/v1/campaign/other', { key, headers: browser.reads });
    const { calls } = gateway.simulator;
    expect(calls.length).toBe(2);
    expect(JSON.stringify(calls)).not.toMatch(/cookie|dgw_explorer/i);
  });

  it('is judged by its key alone, where it sends one', async () => {
    const { gateway, browser, key, get } = await open();
    const other = await gateway.addTeam({ id: 'other' });
    const me = await get('/gateway/v1/me', { 'x-api-key': other });
    expect([me.json<{ team: { id: string } }>().team.id, me.headers['cache-control']]).toEqual([
      'other',
      'private, no-store',
    ]);
    expect(outcomeOf(await get('/gateway/v1/me', { authorization: 'Bearer nonsense' }))).toBe(
      '401 invalid_api_key',
    );
    const dead = `dgw_explorer=${'x'.repeat(43)}`;
    expect((await get('/gateway/v1/me', { 'x-api-key': key, cookie: dead })).status).toBe(200);
    expect(outcomeOf(await get(SESSION, { 'x-api-key': key }))).toBe('404 not_found');
    const out = { method: 'DELETE', headers: { ...browser.changes, 'x-api-key': key } } as const;
    expect(outcomeOf(await ask(gateway.data, SESSION, out))).toBe('404 not_found');
    expect((await get(SESSION)).status).toBe(200);
  });

  it('is held to its host, its origin and its csrf', async () => {
    const { gateway, browser, get } = await open({ config: { server: { corsOrigins: ['*'] } } });
    expect(outcomeOf(await get(SESSION, { host: 'other.test' }))).toBe('403 session_forbidden');
    expect(outcomeOf(await get(SESSION, { origin: 'https://evil.test' }))).toBe('403 session_forbidden');
    const own = await get(SESSION, { origin: ORIGIN });
    expect([own.status, own.headers['access-control-allow-credentials']]).toEqual([200, undefined]);
    const bare = browser.reads;
    const origin = ORIGIN;
    const other = await signIn(gateway.data, SESSION, { key: await gateway.addTeam() });
    for (const headers of [
      bare,
      { ...bare, origin },
      { ...bare, 'x-csrf-token': browser.csrf },
      { ...browser.changes, origin: 'https://evil.test' },
      { ...browser.changes, 'x-csrf-token': other.csrf },
      { ...browser.changes, 'x-csrf-token': '' },
      { ...browser.changes, host: 'other.test' },
    ]) {
      const reply = await ask(gateway.data, SESSION, { method: 'DELETE', headers });
      expect([outcomeOf(reply), reply.headers['set-cookie']]).toEqual(['403 session_forbidden', undefined]);
    }
    expect((await get(SESSION)).status).toBe(200);
  });
});

describe('a cookie that is none', () => {
  it.each([
    ['empty', 'dgw_explorer='],
    ['of other characters', `dgw_explorer=${'"'.repeat(43)}`],
    ['long', `dgw_explorer=${'x'.repeat(6000)}`],
    ['unknown', `dgw_explorer=${'x'.repeat(43)}`],
    ['there twice', `dgw_explorer=${'x'.repeat(43)}; dgw_explorer=${'y'.repeat(43)}`],
  ])('%s is 401, and asks who calls', async (_what, cookie) => {
    const reply = await ask(shared().data, '/gateway/v1/me', { headers: { cookie } });
    expect(outcomeOf(reply)).toBe('401 invalid_session');
    expect(reply.json<Problem>().help).toMatch(/^Sign in/);
    expect(reply.headers['www-authenticate']).toBe('Bearer realm="dsp-gateway"');
  });

  it('is no cookie of this gateway under another name', async () => {
    const { get, browser } = await open();
    const id = browser.cookie.split('=')[1];
    for (const name of ['dgw_console', 'DGW_EXPLORER', 'xdgw_explorer', 'dgw_explorer2'])
      expect(outcomeOf(await get(SESSION, { cookie: `${name}=${id}` }))).toBe('401 missing_api_key');
    expect((await get(SESSION, { cookie: `a=1; ${browser.cookie}; b="2"` })).status).toBe(200);
    expect(outcomeOf(await get(SESSION, { cookie: `${browser.cookie}; dgw_explorer=x` }))).toBe(
      '401 invalid_session',
    );
  });
});

describe('a session ends', () => {
  it('when it is signed out, at once, for this browser alone, and stays so', async () => {
    const { gateway, key, browser, get } = await open();
    const other = await signIn(gateway.data, SESSION, { key });
    await ask(gateway.data, SESSION, { method: 'DELETE', headers: other.changes });
    expect((await get(SESSION)).status).toBe(200);
    const out = await ask(gateway.data, SESSION, { method: 'DELETE', headers: browser.changes });
    expect([out.status, out.headers['set-cookie']]).toEqual([
      204,
      'dgw_explorer=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure',
    ]);
    expect(outcomeOf(await get(SESSION))).toBe('401 invalid_session');
    gateway.clock.pass(1000);
    expect(outcomeOf(await get('/gateway/v1/me'))).toBe('401 invalid_session');
    const again = await ask(gateway.data, SESSION, { method: 'DELETE', headers: browser.changes });
    expect(outcomeOf(again)).toBe('401 invalid_session');
  });

  it('after an hour without a request, and after 12 hours in any case', async () => {
    const { gateway, get } = await open();
    for (let minutes = 0; minutes < 700; minutes += 50) {
      gateway.clock.pass(50 * MINUTE);
      await gateway.services.registry.refresh();
      expect((await get(SESSION)).status).toBe(200);
    }
    gateway.clock.pass(HOUR / 2);
    expect(outcomeOf(await get(SESSION))).toBe('401 invalid_session');
    const idle = await open();
    idle.gateway.clock.pass(HOUR);
    expect(outcomeOf(await idle.get(SESSION))).toBe('401 invalid_session');
  });

  it('with its key: revoked, expired, rolled past the overlap, or gone with its team', async () => {
    const { gateway, keyId, get } = await open();
    await gateway.manage('POST', `/keys/${keyId}/roll`, { overlapSeconds: 60 });
    expect((await get(SESSION)).status).toBe(200);
    gateway.clock.pass(60_001);
    const rolled = await get('/gateway/v1/me');
    expect([outcomeOf(rolled), rolled.json<Problem>().detail]).toEqual([
      '401 invalid_session',
      'The key of this session is no longer valid: it was revoked or rolled, or has expired.',
    ]);

    const revoked = await open();
    await revoked.gateway.manage('DELETE', `/keys/${revoked.keyId}`);
    expect(outcomeOf(await revoked.get('/gateway/v1/me'))).toBe('401 invalid_session');

    const gone = await open();
    await gone.gateway.manage('DELETE', '/teams/growth');
    await gone.gateway.addTeam({ id: 'growth' });
    expect(outcomeOf(await gone.get('/gateway/v1/me'))).toBe('401 invalid_session');
  });

  it('for as long as the team is disabled, or the address is another', async () => {
    const { gateway, get, browser } = await open();
    await gateway.manage('PATCH', '/teams/growth', { disabled: true });
    expect(outcomeOf(await get('/gateway/v1/me'))).toBe('403 team_disabled');
    expect(outcomeOf(await get(SESSION))).toBe('403 team_disabled');
    await gateway.manage('PATCH', '/teams/growth', { disabled: false, ipAllow: ['10.0.0.0/8'] });
    expect(outcomeOf(await get(SESSION))).toBe('403 ip_forbidden');
    await gateway.manage('PATCH', '/teams/growth', { disabled: true });
    const out = await ask(gateway.data, SESSION, { method: 'DELETE', headers: browser.changes });
    expect(out.status).toBe(204);
    await gateway.manage('PATCH', '/teams/growth', { disabled: false, ipAllow: [] });
    expect(outcomeOf(await get(SESSION))).toBe('401 invalid_session');
  });
});

describe('a page of the platform', () => {
  it('has no script of it run, and no type guessed, where it is asked for by cookie', async () => {
    const page = '<script>fetch("/gateway/v1/session")</script>';
    const { gateway, key } = await openScene(sends(page, { 'content-type': 'text/html' }));
    const browser = await signIn(gateway.data, SESSION, { key });
    const preview = (headers: Readonly<Record<string, string>>) =>
      ask(gateway.data, '/api/v1/creatives/preview?id=1', { headers });
    const shown = await preview(browser.reads);
    expect([shown.status, shown.headers['content-type'], shown.text]).toEqual([200, 'text/html', page]);
    expect(shown.headers).toMatchObject({
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, no-store',
    });
    expect((await preview({ 'x-api-key': key })).headers).not.toHaveProperty('content-security-policy');
  });
});

describe('before the router', () => {
  const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-01&dateTo=2026-11-07';

  /** Two teams, of which one may see the report; and the report at hand. */
  async function open() {
    const gateway = await withGateway({ logLevel: 'info', config: rule({ divisible: 'never' }) });
    const key = await gateway.addTeam({ id: 'may' });
    const other = await gateway.addTeam({ id: 'may-not', advertisers: [2] });
    for (let times = 0; times < 2; times += 1) await gateway.report(key, QUERY);
    await gateway.services.settled();
    const [mine, theirs] = [
      await signIn(gateway.data, SESSION, { key }),
      await signIn(gateway.data, SESSION, { key: other }),
    ];
    const url = await listenGateway(gateway);
    /** Status, code, team and cache-control of a report asked for over a socket of its own. */
    const get = async (...headers: string[]) => {
      const target = `GET ${REPORT}?${QUERY} HTTP/1.1`;
      const text = await exchange(url, head(target, [`host: ${HOST}`, 'connection: close', ...headers]));
      const [answer] = readAnswers(text);
      const line = gateway.log.findLast(({ msg, path }) => msg === 'request' && path === REPORT);
      return {
        status: answer?.status,
        code: /"code":"(\w+)"/.exec(answer?.body ?? '')?.[1] ?? null,
        team: line?.team,
        isKept: !/^cache-control: private, no-store\r?$/im.test(answer?.head ?? ''),
      };
    };
    return { gateway, key, other, mine, theirs, get };
  }

  it('a cookie opens what its team may see, and nothing else', async () => {
    const { gateway, mine, theirs, get } = await open();
    const answered = { status: 200, code: null, team: 'may', isKept: false };
    expect(await get(`cookie: ${mine.cookie}`)).toEqual(answered);
    expect(await get(`cookie: ${theirs.cookie}`)).toMatchObject({
      status: 403,
      code: 'advertiser_forbidden',
    });
    expect(await get(`cookie: dgw_explorer=${'x'.repeat(43)}`)).toMatchObject({ code: 'invalid_session' });
    expect(await get('host: other.test', `cookie: ${mine.cookie}`)).toMatchObject({ status: 400 });
    const out = await ask(gateway.data, SESSION, { method: 'DELETE', headers: mine.changes });
    expect(out.status).toBe(204);
    expect(await get(`cookie: ${mine.cookie}`)).toMatchObject({ status: 401, code: 'invalid_session' });
    expect(gateway.simulator.callCount).toBe(1);
  });

  it('a key beside a cookie is what counts', async () => {
    const { key, other, mine, theirs, get } = await open();
    const byKey = { status: 200, code: null, team: 'may', isKept: true };
    expect(await get(`x-api-key: ${key}`, `cookie: ${theirs.cookie}`)).toEqual(byKey);
    expect(await get(`authorization: Bearer ${key}`, `cookie: ${mine.cookie}`)).toEqual(byKey);
    expect(await get(`x-api-key: ${other}`, `cookie: ${mine.cookie}`)).toMatchObject({ status: 403 });
    expect(await get('x-api-key: nonsense', `cookie: ${mine.cookie}`)).toMatchObject({
      code: 'invalid_api_key',
    });
  });
});

describe('the store', () => {
  /** Watches the documents of a store, and takes them away. */
  function watched() {
    const state = { isAway: false, reads: 0, written: [] as string[] };
    const wrapStore = (store: Store): Store => {
      const { documents } = store;
      const through = <T>(work: () => Promise<T>) =>
        state.isAway ? Promise.reject(new StoreUnavailable('away')) : work();
      const own: Documents = {
        create: (key, text, ttlMs) => {
          state.written.push(key, text);
          return through(() => documents.create(key, text, ttlMs));
        },
        get: (key) => {
          state.reads += 1;
          return through(() => documents.get(key));
        },
        replace: (key, before, after, ttlMs) => {
          state.written.push(key, after ?? '');
          return through(() => documents.replace(key, before, after, ttlMs));
        },
      };
      return Object.assign(Object.create(store) as Store, { documents: own });
    };
    return { state, wrapStore };
  }

  async function open() {
    const { state, wrapStore } = watched();
    const gateway = await withGateway({ wrapStore, clock: createStandingClock() });
    const key = await gateway.addTeam({ id: 'growth' });
    const browser = await signIn(gateway.data, SESSION, { key });
    const get = (url = SESSION) => ask(gateway.data, url, { headers: browser.reads });
    return { state, gateway, key, browser, get };
  }

  it('holds neither the session’s id, nor what signed in', async () => {
    const { state, gateway, key, browser } = await open();
    const admin = await signIn(gateway.admin, '/admin/v1/session', { token: ADMIN_TOKEN });
    const text = state.written.join('\n');
    expect(text).toContain('session:dgw_explorer:');
    const secret = gateway.services.directory.findKey(key)?.secret.hash;
    for (const one of [browser, admin]) {
      expect(text).not.toContain(one.cookie.split('=')[1]);
      expect(text).not.toContain(one.csrf);
    }
    for (const one of [key, secret, ADMIN_TOKEN]) expect(text).not.toContain(one);
    expect(gateway.logText).not.toContain(browser.cookie.split('=')[1]);
  });

  it('is asked once for what a page asks at once, and again half a second later', async () => {
    const { state, gateway, get } = await open();
    state.reads = 0;
    await Promise.all(Array.from({ length: 10 }, () => get('/gateway/v1/me')));
    expect(state.reads).toBe(1);
    gateway.clock.advanceMonotonic(500);
    await get();
    expect(state.reads).toBe(2);
  });

  it('that is away lets nobody in, says so, and ends no session', async () => {
    const { state, gateway, key, browser, get } = await open();
    state.isAway = true;
    const refused = await get('/gateway/v1/me');
    expect([outcomeOf(refused), refused.headers['retry-after']]).toEqual(['503 not_ready', '5']);
    expect(refused.json()).toMatchObject({
      detail: expect.stringContaining('your sign-in cannot be checked'),
      help: expect.stringContaining('your operator sees the cause'),
    });
    expect((await gateway.call('/gateway/v1/me', { key })).status).toBe(200);
    const sign = () => ask(gateway.data, SESSION, { method: 'POST', json: { key } });
    expect(outcomeOf(await sign())).toBe('503 not_ready');
    const out = () => ask(gateway.data, SESSION, { method: 'DELETE', headers: browser.changes });
    expect(outcomeOf(await out())).toBe('503 not_ready');
    state.isAway = false;
    expect((await get()).status).toBe(200);
    expect((await out()).status).toBe(204);
  });

  it('lets nobody in by a record of another form', async () => {
    const { gateway, browser, get } = await open();
    const { documents } = gateway.store;
    const name = sessionDocument('dgw_explorer', browser.cookie.split('=')[1] ?? '');
    const text = await documents.get(name);
    await documents.replace(name, text ?? '', '{"holder":1}', 60_000);
    expect(outcomeOf(await get())).toBe('401 invalid_session');
  });
});
