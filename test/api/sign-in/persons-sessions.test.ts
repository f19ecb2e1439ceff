/** What a person who has signed in may do, and for how long. */
import { describe, expect, it } from 'vitest';
import { issue } from '../../../src/api/admin/keys.js';
import { GATEWAY_ACTOR } from '../../../src/telemetry/audit.js';
import { Browser, codeOf, PUBLIC, type SignInOptions, withSignIn } from '../../support/signed-in.js';
import { ADMIN_TOKEN } from '../../support/start-gateway.js';
import { HOUR, MINUTE, SECOND } from '../../support/test-clock.js';

async function explorer(groups: string, options: SignInOptions = {}) {
  const opened = await withSignIn(options);
  opened.provider.claims = {
    sub: 'ada',
    name: 'Ada Lovelace',
    email: 'ada@company.example',
    groups: [groups],
  };
  const browser = new Browser(opened.gateway.data, 'data');
  await browser.signIn(opened.provider);
  return { ...opened, browser };
}

async function console_(groups: string, options: SignInOptions = {}) {
  const opened = await withSignIn(options);
  opened.provider.claims = { sub: 'ada', name: 'Ada Lovelace', groups: [groups] };
  const browser = new Browser(opened.gateway.admin, 'admin');
  const answer = await browser.signIn(opened.provider);
  return { ...opened, browser, answer };
}

const REPORT = '/api/v1/report/campaigns/get?dateFrom=2026-11-01&dateTo=2026-11-02&advertiserId=1';

const ADMIN = { authorization: `Bearer ${ADMIN_TOKEN}` };

describe('a person in the explorer', () => {
  it('with one team acts as it, read-only', async () => {
    const { browser } = await explorer('data');
    expect((await browser.session()).json()).toMatchObject({
      team: { id: 'data' },
      person: { name: 'Ada Lovelace', chosen: 'data', keys: true, teams: [{ id: 'data' }] },
    });
    expect((await browser.ask(REPORT)).statusCode).toBe(200);
    expect((await browser.ask('/gateway/v1/me')).json()).toMatchObject({ key: { label: 'Ada Lovelace' } });
    expect(codeOf(await browser.write('POST', '/api/v1/campaigns', {}))).toBe('403 session_forbidden');
  });

  it('with two teams chooses one, and then the other', async () => {
    const { browser } = await explorer('two');
    const before = (await browser.session()).json();
    expect(before).toMatchObject({ team: null, scopes: [], person: { chosen: null } });
    expect(codeOf(await browser.ask('/gateway/v1/me'))).toBe('403 session_forbidden');
    for (const team of ['data', 'sales']) {
      expect((await browser.write('PUT', '/gateway/v1/session/team', { team })).json()).toMatchObject({
        team: { id: team },
        person: { chosen: team },
      });
      expect((await browser.ask('/gateway/v1/me')).json()).toMatchObject({ team: { id: team } });
    }
    expect(codeOf(await browser.write('PUT', '/gateway/v1/session/team', { team: 'other' }))).toBe(
      '403 no_access',
    );
    browser.csrf = '';
    expect(codeOf(await browser.write('PUT', '/gateway/v1/session/team', { team: 'data' }))).toBe(
      '403 session_forbidden',
    );
  });

  it('of all teams has those that there are', async () => {
    const { browser } = await explorer('admins');
    const { person } = (await browser.session()).json<{ person: { teams: { id: string }[] } }>();
    expect(person.teams.map(({ id }) => id)).toEqual(['data', 'sales']);
  });

  it('loses a team with the group at the next sign-in, in an older session too, and everything after 8 h', async () => {
    const { browser, provider, gateway, clock } = await explorer('two');
    await browser.session();
    await browser.write('PUT', '/gateway/v1/session/team', { team: 'sales' });
    const other = new Browser(gateway.data, 'data');
    provider.claims = { ...provider.claims, groups: ['data'] };
    await other.signIn(provider);
    expect((await browser.session()).json()).toMatchObject({
      team: null,
      person: { teams: [{ id: 'data' }] },
    });
    expect(codeOf(await browser.ask('/gateway/v1/me'))).toBe('403 session_forbidden');
    for (let minutes = 0; minutes < 8 * 60; minutes += 59) {
      expect(codeOf(await other.session())).toBe('200');
      clock.pass(59 * MINUTE);
    }
    expect(codeOf(await other.session())).toBe('401 invalid_session');
  });

  it('removed from every group is out at the next sign-in', async () => {
    const { browser, provider, gateway } = await explorer('data');
    provider.claims = { ...provider.claims, groups: [], _claim_names: { groups: 'src1' } };
    const refused = await new Browser(gateway.data, 'data').signIn(provider);
    expect(codeOf(refused)).toBe('403 no_access');
    const { detail, help } = refused.json<{ detail: string; help: string }>();
    expect(detail).toContain(
      'Claims that came: _claim_names, aud, email, exp, groups, iat, iss, name, nonce, sub.',
    );
    expect(detail).toContain('left out groups (_claim_names)');
    expect(detail).not.toContain('ada@');
    expect(help).toContain('auth.oidc.people');
    const session = await browser.session();
    expect(codeOf(session)).toBe('401 invalid_session');
    expect(session.json()).toMatchObject({ help: expect.stringMatching(/Ask your operator.*sign in again/) });
  });

  it('has keys revoked at a sign-in that gives none any more, by name in the audit, and no others', async () => {
    const { browser, provider, gateway } = await explorer('data');
    const maker = gateway.services.persons.list()[0]?.id as string;
    const given = { teamId: 'data', label: 'own', expiresAt: null };
    const make = (by: object) => issue({ ...given, ...by }, GATEWAY_ACTOR, gateway.services);
    const [own, other] = [await make({ maker }), await make({})];
    const use = (text: string) =>
      gateway.data.inject({ url: '/gateway/v1/me', headers: { 'x-api-key': text } });
    const listed = await gateway.admin.inject({ url: '/admin/v1/keys', headers: ADMIN });
    expect(listed.json()).toMatchObject({
      keys: expect.arrayContaining([expect.objectContaining({ id: own.key.id, maker })]),
    });
    await browser.signIn(provider);
    expect(codeOf(await use(own.text))).toBe('200');
    provider.claims = { ...provider.claims, groups: ['two'] };
    await browser.signIn(provider);
    expect(codeOf(await use(own.text))).toBe('401 revoked_api_key');
    expect(codeOf(await use(other.text))).toBe('200');
    const audit = await gateway.admin.inject({ url: '/admin/v1/audit', headers: ADMIN });
    expect(Object.values(audit.json<object>()).flat()).toContainEqual(
      expect.objectContaining({ action: 'key.revoke', subject: own.key.id, actor: 'person', sub: 'ada' }),
    );
    provider.claims = { ...provider.claims, groups: ['data'] };
    await browser.signIn(provider);
    expect(codeOf(await use(own.text))).toBe('401 revoked_api_key');
  });

  it('idle for an hour is out', async () => {
    const { browser, clock } = await explorer('data');
    clock.pass(HOUR);
    expect(codeOf(await browser.session())).toBe('401 invalid_session');
  });

  it('makes 120 requests a minute within those of the team', async () => {
    const { browser, clock } = await explorer('data');
    for (let nth = 0; nth < 120; nth++) expect((await browser.ask(REPORT)).statusCode).toBe(200);
    const refused = await browser.ask(REPORT);
    expect(codeOf(refused)).toBe('429 rate_limited');
    expect(refused.json()).toMatchObject({ detail: expect.stringContaining('120') });
    clock.pass(SECOND);
    expect((await browser.ask(REPORT)).statusCode).toBe(200);
  });

  it.each([
    [{ disabled: true }, '403 team_disabled'],
    [{ ipAllow: ['10.0.0.0/8'] }, '403 ip_forbidden'],
  ])('is refused as its team is with %j', async (change, expected) => {
    const { browser, gateway } = await explorer('data');
    await gateway.manage('PATCH', '/teams/data', change);
    expect(codeOf(await browser.ask(REPORT))).toBe(expected);
    expect(codeOf(await browser.session())).toBe('200');
  });

  it('is named in the log line, by issuer and sub', async () => {
    const { browser, gateway, provider } = await explorer('data');
    await browser.ask(REPORT);
    const line = gateway.log.findLast(({ path }) => path === '/api/v1/report/campaigns/get');
    expect(line?.person).toEqual({ issuer: provider.issuer, sub: 'ada', name: 'Ada Lovelace' });
    expect(gateway.logText).not.toContain('ada@company.example');
  });

  it('gets a new session id, and the old session of the browser ends', async () => {
    const { browser, provider, gateway } = await explorer('data');
    const old = new Browser(gateway.data, 'data');
    for (const [name, cookie] of browser.jar) old.jar.set(name, cookie);
    const back = await browser.begin(provider);
    expect((await browser.ask(back.pathname + back.search)).statusCode).toBe(200);
    expect(codeOf(await browser.session())).toBe('200');
    expect(codeOf(await old.session())).toBe('401 invalid_session');
  });

  it('signs out here and at the provider', async () => {
    const { gateway, browser, provider } = await explorer('data');
    await browser.session();
    const { location } = (await browser.write('POST', '/auth/logout')).json<{ location: string }>();
    const end = new URL(location);
    expect(end.origin + end.pathname).toBe(`${provider.issuer}/end`);
    expect(Object.fromEntries(end.searchParams)).toEqual({
      client_id: 'dsp-gateway',
      post_logout_redirect_uri: `${PUBLIC.data}/explorer`,
    });
    expect(browser.jar.size).toBe(0);
    expect(codeOf(await browser.session())).toBe('401 missing_api_key');
    const audit = await gateway.admin.inject({ url: '/admin/v1/audit?action=session.close', headers: ADMIN });
    expect(audit.json()).toMatchObject({
      entries: [{ actor: 'person', sub: 'ada', name: 'Ada Lovelace', after: { plane: 'data' } }],
    });
  });

  it('is not signed out by another page', async () => {
    const { browser } = await explorer('data');
    expect(
      codeOf(await browser.ask('/auth/logout', { origin: 'https://evil.example' }, true, { method: 'POST' })),
    ).toBe('403 session_forbidden');
    expect(codeOf(await browser.session())).toBe('200');
  });

  it('is known by what userinfo says where the id token has no groups', async () => {
    const { provider } = await withSignIn();
    provider.userinfo = { department: 'sales', name: 'Bob' };
    const again = await withSignIn({
      provider,
      oidc: { people: [{ when: { department: 'sales' }, teams: ['sales'] }] },
    });
    const browser = new Browser(again.gateway.data, 'data');
    await browser.signIn(provider);
    expect((await browser.session()).json()).toMatchObject({ team: { id: 'sales' } });
  });
});

describe('a person in the console', () => {
  it('has the role of the list, and each change names the person', async () => {
    const { browser, gateway, provider } = await console_('admins');
    expect((await browser.session()).json()).toMatchObject({
      name: 'Ada Lovelace',
      role: 'owner',
      isPerson: true,
    });
    expect((await browser.write('POST', '/admin/v1/teams', { id: 'made' })).statusCode).toBe(201);
    const { entries } = (await gateway.manage('GET', '/audit')) as { entries: object[] };
    const who = { actor: 'person', issuer: provider.issuer, sub: 'ada', name: 'Ada Lovelace' };
    expect(entries).toContainEqual(
      expect.objectContaining({ ...who, action: 'team.create', subject: 'made' }),
    );
    expect(entries).toContainEqual(expect.objectContaining({ ...who, action: 'session.open' }));
  });

  it('as a viewer only reads', async () => {
    const { browser } = await console_('viewers');
    await browser.session();
    expect((await browser.ask('/admin/v1/teams')).statusCode).toBe(200);
    const refused = await browser.write('POST', '/admin/v1/teams', { id: 'made' });
    expect(codeOf(refused)).toBe('403 forbidden');
    expect(refused.json()).toMatchObject({
      detail: expect.stringContaining('Ada Lovelace has the role viewer'),
    });
  });

  it('without a role is told so, also one who may open the explorer', async () => {
    const { answer, gateway } = await console_('data');
    expect(codeOf(answer)).toBe('403 no_access');
    expect(await gateway.manage('GET', '/audit?action=session')).toMatchObject({
      entries: [
        {
          actor: 'person',
          sub: 'ada',
          name: 'Ada Lovelace',
          action: 'session.refuse',
          after: { plane: 'admin' },
        },
      ],
    });
  });

  it('who is a stranger does not fill the audit', async () => {
    const { answer, gateway } = await console_('guests');
    expect(codeOf(answer)).toBe('403 no_access');
    expect(await gateway.manage('GET', '/audit?action=session')).toMatchObject({ entries: [] });
    expect(gateway.log).toContainEqual(
      expect.objectContaining({ code: 'no_access', person: expect.objectContaining({ sub: 'ada' }) }),
    );
  });

  it('who was refused goes on with another account, at the page of the link', async () => {
    const { gateway, browser, provider } = await console_('guests');
    const at = await browser.begin(provider, '/#/audit');
    const page = await browser.finish(at, { accept: 'text/html' });
    const link = /href="([^"]+)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(link).toBe('/auth/login?to=%2F%23%2Faudit&account=choose');
    const login = await browser.ask(link);
    expect(new URL(String(login.headers.location)).searchParams.get('prompt')).toBe('select_account');
    provider.claims = { sub: 'eve', groups: ['viewers'] };
    const answer = await browser.finish(await provider.signIn(String(login.headers.location)));
    expect(answer.headers.refresh).toBe(`0;url=${PUBLIC.admin}/#/audit`);
    expect(gateway.logText).not.toContain('account=choose');
  });

  it('loses the role at the next sign-in', async () => {
    const { browser, provider, gateway } = await console_('admins');
    provider.claims = { ...provider.claims, groups: ['viewers'] };
    await new Browser(gateway.admin, 'admin').signIn(provider);
    expect((await browser.session()).json()).toMatchObject({ role: 'viewer' });
  });
});

describe('sign-in by token', () => {
  const open = (gateway: Awaited<ReturnType<typeof withSignIn>>['gateway']) =>
    gateway.admin.inject({ method: 'POST', url: '/admin/v1/session', payload: { token: ADMIN_TOKEN } });
  const ways = async ({ gateway }: Awaited<ReturnType<typeof withSignIn>>) =>
    (await gateway.admin.inject('/auth/ways')).json<object>();

  it('stays beside the company account', async () => {
    const opened = await withSignIn();
    expect(await ways(opened)).toEqual({ company: true, token: true });
    expect((await open(opened.gateway)).statusCode).toBe(201);
  });

  it('is taken off the console, while API and command line keep it, with an audit line and a count', async () => {
    const opened = await withSignIn({ auth: { tokenSignIn: false }, env: { ADMIN_TOKEN } });
    const { gateway } = opened;
    expect(await ways(opened)).toEqual({ company: true, token: false });
    expect(codeOf(await open(gateway))).toBe('403 session_forbidden');
    await gateway.manage('GET', '/teams');
    const { entries } = (await gateway.manage('GET', '/audit')) as { entries: object[] };
    expect(entries).toContainEqual(
      expect.objectContaining({ actor: 'admin', action: 'token.use', subject: 'GET /admin/v1/teams' }),
    );
    expect(await gateway.services.metrics.registry.metrics()).toContain(
      'dsp_gateway_admin_bearer_calls_total 2',
    );
  });

  it('is the only way without a provider', async () => {
    const { gateway } = await withSignIn({
      oidc: {
        issuer: undefined,
        clientId: undefined,
        people: [],
        publicUrl: undefined,
        adminPublicUrl: undefined,
      },
    });
    expect((await gateway.admin.inject('/auth/ways')).json()).toEqual({ company: false, token: true });
    expect((await gateway.admin.inject('/auth/login')).statusCode).toBe(404);
    expect(gateway.services.provider).toBeNull();
  });
});
