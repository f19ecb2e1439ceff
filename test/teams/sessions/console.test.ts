/** The console's cookie on the admin plane: by whose name it works, and when it ends. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { buildAdminPlane } from '../../../src/api/admin.js';
import { callsOf } from '../../../src/api/operations/table.js';
import { fixedSecret, type Secret } from '../../../src/config/secret.js';
import { ADMIN_TOKEN, outcomeOf, withGateway } from '../../support/start-gateway.js';
import { ask, ORIGIN, signIn } from './signed-in.js';

const SESSION = '/admin/v1/session';
const WATCHER = 'token-of-one-who-looks';

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-sessions-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const tokenFile = join(folder, 'watch');
  await writeFile(tokenFile, WATCHER);
  const auth = { adminTokens: [{ name: 'watch', role: 'viewer', tokenFile }] };
  const gateway = await withGateway({ config: { auth } });
  const post = async (json: unknown, headers = {}) =>
    ask(gateway.admin, SESSION, { method: 'POST', json, headers });
  const browser = await signIn(gateway.admin, SESSION, { token: ADMIN_TOKEN });
  return { gateway, post, browser };
}

const auditOf = async (gateway: Awaited<ReturnType<typeof withGateway>>, action: string) =>
  ((await gateway.manage('GET', `/audit?action=${action}`)) as { entries: Record<string, unknown>[] })
    .entries;

describe('signing in to the console', () => {
  it('tells who it is and what the role may do', async () => {
    const { gateway, post } = await open();
    const reply = await post({ token: `${WATCHER}\n` }, { origin: ORIGIN });
    const may = callsOf('viewer');
    expect([reply.status, reply.json()]).toEqual([
      201,
      {
        name: 'watch',
        role: 'viewer',
        isPerson: false,
        may,
        readOnly: null,
        csrf: expect.stringMatching(/^[\w-]{43}$/),
        expiresAt: '2026-11-22T00:00:00.000Z',
      },
    ]);
    expect(reply.headers['set-cookie']).toMatch(
      /^dgw_console=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
    );
    const cookie = String(reply.headers['set-cookie']).split(';', 1)[0] ?? '';
    const { csrf } = reply.json<{ csrf: string }>();
    expect((await ask(gateway.admin, SESSION, { headers: { cookie } })).json()).toEqual(reply.json());
    const refused = await ask(gateway.admin, '/admin/v1/teams', {
      method: 'POST',
      headers: { cookie, origin: ORIGIN, 'x-csrf-token': csrf },
      json: { id: 'b' },
    });
    expect(outcomeOf(refused)).toBe('403 forbidden');
  });

  it('is refused for another token, another page, another body', async () => {
    const { gateway, post } = await open();
    const key = await gateway.addTeam();
    for (const token of ['nonsense', key, `${ADMIN_TOKEN}x`])
      expect(outcomeOf(await post({ token }))).toBe('401 invalid_admin_token');
    expect(outcomeOf(await post({ token: ADMIN_TOKEN }, { origin: 'https://evil.test' }))).toBe(
      '403 session_forbidden',
    );
    for (const body of [{}, { token: '' }, { token: ADMIN_TOKEN, more: 1 }])
      expect(outcomeOf(await post(body))).toBe('422 invalid_body');
    const large = await post({ token: 'x'.repeat(5000) });
    expect(outcomeOf(large)).toBe('413 body_too_large');
    expect(large.text).toMatch(/The body must be at most \d+ bytes\./);
  });

  it('is slowed for an address that tries, as with the token in a header', async () => {
    const { gateway, post } = await open();
    for (let tries = 0; tries < 20; tries += 1) await post({ token: 'nonsense' });
    const { slowFailures } = gateway.services;
    expect(slowFailures.delayMs('127.0.0.1')).toBeGreaterThan(0);
    expect(slowFailures.delayMs('192.0.2.1')).toBe(0);
  });

  it('is in the audit, as is signing out; and a change by cookie has the admin’s name', async () => {
    const { gateway, browser, post } = await open();
    await post({ token: 'nonsense' });
    const made = await ask(gateway.admin, '/admin/v1/teams', {
      method: 'POST',
      headers: browser.changes,
      json: { id: 'by-cookie' },
    });
    expect(made.status).toBe(201);
    const out = await ask(gateway.admin, SESSION, { method: 'DELETE', headers: browser.changes });
    expect([out.status, out.headers['set-cookie']]).toEqual([204, expect.stringMatching(/^dgw_console=;/)]);
    const who = { actor: 'admin', address: '127.0.0.1', subject: 'admin' };
    expect(await auditOf(gateway, 'session')).toMatchObject([
      { ...who, action: 'session.close' },
      { ...who, action: 'session.open', after: { until: '2026-11-22T00:00:00.000Z' } },
    ]);
    expect(await auditOf(gateway, 'team.create')).toMatchObject([
      { actor: 'admin', address: '127.0.0.1', subject: 'by-cookie' },
    ]);
    expect(outcomeOf(await ask(gateway.admin, SESSION, { headers: browser.reads }))).toBe(
      '401 invalid_session',
    );
  });
});

describe('a signed-in browser', () => {
  it('changes nothing without the session’s host, origin and csrf', async () => {
    const { gateway, browser } = await open();
    const { origin, 'x-csrf-token': _csrf, cookie } = browser.changes as Record<string, string>;
    for (const headers of [
      { cookie },
      { cookie, origin },
      { ...browser.changes, host: 'other.test' },
      { ...browser.changes, 'x-csrf-token': 'x'.repeat(43) },
    ] as Record<string, string>[]) {
      const reply = await ask(gateway.admin, '/admin/v1/teams', {
        method: 'POST',
        headers,
        json: { id: 'b' },
      });
      expect(outcomeOf(reply)).toBe('403 session_forbidden');
    }
    expect(outcomeOf(await ask(gateway.admin, '/admin/v1/teams/b', { headers: browser.reads }))).toBe(
      '404 not_found',
    );
  });

  it('is judged by its token alone, where it sends one', async () => {
    const { gateway, browser } = await open();
    const get = (headers: Record<string, string>, url = '/admin/v1/status') =>
      ask(gateway.admin, url, { headers: { ...browser.reads, ...headers } });
    expect(outcomeOf(await get({ authorization: 'Bearer nonsense' }))).toBe('401 invalid_admin_token');
    expect(outcomeOf(await get({ 'x-api-key': 'nonsense' }))).toBe('401 missing_admin_token');
    expect(outcomeOf(await get({ authorization: `Bearer ${WATCHER}` }, SESSION))).toBe('404 not_found');
    expect((await get({ authorization: `Bearer ${WATCHER}` })).status).toBe(200);
    expect(outcomeOf(await get({ authorization: `Bearer ${WATCHER}` }, '/admin/v1/registry/export'))).toBe(
      '403 forbidden',
    );
  });

  it('has no session on the data plane, nor by the other cookie', async () => {
    const { gateway, browser } = await open();
    for (const cookie of [browser.cookie, browser.cookie.replace('console', 'explorer')]) {
      const reply = await ask(gateway.data, '/gateway/v1/me', { headers: { cookie } });
      expect(reply.status).toBe(401);
    }
  });
});

describe('the session of an admin token', () => {
  /** Two admin planes over one gateway: before, and after a change of the configuration. */
  async function changed(token: Secret | null, role: 'viewer' | 'owner' = 'owner') {
    const gateway = await withGateway();
    const { services } = gateway;
    const plane = async (own: Secret, admins: typeof services.config.admins) => {
      const app = await buildAdminPlane({
        services: { ...services, config: { ...services.config, admins } },
        adminToken: own,
        stopping: () => false,
        workersReady: () => true,
        dataUrl: () => null,
        metricsText: async () => '',
      });
      onTestFinished(() => app.close());
      return app;
    };
    const own = fixedSecret('ADMIN_TOKEN', ADMIN_TOKEN);
    const before = await plane(own, [
      { name: 'ops', role: 'owner', token: fixedSecret('ops', 'token-of-ops-people') },
    ]);
    const after = await plane(own, token === null ? [] : [{ name: 'ops', role, token }]);
    return { after, browser: await signIn(before, SESSION, { token: 'token-of-ops-people' }) };
  }

  it('ends when the token is taken out of the configuration, or changed', async () => {
    for (const token of [null, fixedSecret('ops', 'another-token-of-ops')]) {
      const { after, browser } = await changed(token);
      expect(outcomeOf(await ask(after, SESSION, { headers: browser.reads }))).toBe('401 invalid_session');
    }
  });

  it('has the role that the token has now', async () => {
    const { after, browser } = await changed(fixedSecret('ops', 'token-of-ops-people'), 'viewer');
    const shown = (await ask(after, SESSION, { headers: browser.reads })).json();
    expect(shown).toMatchObject({ name: 'ops', role: 'viewer' });
    expect(outcomeOf(await ask(after, '/admin/v1/registry/export', { headers: browser.reads }))).toBe(
      '403 forbidden',
    );
  });
});
