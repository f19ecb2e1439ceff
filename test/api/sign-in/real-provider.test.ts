/** With the library of a real provider, which asks for a login by a form and for consent, on another host than the gateway. */
import { describe, expect, it } from 'vitest';
import { CLIENT_SECRET, startRealProvider } from '../../support/real-provider.js';
import { Browser, codeOf, PEOPLE, PUBLIC } from '../../support/signed-in.js';
import { withGateway } from '../../support/start-gateway.js';
import { createTestClock } from '../../support/test-clock.js';

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
    const ada = { name: 'Ada Lovelace', groups: ['data'] };
    const { issuer } = await startRealProvider({ planes: PUBLIC, accounts: { ada } });
    // The provider signs by the time of the machine.
    const clock = createTestClock(new Date().toISOString());
    const gateway = await withGateway({
      clock,
      env: { OIDC_CLIENT_SECRET: CLIENT_SECRET },
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
    for (const secret of [CLIENT_SECRET, back.searchParams.get('code') ?? ''])
      expect(gateway.logText).not.toContain(secret);
  });
});
