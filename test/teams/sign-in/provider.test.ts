import { Agent } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Config } from '../../../src/config/load.js';
import { createProvider, wordsOf } from '../../../src/teams/sign-in/provider.js';
import { startIdentityProvider } from '../../support/identity-provider.js';
import { createTestClock } from '../../support/test-clock.js';

const BACK = 'https://reports.company.example/auth/callback';
const CHECKS = { state: 's'.repeat(43), nonce: 'n'.repeat(43), verifier: 'v'.repeat(43) };

async function open({ secret = null as string | null } = {}) {
  const clock = createTestClock();
  const server = await startIdentityProvider(clock.now);
  const oidc = { issuer: server.issuer, clientId: 'gateway', people: [], scopes: ['openid'] };
  const provider = createProvider({
    oidc: oidc as unknown as Config['auth']['oidc'],
    secret: () => secret,
    agent: new Agent(),
    clock,
    timeoutS: 1,
  });
  onTestFinished(() => provider.close());
  const begin = async () => server.signIn((await provider.signInUrl(BACK, CHECKS)).href);
  return { server, provider, begin };
}

describe('the identity provider', () => {
  it('is sent a challenge, not the verifier', async () => {
    const { provider } = await open();
    const url = await provider.signInUrl(BACK, CHECKS);
    expect(url.href).not.toContain(CHECKS.verifier);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      client_id: 'gateway',
      code_challenge_method: 'S256',
      nonce: CHECKS.nonce,
      redirect_uri: BACK,
      response_type: 'code',
      scope: 'openid',
      state: CHECKS.state,
    });
  });

  it('whose answer never comes is given up, without a word of it', async () => {
    const { server, provider, begin } = await open();
    const back = await begin();
    server.instead = (path) => path === '/token';
    await expect(provider.exchange(back, CHECKS)).rejects.toMatchObject({ code: 'not_ready' });
    expect(provider.fault()).toBe('OAUTH_TIMEOUT');
    server.instead = () => false;
    expect(await provider.exchange(await begin(), CHECKS)).toMatchObject({
      issuer: server.issuer,
      sub: 'ada',
    });
    expect(provider.fault()).toBeNull();
  });

  it('that did not answer is asked again before another browser is sent to it', async () => {
    const { server, provider, begin } = await open();
    const back = await begin();
    server.instead = (_path, response) => {
      response.writeHead(500).end();
      return true;
    };
    await expect(provider.exchange(back, CHECKS)).rejects.toMatchObject({ code: 'not_ready' });
    await expect(begin()).rejects.toMatchObject({ code: 'not_ready' });
    server.instead = () => false;
    expect(await provider.exchange(await begin(), CHECKS)).toMatchObject({ sub: 'ada' });
  });

  it.each([
    [undefined, 'select_account'],
    [['none', 'login', 'select_account'], 'select_account'],
    [['none', 'login', 'consent'], 'login'],
  ])('that says to know the prompts %j is sent %s for another account', async (known, expected) => {
    const { server, provider } = await open();
    const { issuer } = server;
    const endpoints = { authorization_endpoint: `${issuer}/authorize`, jwks_uri: `${issuer}/keys` };
    server.instead = (_path, response) => {
      const metadata = { issuer, ...endpoints, prompt_values_supported: known };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata));
      return true;
    };
    const promptIn = async (prompt?: string) =>
      (await provider.signInUrl(BACK, CHECKS, prompt)).searchParams.get('prompt');
    expect([await promptIn('select_account'), await promptIn('login'), await promptIn()]).toEqual([
      expected,
      'login',
      null,
    ]);
  });

  it.each<[string, (back: URL) => void]>([
    ['another issuer', (back) => back.searchParams.set('iss', 'https://evil.example')],
    ['no issuer, though it names itself', (back) => back.searchParams.delete('iss')],
    ['another state', (back) => back.searchParams.set('state', 'x')],
    ['two codes', (back) => back.searchParams.append('code', 'x')],
    ['an unknown code', (back) => back.searchParams.set('code', 'x')],
  ])('is not believed in a callback with %s', async (_, change) => {
    const { provider, begin } = await open();
    const back = await begin();
    change(back);
    await expect(provider.exchange(back, CHECKS)).rejects.toMatchObject({ code: 'sign_in_failed' });
    expect(provider.fault()).toBeNull();
  });

  it('has its words shown without control characters, 200 characters of them', () => {
    expect(wordsOf('a\u0000b\u202ec')).toBe('a b c');
    expect(wordsOf('x'.repeat(1000))).toHaveLength(200);
    expect(wordsOf({ toString: () => 'x' })).toBe('');
  });
});
