/** With the library of a real provider, which asks for a login by a form and for consent, on another host than the gateway. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Browser, codeOf, PEOPLE, PUBLIC } from '../../support/signed-in.js';
import { withGateway } from '../../support/start-gateway.js';
import { createTestClock } from '../../support/test-clock.js';

const SECRET = 'shared-with-the-provider';

async function startProvider() {
  let handler: RequestListener = () => {};
  const server = createServer((request, response) => handler(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'dsp-gateway',
        client_secret: SECRET,
        redirect_uris: [`${PUBLIC.data}/auth/callback`, `${PUBLIC.admin}/auth/callback`],
        post_logout_redirect_uris: [`${PUBLIC.data}/explorer`],
      },
    ],
    claims: { openid: ['sub'], profile: ['name'], groups: ['groups'] },
    scopes: ['openid', 'profile', 'groups'],
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, name: 'Ada Lovelace', groups: ['data'] }),
    }),
    pkce: { required: () => true },
    cookies: { keys: ['a key of the test'] },
  });
  handler = provider.callback();
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return issuer;
}

/** Fills in the forms of the provider's own pages. @returns the address of the callback */
async function fillIn(start: string): Promise<URL> {
  const jar = new Map<string, string>();
  let [url, init]: [string, RequestInit] = [start, {}];
  for (let steps = 0; steps < 20; steps++) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, { ...init, redirect: 'manual', headers: { ...init.headers, cookie } });
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=');
      jar.set(name, value);
    }
    const location = answer.headers.get('location');
    const html = await answer.text();
    init = {};
    if (location !== null) {
      url = new URL(location, url).href;
      if (url.startsWith(PUBLIC.data)) return new URL(url);
      continue;
    }
    const action = /action="([^"]+)"/.exec(html)?.[1];
    if (action === undefined) throw new Error(`${answer.status}: ${html.slice(0, 500)}`);
    const prompt = html.includes('name="login"') ? 'login' : 'consent';
    url = new URL(action, url).href;
    init = { method: 'POST', body: new URLSearchParams({ prompt, login: 'ada', password: 'x' }) };
  }
  throw new Error('the provider never sent the browser back');
}

describe('with a real provider', () => {
  it('a person signs in by its form, works, and signs out', async () => {
    const issuer = await startProvider();
    // The provider signs by the time of the machine.
    const clock = createTestClock(new Date().toISOString());
    const gateway = await withGateway({
      clock,
      env: { OIDC_CLIENT_SECRET: SECRET },
      config: {
        auth: {
          oidc: {
            ...{ issuer, clientId: 'dsp-gateway', people: PEOPLE, scopes: ['openid', 'profile', 'groups'] },
            ...{ publicUrl: PUBLIC.data, adminPublicUrl: PUBLIC.admin },
          },
        },
      },
    });
    await gateway.addTeam({ id: 'data' });
    const browser = new Browser(gateway.data, 'data');
    const login = await browser.ask('/auth/login?to=/explorer');
    expect(login.statusCode).toBe(302);
    const back = await fillIn(String(login.headers.location));
    expect(codeOf(await browser.finish(back))).toBe('200');
    expect((await browser.session()).json()).toMatchObject({
      team: { id: 'data' },
      person: { name: 'Ada Lovelace', chosen: 'data' },
    });
    const { location } = (await browser.write('POST', '/auth/logout')).json<{ location: string }>();
    const end = await fetch(location);
    expect(end.status).toBe(200);
    for (const secret of [SECRET, back.searchParams.get('code') ?? ''])
      expect(gateway.logText).not.toContain(secret);
  });
});
