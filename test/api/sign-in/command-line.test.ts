/** The command line signs in through a browser, and acts as the person; operators list and end sessions. */
import { chmodSync, existsSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sessionFile } from '../../../src/cli/session-file.js';
import { type Ran, runCli } from '../../cli/run-cli.js';
import {
  ASKED,
  ask,
  call,
  codeFor,
  company,
  exchange,
  membersOf,
  say,
  tokenFor,
  VERIFIER,
  wayBack,
} from '../../support/command-line.js';
import { openOnRedis } from '../../support/on-redis.js';
import { tempFolder } from '../../support/processes.js';
import { exchange as exchangeBytes, head } from '../../support/raw-socket.js';
import { startRedis } from '../../support/redis.js';
import { Browser, codeOf, PUBLIC, withSignIn } from '../../support/signed-in.js';
import { ADMIN_TOKEN } from '../../support/start-gateway.js';
import { HOUR, MINUTE } from '../../support/test-clock.js';

const ADMIN = { authorization: `Bearer ${ADMIN_TOKEN}` };

describe('a command that asks to act as a person', () => {
  it('gets a session by a page that names the person, the role and its code', async () => {
    const opened = await company();
    const question = await ask(opened, ASKED);
    expect(question.body).toMatch(
      /code [A-Z]{2}-\d\d asks to act as Ada Lovelace, with the role owner, until \d\d:\d\d UTC/,
    );
    expect(question.headers['content-security-policy']).toContain("frame-ancestors 'none'");
    const back = wayBack(await say(opened.browser, membersOf(question)));
    expect(back.origin).toBe('http://127.0.0.1:4711');
    const session = await exchange(opened, back.searchParams.get('code') ?? '');
    expect(session.statusCode).toBe(201);
    expect(session.json()).toMatchObject({ name: 'Ada Lovelace', role: 'owner' });
    const { token } = session.json<{ token: string }>();
    expect(token).toMatch(/^dgs_[\w-]{43}$/);
    expect((await call(opened, '/admin/v1/me', token)).json()).toMatchObject({
      name: 'Ada Lovelace',
      role: 'owner',
      by: 'command line',
      isPerson: true,
    });
    expect(opened.gateway.logText).not.toContain(token);
  });

  it('acts by name in the audit, and is not counted as a token', async () => {
    const opened = await company('admins', { auth: { tokenSignIn: false } });
    const token = await tokenFor(opened);
    const made = await call(opened, '/admin/v1/teams', token, { method: 'POST', payload: { id: 'made' } });
    expect(made.statusCode).toBe(201);
    const audit = await call(opened, '/admin/v1/audit', token);
    const { entries } = audit.json<{ entries: { action: string }[] }>();
    expect(entries).toContainEqual(
      expect.objectContaining({ action: 'team.create', actor: 'person', sub: 'ada', name: 'Ada Lovelace' }),
    );
    expect(entries).toContainEqual(
      expect.objectContaining({ action: 'session.open', after: { plane: 'admin', use: 'command line' } }),
    );
    expect(entries.map(({ action }) => action)).not.toContain('token.use');
  });

  it('has the role of the list, and none that the list has taken away', async () => {
    const opened = await company('viewers');
    const token = await tokenFor(opened);
    expect(codeOf(await call(opened, '/admin/v1/teams', token))).toBe('200');
    const payload = { id: 'made' };
    expect(codeOf(await call(opened, '/admin/v1/teams', token, { method: 'POST', payload }))).toBe(
      '403 forbidden',
    );
    opened.provider.claims = { ...opened.provider.claims, groups: [] };
    await new Browser(opened.gateway.admin, 'admin').signIn(opened.provider);
    expect(codeOf(await call(opened, '/admin/v1/teams', token))).toBe('401 invalid_session');
  });

  it('is let in for 8 hours, also without a call in between', async () => {
    const opened = await company();
    const token = await tokenFor(opened);
    opened.clock.pass(8 * HOUR - MINUTE);
    expect(codeOf(await call(opened, '/admin/v1/me', token))).toBe('200');
    opened.clock.pass(MINUTE);
    expect(codeOf(await call(opened, '/admin/v1/me', token))).toBe('401 invalid_session');
  });

  it('is asked for by a page of the console alone: another host goes there', async () => {
    const { gateway } = await company();
    const answer = await gateway.admin.inject({ url: ASKED, headers: { host: '10.0.0.7:8081' } });
    expect([answer.statusCode, answer.headers.location]).toEqual([302, `${PUBLIC.admin}${ASKED}&moved=1`]);
    // Behind a proxy that changes the host it would go on for ever.
    const again = await gateway.admin.inject({ url: `${ASKED}&moved=1`, headers: { host: '10.0.0.7:8081' } });
    expect(codeOf(again)).toBe('400 sign_in_failed');
    expect((await gateway.data.inject({ url: ASKED })).statusCode).toBe(404);
  });

  it('of a person without a role gets the page that says so', async () => {
    expect(codeOf(await ask(await company('data'), ASKED))).toBe('403 no_access');
  });

  it('is not found where nobody signs in with a company account', async () => {
    const { gateway } = await company('admins', { oidc: { adminPublicUrl: undefined } });
    expect((await gateway.admin.inject({ url: ASKED, headers: ADMIN })).statusCode).toBe(404);
  });
});

describe('a code for the command line', () => {
  it('is good once, for a minute, and for the command that asked alone', async () => {
    const opened = await company();
    const used = await codeFor(opened);
    expect((await exchange(opened, used)).statusCode).toBe(201);
    expect(codeOf(await exchange(opened, used))).toBe('400 sign_in_failed');
    const others = await codeFor(opened);
    expect(codeOf(await exchange(opened, others, 'x'.repeat(43)))).toBe('400 sign_in_failed');
    // It was shown to the wrong one, so it is over.
    expect(codeOf(await exchange(opened, others))).toBe('400 sign_in_failed');
    const late = await codeFor(opened);
    opened.clock.pass(MINUTE + 1);
    expect(codeOf(await exchange(opened, late))).toBe('400 sign_in_failed');
    expect(codeOf(await exchange(opened, ''))).toBe('400 sign_in_failed');
    expect(codeOf(await opened.gateway.admin.inject({ method: 'POST', url: '/auth/cli/exchange' }))).toBe(
      '400 sign_in_failed',
    );
  });

  it.each([[5], [null], [{}], [['a']]])('is refused as %j, and so is a verifier', async (other) => {
    const opened = await company();
    for (const payload of [
      { code: other, verifier: VERIFIER },
      { code: await codeFor(opened), verifier: other },
    ]) {
      const call = { method: 'POST', url: '/auth/cli/exchange', payload } as const;
      expect(codeOf(await opened.gateway.admin.inject(call))).toBe('400 sign_in_failed');
    }
  });

  it('gives a session to one of two commands that send it at once', async () => {
    const opened = await company();
    const code = await codeFor(opened);
    const both = await Promise.all([exchange(opened, code), exchange(opened, code)]);
    expect(both.map(({ statusCode }) => statusCode).sort()).toEqual([201, 400]);
  });

  it('gives no session to a person who has lost the role meanwhile', async () => {
    const opened = await company();
    const code = await codeFor(opened);
    opened.provider.claims = { ...opened.provider.claims, groups: [] };
    await new Browser(opened.gateway.admin, 'admin').signIn(opened.provider);
    expect(codeOf(await exchange(opened, code))).toBe('400 sign_in_failed');
  });

  it('is not given for another page, without the token of the form, or for a session of a token', async () => {
    const opened = await company();
    const members = membersOf(await ask(opened, ASKED));
    const { browser } = opened;
    expect(codeOf(await say(browser, members, { origin: 'https://evil.example' }))).toBe(
      '403 session_forbidden',
    );
    expect(codeOf(await say(browser, members, { origin: 'null' }))).toBe('403 session_forbidden');
    expect(codeOf(await say(browser, members, {}))).toBe('403 session_forbidden');
    expect(codeOf(await say(browser, { ...members, csrf: 'x' }))).toBe('403 session_forbidden');
    const { csrf: _csrf, ...without } = members;
    expect(codeOf(await say(browser, without))).toBe('403 session_forbidden');
    const origin = 'http://gateway.company.example';
    const admin = new Browser(opened.gateway.admin, 'admin', origin);
    const rest = { method: 'POST', payload: { token: ADMIN_TOKEN } };
    expect((await admin.ask('/admin/v1/session', { origin }, true, rest)).statusCode).toBe(201);
    expect(codeOf(await admin.ask(ASKED))).toBe('302');
  });

  it.each([
    'port=80',
    'port=70000',
    'port=4711%2Fevil.example',
    'port=4711&port=4712',
    'port=',
    'challenge=short',
  ])('is not asked for with %s', async (change) => {
    const opened = await company();
    const [, query = ''] = ASKED.split('?');
    const asked = new URLSearchParams(query);
    for (const [name] of new URLSearchParams(change)) asked.delete(name);
    const all = [asked.toString(), change].filter((text) => text !== '').join('&');
    expect(codeOf(await opened.browser.ask(`/auth/cli?${all}`))).toBe('400 sign_in_failed');
  });
});

describe('the session of a command', () => {
  it('is refused in a cookie, as a browser’s session is in a header', async () => {
    const opened = await company();
    const token = await tokenFor(opened);
    const cookie = `dgw_console=${token.slice(4)}`;
    expect(codeOf(await opened.gateway.admin.inject({ url: '/admin/v1/me', headers: { cookie } }))).toBe(
      '401 invalid_session',
    );
    const own = opened.browser.jar.get('dgw_console')?.value ?? '';
    expect(codeOf(await call(opened, '/admin/v1/me', `dgs_${own}`))).toBe('401 invalid_session');
    expect(codeOf(await call(opened, '/admin/v1/me', 'dgs_short'))).toBe('401 invalid_admin_token');
  });
});

it('a command asks at one replica and gets its session at the other; all sign-ins at once are listed at both', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.close());
  const masterKey = Buffer.alloc(32, 9).toString('base64');
  const one = await company('admins', { sharedStore: await openOnRedis(redis, 'dgw'), masterKey });
  const { provider, clock } = one;
  const sharedStore = await openOnRedis(redis, 'dgw');
  const other = await withSignIn({ sharedStore, masterKey, provider, clock });
  const code = await codeFor(one);
  await other.gateway.services.registry.refresh();
  const answers = await Promise.all([one, other].map((replica) => exchange(replica, code)));
  expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([201, 400]);
  const { token } = answers.find(({ statusCode }) => statusCode === 201)?.json<{ token: string }>() ?? {
    token: '',
  };
  for (const replica of [one, other]) expect(codeOf(await call(replica, '/admin/v1/me', token))).toBe('200');
  const opened = await Promise.all(
    Array.from({ length: 20 }, (_, nth) =>
      [one, other][nth % 2]?.gateway.admin.inject({
        method: 'POST',
        url: '/admin/v1/session',
        payload: { token: ADMIN_TOKEN },
      }),
    ),
  );
  expect(opened.map((answer) => answer?.statusCode)).toEqual(Array(20).fill(201));
  for (const replica of [one, other])
    expect(
      (await call(replica, '/admin/v1/sessions', token)).json<{ sessions: object[] }>().sessions,
    ).toHaveLength(22);
});

/** A server that answers in JSON. @returns its address */
async function listening(answer: (url: string) => object): Promise<string> {
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer(request.url ?? '')));
  });
  await new Promise<void>((done) => server.listen(0, done));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** As the page of the gateway at `iss` sends the browser back. */
async function comeBack(page: string, iss: string): Promise<void> {
  const { searchParams } = new URL(page);
  const query = new URLSearchParams({ code: 'x', challenge: searchParams.get('challenge') ?? '', iss });
  await (await fetch(`http://127.0.0.1:${searchParams.get('port')}/?${query}`)).text();
}

/** A command with the settings of a user, and a browser that is signed in. */
async function atTerminal(groups = 'admins') {
  const opened = await company(groups);
  await opened.gateway.admin.listen({ host: '127.0.0.1', port: 0 });
  const { port } = opened.gateway.admin.server.address() as AddressInfo;
  const home = await tempFolder();
  const env = { HOME: home, GATEWAY_ADMIN_URL: `http://127.0.0.1:${port}`, GATEWAY_DATA_DIR: home };
  const run = (args: readonly string[], browse: (url: string) => Promise<void> = async () => {}) =>
    runCli(args, env, '', { browse: (url) => void browse(url), nowMs: opened.clock.now });
  const yes = async (url: string) => {
    const { pathname, search } = new URL(url);
    const question = await ask(opened, pathname + search);
    const back = wayBack(await say(opened.browser, membersOf(question)));
    await (await fetch(back)).text();
  };
  const login = (): Promise<Ran> => run(['login'], yes);
  return { ...opened, run, login, file: sessionFile(env.GATEWAY_ADMIN_URL, env) };
}

describe('dsp-gateway login', () => {
  it('keeps a session that only its owner can read; commands use it; logout ends it', async () => {
    const { run, login, file, gateway } = await atTerminal();
    const signedIn = await login();
    expect(signedIn.stderr).toMatch(/Sign in here[\s\S]*code [A-Z]{2}-\d\d/);
    expect(signedIn.stdout).toContain('Ada Lovelace');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(signedIn.stdout + signedIn.stderr).not.toContain('dgs_');
    expect((await run(['whoami'])).stdout).toMatch(
      /Ada Lovelace[\s\S]*owner[\s\S]*dsp-gateway login[\s\S]*in 8 h/,
    );
    expect((await run(['teams', 'create', 'made'])).code).toBe(0);
    expect((await run(['audit', '--actor', 'person'])).stdout).toMatch(
      /Ada Lovelace \(company account\) created the team made /,
    );
    expect((await run(['sessions', 'list'])).stdout).toMatch(
      /Ada Lovelace \(person_\w+\) +command line.*this command/,
    );
    expect((await run(['logout'])).stdout).toBe('Signed out: Ada Lovelace\n');
    expect(existsSync(file)).toBe(false);
    expect((await run(['logout'])).stdout).toContain('There is no session');
    const { code, stderr } = await run(['whoami']);
    expect([code, stderr]).toEqual([77, expect.stringContaining('dsp-gateway login')]);
    const sessions = await gateway.admin.inject({ url: '/admin/v1/sessions', headers: ADMIN });
    expect(sessions.json()).toMatchObject({ sessions: [{ use: 'console' }] });
  });

  it('is told to sign in again after an operator has ended the session; sessions revoke ends those of a person too', async () => {
    const { run, login, gateway, clock } = await atTerminal();
    await login();
    const { sessions } = (await gateway.manage('GET', '/sessions')) as { sessions: { holder: string }[] };
    const ended = await run(['sessions', 'revoke', sessions[0]?.holder ?? '']);
    expect(ended.stdout).toBe('ended: 2 sessions\n');
    clock.pass(1000);
    const { code, stderr } = await run(['teams', 'list']);
    expect([code, stderr]).toEqual([77, expect.stringMatching(/session at .* has ended.*dsp-gateway login/)]);
  });

  it('ends with an error when the person says no', async () => {
    const { run } = await atTerminal();
    const refused = await run(['login'], async (url) => {
      const { searchParams } = new URL(url);
      const own = `http://127.0.0.1:${searchParams.get('port')}`;
      // Of another page, which does not know the challenge.
      for (const path of ['/other', '//', '/?no=1', '/?code=x', '/?code=x&challenge=x'])
        expect([path, (await fetch(own + path)).status]).toEqual([path, 404]);
      await (await fetch(`${own}/?no=1&challenge=${searchParams.get('challenge')}`)).text();
    });
    expect([refused.code, refused.stderr]).toEqual([77, expect.stringContaining('you said no')]);
  });

  it.each(['//', 'http://[', '*'])('waits on when a page asks its port for %s', async (target) => {
    const { run } = await atTerminal();
    const refused = await run(['login'], async (url) => {
      const { searchParams } = new URL(url);
      const here = `http://127.0.0.1:${searchParams.get('port')}`;
      const asked = head(`GET ${target} HTTP/1.1`, ['host: 127.0.0.1', 'connection: close']);
      expect(await exchangeBytes(here, asked)).toContain(' 404 ');
      await (await fetch(`${here}/?no=1&challenge=${searchParams.get('challenge')}`)).text();
    });
    expect([refused.code, refused.stderr]).toEqual([77, expect.stringContaining('you said no')]);
  });

  it('refuses a code that another command asked for', async () => {
    const opened = await atTerminal();
    const code = await codeFor(opened);
    const refused = await opened.run(['login'], async (url) => {
      const { searchParams } = new URL(url);
      const query = new URLSearchParams({
        code,
        challenge: searchParams.get('challenge') ?? '',
        iss: PUBLIC.admin,
      });
      await (await fetch(`http://127.0.0.1:${searchParams.get('port')}/?${query}`)).text();
    });
    expect([refused.code, refused.stderr]).toEqual([
      65,
      expect.stringContaining('Run dsp-gateway login again'),
    ]);
  });

  it('refuses a file of sessions that others can read, and one that is damaged', async () => {
    const { run, login, file } = await atTerminal();
    await login();
    chmodSync(file, 0o644);
    const shown = await run(['whoami']);
    expect([shown.code, shown.stderr]).toEqual([77, expect.stringContaining(`chmod 600 ${file}`)]);
    writeFileSync(file, '{');
    chmodSync(file, 0o600);
    const damaged = await run(['whoami']);
    expect([damaged.code, damaged.stderr]).toEqual([65, expect.stringContaining('is damaged')]);
  });

  it('refuses a folder of sessions that others can write to', async () => {
    const { run, login, file } = await atTerminal();
    await login();
    chmodSync(dirname(file), 0o777);
    for (const refused of [await run(['whoami']), await login()])
      expect([refused.code, refused.stderr]).toEqual([
        77,
        expect.stringContaining(`chmod 700 ${dirname(file)}`),
      ]);
  });

  it.each([
    ['a token of several lines', { token: 'dgs_x\ny' }],
    ['an end that is no time', { expiresAt: 'never' }],
  ])('refuses from a gateway %s', async (_what, change) => {
    const answer = {
      ...{
        token: `dgs_${'x'.repeat(43)}`,
        name: 'Ada',
        role: 'owner',
        expiresAt: '2026-11-29T12:00:00.000Z',
      },
      ...change,
    };
    const evil = await listening((url) => (url === '/auth/ways' ? { company: true } : answer));
    const env = { HOME: await tempFolder() };
    const ran = await runCli(['login', '--url', evil], env, '', {
      browse: (url) => void comeBack(url, evil),
    });
    expect([ran.code, ran.stderr]).toEqual([69, expect.stringContaining('gave no session')]);
    expect(existsSync(sessionFile(evil, env))).toBe(false);
  });

  it('refuses a code of another gateway than the one it asks, which may have passed the question on', async () => {
    let asked = '';
    const evil = await listening((url) => {
      asked += url;
      return { company: true };
    });
    // Any address that is not of this machine alone.
    const url = evil.replace('127.0.0.1', '0.0.0.0');
    const ran = await runCli(['login', '--url', url], { HOME: await tempFolder() }, '', {
      browse: (page) => void comeBack(page, PUBLIC.admin),
    });
    expect([ran.code, ran.stderr]).toEqual([
      77,
      expect.stringContaining(`use: dsp-gateway login --url ${PUBLIC.admin}`),
    ]);
    expect(asked).toBe('/auth/ways');
  });

  it('says that nobody signs in with a company account where it is so', async () => {
    const { gateway } = await company('admins', { oidc: { adminPublicUrl: undefined } });
    await gateway.admin.listen({ host: '127.0.0.1', port: 0 });
    const { port } = gateway.admin.server.address() as AddressInfo;
    const { code, stderr } = await runCli(['login', '--url', `http://127.0.0.1:${port}`], {
      HOME: await tempFolder(),
    });
    expect([code, stderr]).toEqual([77, expect.stringContaining('auth.oidc')]);
  });
});
