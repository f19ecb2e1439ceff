/** A gateway whose people sign in with a company account, at a provider with a login form on another host. */
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type { Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { visit } from '../support/browser.js';
import { CLIENT_SECRET, startRealProvider } from '../support/real-provider.js';
import { PEOPLE } from '../support/signed-in.js';
import { withGateway } from '../support/start-gateway.js';

/** By login. */
const ACCOUNTS = {
  ada: { name: 'Ada Lovelace', groups: ['data'] },
  two: { name: 'Tove <b>of two</b>', groups: ['two'] },
  vera: { name: 'Vera Viewer', groups: ['viewers'] },
  nobody: { name: 'Nobody', groups: ['guests'] },
};

interface CompanyOptions {
  readonly auth?: object;
  readonly signsOut?: boolean;
  /** Whether the provider is away from the start. */
  readonly isAway?: boolean;
}

/** With the teams `data` and `sales`. */
export async function openCompany({ auth, signsOut = true, isAway = false }: CompanyOptions = {}) {
  // The addresses are settings of both, so they are known before the planes listen.
  const [dataPort, adminPort] = [await freePort(), await freePort()];
  const data = `http://127.0.0.1:${dataPort}`;
  const admin = `http://127.0.0.1:${adminPort}`;
  const provider = await startRealProvider({ planes: { data, admin }, accounts: ACCOUNTS, signsOut });
  if (isAway) await provider.close();
  const gateway = await withGateway({
    // The provider signs by the time of the machine.
    now: new Date().toISOString(),
    env: { OIDC_CLIENT_SECRET: CLIENT_SECRET },
    config: {
      auth: {
        ...auth,
        oidc: {
          ...{ issuer: provider.issuer, clientId: 'dsp-gateway', people: PEOPLE },
          ...{ scopes: ['openid', 'profile', 'groups'], publicUrl: data, adminPublicUrl: admin },
        },
      },
    },
  });
  onTestFinished(() => {
    for (const { server } of [gateway.data, gateway.admin]) server.closeAllConnections();
  });
  const key = await gateway.addTeam({ id: 'data', name: 'Data platform' });
  await gateway.addTeam({ id: 'sales', name: 'Sales' });
  await gateway.data.listen({ host: '127.0.0.1', port: dataPort });
  await gateway.admin.listen({ host: '127.0.0.1', port: adminPort });
  return { explorer: `${data}/explorer`, console: `${admin}/`, gateway, provider, key };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  return port;
}

export const COMPANY = 'Sign in with your company account';

/** @returns as {@link visit}; `own`: the faults of the gateway's own pages */
export async function visitCompany(url: string) {
  const seen = await visit(url);
  // The provider's own forms load a font from elsewhere.
  const isElsewhere = (at: URL) => !['127.0.0.1', 'localhost'].includes(at.hostname);
  await seen.page.route(isElsewhere, (route) => route.abort());
  onTestFinished(() => seen.page.unroute(isElsewhere));
  return seen;
}

/** Fills in the provider's forms, beginning at the link of the sign-in page. */
export async function signInAs(page: Page, login: string): Promise<void> {
  await page.getByRole('link', { name: COMPANY }).click();
  await fillInForms(page, login);
}

export async function fillInForms(page: Page, login: string): Promise<void> {
  await page.locator('input[name="login"]').fill(login);
  await page.locator('input[name="password"]').fill('anything');
  await page.locator('button[type="submit"]').click();
  // Consent.
  await page.locator('input[name="prompt"][value="consent"]').waitFor({ state: 'attached' });
  await page.locator('button[type="submit"]').click();
}
