/** Operators see who is signed in, and end it, whatever became of the store and the clocks. */
import { describe, expect, it } from 'vitest';
import { listSession, namesOfSessions } from '../../../src/teams/sessions/session-list.js';
import { sessionDocument } from '../../../src/teams/sessions/session-records.js';
import { call, codeFor, company, exchange, tokenFor } from '../../support/command-line.js';
import { Browser, codeOf, PUBLIC, withSignIn } from '../../support/signed-in.js';
import { ADMIN_TOKEN } from '../../support/start-gateway.js';
import { storeThatGoesAway } from '../../support/store-away.js';
import { HOUR, MINUTE } from '../../support/test-clock.js';

const ADMIN = { authorization: `Bearer ${ADMIN_TOKEN}` };
const PERSON = /^person_/;
type Company = Awaited<ReturnType<typeof company>>;

async function revokeAll({ gateway, clock }: Pick<Company, 'gateway' | 'clock'>) {
  const id = gateway.services.persons.list()[0]?.id ?? '';
  expect(id).toMatch(PERSON);
  const url = `/admin/v1/persons/${id}/revoke-sessions`;
  const answer = await gateway.admin.inject({ method: 'POST', url, headers: ADMIN });
  clock.pass(1000);
  return answer;
}

const ownDocument = ({ browser }: Company) =>
  sessionDocument('dgw_console', browser.jar.get('dgw_console')?.value ?? '');

/** A number that its part has in common with. */
const partOf = (document: string) => (document.split(':')[2] ?? '').charCodeAt(0) % 16;

describe('the session of a command', () => {
  it('stands in the list, and an operator ends it, or all of the person', async () => {
    const opened = await company();
    const token = await tokenFor(opened);
    const list = async () =>
      (await opened.gateway.admin.inject({ url: '/admin/v1/sessions', headers: ADMIN })).json<{
        sessions: { id: string; use: string; holder: string; name: string; isYours: boolean }[];
      }>().sessions;
    const before = await list();
    expect(before).toMatchObject([
      { use: expect.stringMatching(/^(console|command line)$/), by: 'person', name: 'Ada Lovelace' },
      { use: expect.stringMatching(/^(console|command line)$/), by: 'person', name: 'Ada Lovelace' },
    ]);
    expect(JSON.stringify(before)).not.toContain(token.slice(4));
    const own = (await call(opened, '/admin/v1/sessions', token)).json<{ sessions: typeof before }>()
      .sessions;
    expect(own.filter(({ isYours }) => isYours)).toMatchObject([{ use: 'command line' }]);
    const { id, holder } = before.find(({ use }) => use === 'command line') as (typeof before)[number];
    const end = { method: 'DELETE', url: `/admin/v1/sessions/${id}`, headers: ADMIN } as const;
    expect((await opened.gateway.admin.inject(end)).statusCode).toBe(204);
    expect(codeOf(await opened.gateway.admin.inject(end))).toBe('404 not_found');
    opened.clock.pass(1000);
    expect(codeOf(await call(opened, '/admin/v1/me', token))).toBe('401 invalid_session');
    expect(codeOf(await opened.browser.session())).toBe('200');
    const all = {
      method: 'POST',
      url: `/admin/v1/persons/${holder}/revoke-sessions`,
      headers: ADMIN,
    } as const;
    expect((await opened.gateway.admin.inject(all)).json()).toEqual({ revoked: 1 });
    opened.clock.pass(1000);
    expect(codeOf(await opened.browser.session())).toBe('401 invalid_session');
    expect(await list()).toEqual([]);
    const audit = await opened.gateway.admin.inject({
      url: '/admin/v1/audit?action=session.revoke',
      headers: ADMIN,
    });
    expect(audit.json()).toMatchObject({
      entries: [{ before: { use: 'console' } }, { before: { use: 'command line', id } }],
    });
  });

  it('ends 8 hours after the sign-in, and not after the command was let in', async () => {
    const opened = await company();
    await opened.browser.signIn(opened.provider);
    for (let minutes = 0; minutes < 470; minutes += 47) {
      opened.clock.pass(47 * MINUTE);
      await opened.browser.session();
    }
    const token = await tokenFor(opened);
    expect(codeOf(await call(opened, '/admin/v1/me', token))).toBe('200');
    opened.clock.pass(10 * MINUTE);
    expect(codeOf(await call(opened, '/admin/v1/me', token))).toBe('401 invalid_session');
  });

  it('is not given for a code whose session an operator has ended', async () => {
    const opened = await company();
    const code = await codeFor(opened);
    expect((await revokeAll(opened)).json()).toEqual({ revoked: 1 });
    expect(codeOf(await exchange(opened, code))).toBe('400 sign_in_failed');
  });
});

describe('a session that was ended', () => {
  it('is not accepted from memory when the store goes away then', async () => {
    const { state, wrapStore } = storeThatGoesAway();
    const opened = await company('admins', { wrapStore });
    const token = await tokenFor(opened);
    expect(codeOf(await call(opened, '/admin/v1/me', token))).toBe('200');
    expect((await revokeAll(opened)).json()).toEqual({ revoked: 2 });
    opened.clock.pass(5000);
    state.isAway = true;
    expect(codeOf(await call(opened, '/admin/v1/teams', token))).toBe('503 not_ready');
    expect(codeOf(await opened.browser.ask('/admin/v1/teams'))).toBe('503 not_ready');
  });

  it('is the one that the browser had before it signed in again, whose cookie the callback does not bring', async () => {
    const opened = await company();
    await opened.browser.signIn(opened.provider);
    const old = new Browser(opened.gateway.admin, 'admin');
    for (const [name, cookie] of opened.browser.jar) old.jar.set(name, cookie);
    expect(codeOf(await old.session())).toBe('200');
    await opened.browser.signIn(opened.provider);
    expect(codeOf(await opened.browser.session())).toBe('200');
    expect(codeOf(await old.session())).toBe('401 invalid_session');
  });

  it("may be one that a person opened with a key of his own, which ends with the person's", async () => {
    const { gateway, provider, clock } = await withSignIn();
    provider.claims = { sub: 'ada', name: 'Ada Lovelace', groups: ['data'] };
    const browser = new Browser(gateway.data, 'data');
    await browser.signIn(provider);
    await browser.session();
    const { key } = (await browser.write('POST', '/gateway/v1/keys', {})).json<{ key: string }>();
    const byKey = new Browser(gateway.data, 'data');
    const origin = `http://${new URL(PUBLIC.data).host}`;
    const rest = { method: 'POST', payload: { key } };
    expect((await byKey.ask('/gateway/v1/session', { origin }, true, rest)).statusCode).toBe(201);
    expect((await revokeAll({ gateway, clock })).json()).toEqual({ revoked: 2 });
    expect(codeOf(await byKey.ask('/gateway/v1/me'))).toBe('401 invalid_session');
  });

  it('stays open where that cannot be written into the audit: all of the person, not some', async () => {
    const opened = await company();
    await tokenFor(opened);
    const { registry } = opened.gateway.services;
    const commit = registry.commit.bind(registry);
    Object.assign(registry, { commit: () => Promise.reject(new Error('no audit')) });
    expect((await revokeAll(opened)).statusCode).toBe(500);
    Object.assign(registry, { commit });
    expect(codeOf(await opened.browser.session())).toBe('200');
    expect((await revokeAll(opened)).json()).toEqual({ revoked: 2 });
  });
});

describe('the list of sessions', () => {
  it('has a person, however many sessions of keys there are', async () => {
    const opened = await company();
    await opened.browser.signIn(opened.provider);
    const { documents } = opened.gateway.store;
    const part = partOf(ownDocument(opened));
    const endsAtMs = opened.clock.now() + 12 * HOUR;
    const others: [string, number][] = [];
    for (let nth = 0; others.length < 2100; nth += 1) {
      const document = sessionDocument('dgw_explorer', `key ${nth}`);
      if (partOf(document) === part) others.push([document, endsAtMs]);
    }
    const [last = ['', 0], ...rest] = others;
    await documents.create(`sessions:others:${part}`, JSON.stringify(rest), 24 * HOUR);
    await listSession(documents, { document: last[0], isPerson: false, endsAtMs }, opened.clock.now());
    expect((await namesOfSessions(documents)).length).toBe(2001);
    expect((await revokeAll(opened)).json()).toEqual({ revoked: 1 });
    expect(codeOf(await opened.browser.session())).toBe('401 invalid_session');
  });

  it('has a session also after a sign-in by a process whose clock is hours ahead', async () => {
    const opened = await company();
    await opened.browser.signIn(opened.provider);
    const own = ownDocument(opened);
    const ahead = opened.clock.now() + 9 * HOUR;
    let document = own;
    for (let nth = 0; document === own || partOf(document) !== partOf(own); nth += 1)
      document = sessionDocument('dgw_console', `other ${nth}`);
    const listed = { document, isPerson: true, endsAtMs: ahead + 8 * HOUR };
    await listSession(opened.gateway.store.documents, listed, ahead);
    expect((await revokeAll(opened)).json()).toEqual({ revoked: 1 });
  });

  it.each(['{', '[1,null,["session:x"],[{},5]]', '{"a":1}'])(
    'damaged as %s keeps nobody from signing in, and is written anew',
    async (text) => {
      const opened = await company();
      for (const list of ['people', 'others'])
        for (let part = 0; part < 16; part += 1)
          await opened.gateway.store.documents.create(`sessions:${list}:${part}`, text, HOUR);
      expect(codeOf(await opened.browser.signIn(opened.provider))).toBe('200');
      const list = await opened.gateway.admin.inject({ url: '/admin/v1/sessions', headers: ADMIN });
      expect(list.json<{ sessions: object[] }>().sessions).toHaveLength(1);
    },
  );
});

describe('a person', () => {
  it('of another issuer than the one of the settings is a stranger, with session and key', async () => {
    const masterKey = Buffer.alloc(32, 9).toString('base64');
    const { gateway, provider, clock } = await withSignIn({ masterKey });
    provider.claims = { sub: 'ada', name: 'Ada Lovelace', groups: ['data'] };
    const browser = new Browser(gateway.data, 'data');
    await browser.signIn(provider);
    await browser.session();
    const { key } = (await browser.write('POST', '/gateway/v1/keys', {})).json<{ key: string }>();
    const other = await withSignIn({ sharedStore: gateway.store, clock, masterKey });
    browser.plane = other.gateway.data;
    expect(codeOf(await browser.session())).toBe('401 invalid_session');
    const use = { url: '/gateway/v1/me', headers: { 'x-api-key': key } };
    expect((await other.gateway.data.inject(use)).statusCode).toBe(401);
    expect((await gateway.data.inject(use)).statusCode).toBe(200);
  });

  it.each<[string, object, string]>([
    ['a sub with control characters', { sub: 'a\u202Enimda\u0007\u001b[31m' }, 'animda[31m'],
    ['a name that a cut would halve', { sub: 'x', name: `${'x'.repeat(199)}😀` }, `${'x'.repeat(199)}\uFFFD`],
    ['a name without a letter', { sub: 'ada', name: '\u115f \u2800' }, 'ada'],
  ])('with %s is shown readably', async (_what, claims, shown) => {
    const opened = await company();
    opened.provider.claims = { groups: ['admins'], ...claims };
    await opened.browser.signIn(opened.provider);
    expect((await opened.browser.session()).json()).toMatchObject({ name: shown });
  });

  it('signs out here also where the provider gives an address that is none', async () => {
    const opened = await company();
    const base = opened.provider.issuer;
    opened.provider.instead = (path, response) => {
      if (!path.includes('openid-configuration')) return false;
      const metadata = {
        ...{ issuer: base, authorization_endpoint: `${base}/authorize`, token_endpoint: `${base}/token` },
        ...{ jwks_uri: `${base}/keys`, end_session_endpoint: 'not an address' },
        ...{ response_types_supported: ['code'], subject_types_supported: ['public'] },
        id_token_signing_alg_values_supported: ['RS256'],
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
      return true;
    };
    const again = await withSignIn({ provider: opened.provider });
    const browser = new Browser(again.gateway.admin, 'admin');
    await browser.signIn(opened.provider);
    await browser.session();
    const out = await browser.write('POST', '/auth/logout');
    expect([out.statusCode, out.json()]).toEqual([200, { location: '/' }]);
    expect(codeOf(await browser.session())).toBe('401 missing_admin_token');
  });
});
