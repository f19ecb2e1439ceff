/** What goes wrong, or is made to go wrong, while a person signs in. */
import { describe, expect, it } from 'vitest';
import { Browser, codeOf, PUBLIC, withSignIn } from '../../support/signed-in.js';
import { MINUTE, SECOND } from '../../support/test-clock.js';

const CANARY = 'canary-of-the-query';

async function open(options: Parameters<typeof withSignIn>[0] = {}) {
  const opened = await withSignIn(options);
  return { ...opened, browser: new Browser(opened.gateway.data, 'data') };
}

const none = () => Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url');

describe('a callback', () => {
  it('works once', async () => {
    const { browser, provider } = await open();
    const back = await browser.begin(provider);
    const cookies = new Map(browser.jar);
    expect(codeOf(await browser.finish(back))).toBe('200');
    expect(codeOf(await browser.finish(back))).toBe('400 sign_in_failed');
    for (const [name, cookie] of cookies) browser.jar.set(name, cookie);
    const again = await browser.finish(back);
    expect(codeOf(again)).toBe('400 sign_in_failed');
    expect(again.json()).toMatchObject({ detail: 'This sign-in has ended already.' });
    expect(provider.requests.filter((path) => path === '/token')).toHaveLength(1);
  });

  it('of another browser signs nobody in: neither by its state nor by its code', async () => {
    const { browser, provider, gateway } = await open();
    const victim = new Browser(gateway.data, 'data');
    const back = await browser.begin(provider);
    expect(codeOf(await victim.finish(back))).toBe('400 sign_in_failed');
    const own = await victim.begin(provider);
    own.searchParams.set('code', back.searchParams.get('code') ?? '');
    expect(codeOf(await victim.finish(own))).toBe('400 sign_in_failed');
    expect(codeOf(await victim.session())).toBe('401 missing_api_key');
  });

  it.each([
    [10 * MINUTE, '200'],
    [10 * MINUTE + 1, '400 sign_in_failed'],
  ])('%i ms after its begin is answered %s', async (ms, expected) => {
    const { browser, provider, clock } = await open();
    const back = await browser.begin(provider);
    clock.pass(ms);
    expect(codeOf(await browser.finish(back))).toBe(expected);
  });

  it.each(['', 'x', 'a'.repeat(43), '../../../x'])('with the state %j is refused', async (state) => {
    const { browser, provider } = await open();
    const back = await browser.begin(provider);
    back.searchParams.set('state', state);
    expect(codeOf(await browser.finish(back))).toBe('400 sign_in_failed');
    expect(provider.requests).not.toContain('/token');
  });

  it("shows the provider's words as text, 200 characters of them, and logs nothing of them", async () => {
    const { browser, provider, gateway } = await open();
    const back = await browser.begin(provider);
    const says = `<script>${CANARY}</script>${'x'.repeat(1000)}`;
    back.search = new URLSearchParams({
      ...{ error: 'access_denied', error_description: says, iss: provider.issuer },
      state: back.searchParams.get('state') ?? '',
    }).toString();
    const page = await browser.finish(back, { accept: 'text/html' });
    expect(page.statusCode).toBe(400);
    expect(page.body).toContain('access_denied: &lt;script&gt;');
    expect(page.body).not.toContain('<script');
    expect(page.body.length).toBeLessThan(1200);
    expect(gateway.logText).not.toContain(CANARY);
    expect(gateway.logText).not.toContain('access_denied');
  });

  it('leaves nothing of its query in the log, whatever comes of it', async () => {
    const { browser, provider, gateway } = await open();
    const back = await browser.begin(provider);
    const secrets = ['state', 'code'].map((name) => back.searchParams.get(name) ?? '');
    await browser.finish(back);
    await browser.finish(back);
    const other = new URL(back);
    other.searchParams.set('code', CANARY);
    await browser.finish(other);
    await browser.ask(`/auth/callback/${CANARY.slice(0, 0)}x?code=${CANARY}`);
    for (const secret of [...secrets, CANARY]) expect(gateway.logText).not.toContain(secret);
  });
});

describe('an id token', () => {
  it.each<[string, Record<string, unknown>]>([
    ['another issuer', { iss: 'https://evil.example' }],
    ['another audience', { aud: 'another-client' }],
    ['another nonce', { nonce: 'x' }],
    ['no nonce', { nonce: undefined }],
    ['no sub', { sub: undefined }],
    ['an end in the past', { exp: 1_700_000_000 }],
  ])('with %s signs nobody in', async (_, change) => {
    const { browser, provider } = await open();
    provider.alter = (claims) => ({ ...claims, ...change });
    expect(codeOf(await browser.signIn(provider))).toBe('400 sign_in_failed');
    expect(codeOf(await browser.session())).toBe('401 missing_api_key');
  });

  it.each<[string, (text: string) => string]>([
    ['without a signature', (text) => `${text.split('.').slice(0, 2).join('.')}.`],
    ['with a signature of another', (text) => `${text.slice(0, -8)}AAAAAAAA`],
    ['of alg none', (text) => `${none()}.${text.split('.')[1]}.`],
  ])('%s signs nobody in', async (_, change) => {
    const { browser, provider } = await open();
    const { sign } = provider;
    provider.sign = (header, claims) => change(sign(header, claims));
    expect(codeOf(await browser.signIn(provider))).toBe('400 sign_in_failed');
  });

  it('under a key that was rotated just now signs in', async () => {
    const { browser, provider } = await open();
    expect(codeOf(await browser.signIn(provider))).toBe('200');
    provider.rotate();
    expect(codeOf(await browser.signIn(provider))).toBe('200');
  });

  it.each([90 * SECOND, -90 * SECOND])('of a clock %i ms apart signs in', async (apart) => {
    const { browser, provider, clock } = await open();
    provider.now = () => clock.now() + apart;
    provider.alter = (claims) => ({ ...claims, nbf: claims.iat, exp: Number(claims.iat) + 60 });
    expect(codeOf(await browser.signIn(provider))).toBe('200');
  });

  it.each<[string, object, string]>([
    ['a number', { groups: 7 }, '403 no_access'],
    ['absent', {}, '403 no_access'],
    ['a list of 10,000 with the group', { groups: [...Array(10_000).keys(), 'data'].map(String) }, '200'],
    ['a list of 10,000 without it', { groups: [...Array(10_000).keys()].map(String) }, '403 no_access'],
  ])('whose groups are %s is answered', async (_, claims, expected) => {
    const { browser, provider } = await open();
    provider.claims = { sub: 'ada', ...claims };
    expect(codeOf(await browser.signIn(provider))).toBe(expected);
  });
});

describe('the way back', () => {
  it.each<readonly [string, string]>([
    ['/explorer?a=1#/reports', `${PUBLIC.data}/explorer?a=1#/reports`],
    ...[
      '//evil.example',
      'https://evil.example',
      '/\\evil.example',
      '\\evil.example',
      '/.//evil.example',
      'x',
    ].map((to) => [to, `${PUBLIC.data}/explorer`] as const),
    ['/a\nset-cookie: x', `${PUBLIC.data}/explorer`],
    ['javascript:alert(1)', `${PUBLIC.data}/explorer`],
  ])('of %j is %s', async (to, expected) => {
    const { browser, provider } = await open();
    const answer = await browser.signIn(provider, to);
    expect(answer.headers.refresh).toBe(`0;url=${expected}`);
  });
});

it('the state cookie of the longest way back is one that a browser keeps', async () => {
  const { browser } = await open();
  for (const to of [`/explorer#/${'x'.repeat(980)}`, `/explorer?q=${'ж'.repeat(980)}`]) {
    const answer = await browser.ask(`/auth/login?to=${encodeURIComponent(to)}`);
    const [cookie = ''] = String(answer.headers['set-cookie']).split(';');
    expect(cookie.length).toBeLessThanOrEqual(4096);
  }
});

describe('a sign-in', () => {
  it('in two tabs and on two planes at once ends in each', async () => {
    const { browser, provider, gateway } = await open();
    provider.claims = { sub: 'ada', groups: ['admins'] };
    const console = new Browser(gateway.admin, 'admin');
    const [one, other, there] = [
      await browser.begin(provider, '/explorer#1'),
      await browser.begin(provider, '/explorer#2'),
      await console.begin(provider),
    ];
    // On one host the browser would send the cookies of both planes to both.
    for (const [name, cookie] of console.jar) browser.jar.set(name, cookie);
    expect((await browser.finish(other)).headers.refresh).toContain('#2');
    expect((await browser.finish(one)).headers.refresh).toContain('#1');
    expect(codeOf(await browser.finish(there))).toBe('400 sign_in_failed');
    expect(codeOf(await console.finish(there))).toBe('200');
  });

  it('inside of another page is refused, and no page may frame the answers', async () => {
    const { browser } = await open();
    const framed = await browser.ask('/auth/login', { 'sec-fetch-dest': 'iframe' });
    expect(codeOf(framed)).toBe('400 sign_in_failed');
    expect(framed.headers).toMatchObject({
      'referrer-policy': 'no-referrer',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
    });
  });

  it('at another host than the public one is refused before the provider is asked', async () => {
    const { gateway } = await open();
    const browser = new Browser(gateway.data, 'data', 'https://inside.example');
    const answer = await browser.ask('/auth/login');
    expect(codeOf(answer)).toBe('400 sign_in_failed');
    expect(answer.json<{ help: string }>().help).toContain('server.trustedProxies');
  });

  it('is possible 30 times a minute from an address', async () => {
    const { browser, clock } = await open();
    for (let nth = 0; nth < 30; nth++) expect((await browser.ask('/auth/login')).statusCode).toBe(302);
    expect(codeOf(await browser.ask('/auth/login'))).toBe('429 rate_limited');
    clock.pass(2 * SECOND);
    expect((await browser.ask('/auth/login')).statusCode).toBe(302);
  });

  it('works with an issuer that has a path', async () => {
    const { browser, provider } = await open({ path: '/realms/company' });
    expect(provider.issuer).toMatch(/\/realms\/company$/);
    expect(codeOf(await browser.signIn(provider))).toBe('200');
  });

  it('works behind a proxy that ends TLS', async () => {
    const { gateway, provider } = await open({ config: { server: { trustedProxies: ['127.0.0.1'] } } });
    const browser = new Browser(gateway.data, 'data', PUBLIC.data);
    const proxied = {
      host: 'inside:8080',
      'x-forwarded-host': new URL(PUBLIC.data).host,
      'x-forwarded-proto': 'https',
    };
    const login = await browser.ask('/auth/login', proxied);
    expect(String(login.headers['set-cookie'])).toMatch(/HttpOnly; SameSite=Lax; Secure$/);
    const back = await provider.signIn(String(login.headers.location));
    expect(back.origin).toBe(PUBLIC.data);
    expect(codeOf(await browser.finish(back, proxied))).toBe('200');
    expect(codeOf(await browser.ask('/gateway/v1/session', proxied))).toBe('200');
  });

  it('may end at another replica', async () => {
    const masterKey = Buffer.alloc(32, 9).toString('base64');
    const { gateway, provider, clock, browser } = await open({ masterKey });
    const other = await withSignIn({ sharedStore: gateway.store, provider, clock, masterKey });
    const back = await browser.begin(provider);
    const cookies = new Map(browser.jar);
    browser.plane = other.gateway.data;
    expect(codeOf(await browser.finish(back))).toBe('200');
    browser.plane = gateway.data;
    await gateway.services.registry.refresh();
    expect(codeOf(await browser.session())).toBe('200');
    for (const [name, cookie] of cookies) browser.jar.set(name, cookie);
    expect(codeOf(await browser.finish(back))).toBe('400 sign_in_failed');
  });
});

describe('a provider that is away', () => {
  it('at the start keeps nobody from a start, and is asked again', async () => {
    const { browser, provider, gateway } = await (async () => {
      const opened = await withSignIn();
      opened.provider.instead = (_path, response) => {
        response.destroy();
        return true;
      };
      const again = await withSignIn({ provider: opened.provider });
      return { ...again, browser: new Browser(again.gateway.data, 'data') };
    })();
    expect(codeOf(await browser.ask('/auth/login'))).toBe('503 not_ready');
    expect(gateway.services.provider?.fault()).toBe('unreachable');
    expect((await gateway.call('/healthz')).status).toBe(200);
    provider.instead = () => false;
    expect(codeOf(await browser.signIn(provider))).toBe('200');
    expect(gateway.services.provider?.fault()).toBeNull();
  });

  it('in the middle of a sign-in is told', async () => {
    const { browser, provider, gateway } = await open();
    const back = await browser.begin(provider);
    provider.instead = (path, response) => {
      if (path === '/token') response.destroy();
      return path === '/token';
    };
    expect(codeOf(await browser.finish(back))).toBe('503 not_ready');
    expect(gateway.services.provider?.fault()).toBe('unreachable');
  });
});
