/** The console before a real gateway: the overview, a rotation, the audit, and who may see what. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ask, newTeam, REPORT } from '../support/ask.js';
import { visit } from '../support/browser.js';
import { listenGateway } from '../support/listen-gateway.js';
import type { OpenGateway } from '../support/open-gateway.js';
import { gatewayAt } from '../support/start-gateway.js';
import { openPages, signedIn, VIEWER, viewerAs } from './people.js';

const HOSTILE = '<img src=x onerror=alert(1)> \u202Eevil =HYPERLINK("x")';

let inside: OpenGateway['inside'];
let gateway: OpenGateway['gateway'];

beforeAll(async () => {
  ({ inside, gateway } = await openPages({ mints: true }));
  for (const [id, name] of [
    ['growth', 'Growth analytics'],
    ['hostile', HOSTILE.repeat(4).slice(0, 100)],
  ] as const)
    await trafficOf(id, name);
});

/** A team that asks for a report ten times over, and once for something it may not see. */
async function trafficOf(id: string, name: string): Promise<void> {
  const { key } = await newTeam(gateway, { id, name, scopes: ['report:read'], advertisers: [1, 2] });
  const report = `${gateway.data}${REPORT}?byDate=1&_period=last_7_days&advertiserId=`;
  for (let turn = 0; turn < 10; turn++) expect((await ask(`${report}1`, { key })).status).toBe(200);
  expect((await ask(`${report}9`, { key })).status).toBe(403);
}

const console = () => `${gateway.admin}/`;

it('shows each link of the navigation, also on a phone', async () => {
  const { page } = await signedIn(console(), 'Admin token', gateway.adminToken);
  await page.setViewportSize({ width: 390, height: 844 });
  const links = page.locator('header a');
  const ends = await links.evaluateAll((all) => all.map((one) => one.getBoundingClientRect().right));
  expect(Math.min(...ends)).toBeGreaterThan(0);
  expect(Math.max(...ends)).toBeLessThanOrEqual(390);
  expect((await links.allTextContents()).slice(-3)).toEqual(['Audit', 'Documentation', 'Error codes']);
});

describe('the overview', () => {
  it('says first how it is, then what happened, then who asked', async () => {
    const seen = await signedIn(console(), 'Admin token', gateway.adminToken);
    const { page, faults } = seen;
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.getByRole('heading', { name: /well|look at this|wrong/ }).waitFor();
    const ledger = page.getByRole('region', { name: 'Teams and their usage' });
    await ledger.waitFor();
    // Two teams, and the gateway, which compares days.
    await expect.poll(() => ledger.getByRole('row').count()).toBe(4);
    await page.getByRole('img', { name: /Requests over time/ }).waitFor();
    await expect.poll(() => page.locator('dl').textContent()).toMatch(/Requests\s*22/);
    await seen.shots('console-overview');
    // On a phone numbers stand in pairs.
    const size = page.viewportSize() ?? { width: 1280, height: 800 };
    await page.setViewportSize({ width: 390, height: 844 });
    const row = ledger.getByRole('row').nth(1);
    const tops = await Promise.all(
      ['Requests', 'Hits', 'Calls'].map(
        async (title) => (await row.locator(`[data-title="${title}"]`).boundingBox())?.y,
      ),
    );
    expect([tops[0] === tops[1], tops[1] === tops[2]]).toEqual([true, false]);
    await page.setViewportSize(size);
    // The same numbers for whoever does not see a chart.
    await page.getByRole('button', { name: 'Show table' }).first().click();
    await page.getByRole('region', { name: /Requests over time/ }).waitFor();
    await ledger.getByRole('button', { name: 'Team' }).click();
    await page.getByRole('button', { name: '30 days' }).click();
    await page.waitForURL(/range=30d/);
    await ledger.waitFor();
    expect(await seen.axe()).toEqual([]);
    expect(faults).toEqual([]);
  });
});

/** A page calls at once when somebody comes back to its tab. */
const seenAgain = (page: Page) => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");

/** Nobody listens there any more. @returns the port */
async function hangUp(server: Server): Promise<number> {
  const { port } = server.address() as AddressInfo;
  const closed = once(server.close(), 'close');
  server.closeAllConnections();
  await closed;
  return port;
}

const isBelow = (width: number) => (box: { x: number; width: number } | null) =>
  box !== null && box.x >= 0 && box.x + box.width <= width;

describe('a session', () => {
  it('follows a role that changes while the page is open', async () => {
    const first = await gatewayAt(inside.simulator, { config: { auth: await viewerAs('viewer') } });
    const next = await gatewayAt(inside.simulator, {
      config: { auth: await viewerAs('operator') },
      sharedStore: first.store,
    });
    const url = await listenGateway({ data: first.admin });
    // Before the gateways end, and after the page has left: its idle connections would be waited for.
    onTestFinished(() => next.admin.server.closeAllConnections());
    const { page } = await signedIn(`${url}/#/teams`, 'Admin token', VIEWER);
    await page.getByText('viewer', { exact: true }).waitFor();
    const create = page.getByRole('link', { name: 'New team' });
    expect(await create.count()).toBe(0);
    await next.admin.listen({ host: '127.0.0.1', port: await hangUp(first.admin.server) });
    await seenAgain(page);
    await create.waitFor();
    expect(await page.getByText('operator', { exact: true }).count()).toBe(1);
  });

  it('survives a reload at the view one was at, and ends with signing out', async () => {
    const { page, context, faults } = await signedIn(
      `${console()}#/audit`,
      'Admin token',
      gateway.adminToken,
    );
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.reload();
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    // The last of the sections, which stand in a line that a phone does not show whole.
    expect(await page.getByRole('link', { name: 'Audit' }).boundingBox()).toSatisfy(isBelow(390));
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ name: 'dgw_console', httpOnly: true, sameSite: 'Strict' });
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Admin token').waitFor();
    // What was kept of it somewhere is worth nothing.
    const headers = { cookie: `dgw_console=${cookie?.value}` };
    expect((await ask(`${gateway.admin}/admin/v1/status`, { headers })).status).toBe(401);
    expect(faults).toEqual([]);
  });

  it('that ended in another tab is told, and the next one begins where one was', async () => {
    const { page, context } = await signedIn(`${console()}#/credential`, 'Admin token', gateway.adminToken);
    await page.getByRole('heading', { name: 'Credential' }).waitFor();
    const other = await context.newPage();
    await other.goto(console());
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByLabel('Admin token').waitFor();
    // By address, since the page may have asked again by itself, and its links be gone already.
    await page.evaluate("location.hash = '#/audit'");
    await page.getByText('Your session has ended').waitFor();
    await page.getByLabel('Admin token').fill(gateway.adminToken);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Audit' }).waitFor();
    expect(page.url()).toBe(`${console()}#/audit`);
  });

  it('of somebody who only looks has no buttons that would be refused', async () => {
    const { page, faults } = await signedIn(`${console()}#/credential`, 'Admin token', VIEWER);
    await page.getByText('Rotating the token requires the role owner.').waitFor();
    expect(await page.getByText('viewer', { exact: true }).isVisible()).toBe(true);
    expect(await page.getByRole('button').allInnerTexts()).toEqual(['Skip to content', 'Sign out']);
    expect(faults).toEqual([]);
  });
});

describe('a rotation', () => {
  it('that fails is shown as failed, and changes nothing', async () => {
    const seen = await signedIn(`${console()}#/credential`, 'Admin token', gateway.adminToken);
    const { page } = seen;
    await page.getByRole('form', { name: 'New token' }).getByLabel('Token').fill('no token at all');
    await page.getByRole('button', { name: 'Stage the token' }).click();
    const alert = page.getByRole('alert').filter({ hasText: 'This is no token' });
    expect(await alert.textContent()).not.toMatch(/ASCII|16384|Send token/);
    await page.getByRole('form', { name: 'New token' }).getByLabel('Token').fill('a-token-of-nobody');
    await page.getByRole('button', { name: 'Stage the token' }).click();
    await page.getByText('Next: verify it.').waitFor();
    await page.getByRole('button', { name: 'Verify' }).click();
    await page
      .getByRole('alert')
      .getByText(/The platform refused the token/)
      .waitFor();
    await page.getByText('failed', { exact: true }).first().waitFor();
    await seen.shots('console-rotation-failed');
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click();
    await page.getByText('The pending token is discarded.').waitFor();
    expect(await page.content()).not.toContain('a-token-of-nobody');
  });

  it('goes from asking for a token to the way back, each step with its result', async () => {
    const seen = await signedIn(`${console()}#/credential`, 'Admin token', gateway.adminToken);
    const { page, faults } = seen;
    await page.getByRole('button', { name: 'Mint a token at the platform' }).click();
    await page.getByText('Next: verify it.').waitFor();
    await page.getByRole('button', { name: 'Verify' }).click();
    await page
      .getByText(/the platform answered the probe with status 200/)
      .first()
      .waitFor();
    await seen.shots('console-rotation');
    await page.getByRole('button', { name: 'Activate the token' }).click();
    await page.getByText('The new token is active.').waitFor();
    await page.getByText('1 of 1 process uses the active token.').waitFor();
    await page
      .getByText(
        /^Swaps the two tokens: \S+ becomes active, \S+ previous, if the platform accepts the first\.$/,
      )
      .waitFor();
    await page.getByRole('button', { name: 'Roll back to the previous token' }).click();
    expect(await seen.axe()).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back to the previous token' }).click();
    await page.getByText('The previous token is active again.').waitFor();
    await seen.shots('console-credential');
    expect(faults).toEqual([]);
  });
});

it('a token that the platform refuses is shown as refused, not as verified', async () => {
  const { gateway: fresh, inside: ofFresh } = await openPages();
  const { key } = await newTeam(fresh, { id: 'growth', scopes: ['report:read'], advertisers: [1, 2] });
  const askFor = async (advertiser: number) =>
    (await ask(`${fresh.data}${REPORT}?byDate=1&_period=yesterday&advertiserId=${advertiser}`, { key }))
      .status;
  expect(await askFor(1)).toBe(200);
  const { page, faults } = await signedIn(`${fresh.admin}/#/credential`, 'Admin token', fresh.adminToken);
  await page.getByText(/^verified \d{4}-/).waitFor();
  // This gateway has no token request.
  await page.getByText('PLATFORM_USERNAME').waitFor();
  expect(await page.getByRole('button', { name: /^Mint/ }).count()).toBe(0);
  ofFresh.simulator.revoke();
  expect(await askFor(2)).toBe(503);
  await page.getByText(/^refused by the platform since \d{4}-/).waitFor();
  expect(await page.locator('.tag.bad').getByText('active', { exact: true }).count()).toBe(1);
  expect(await page.getByText(/^verified \d{4}-/).count()).toBe(0);
  await page.setViewportSize({ width: 390, height: 844 });
  const beyond = () => page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
  expect(await beyond()).toBeLessThanOrEqual(0);
  await ofFresh.manage('POST', '/token/rotate', { token: ofFresh.simulator.issueToken(), force: true });
  const back = { name: 'Roll back to a token that was refused' };
  await page.getByRole('button', back).click();
  const dialog = page.getByRole('dialog');
  await dialog
    .getByText(/The platform refused [0-9a-f]{16} at \d{4}-.* only cached reports are served/)
    .waitFor();
  expect(await beyond()).toBeLessThanOrEqual(0);
  await dialog.getByRole('button', back).click();
  await page.getByText(/The previous token is active again\. The platform refused this token at/).waitFor();
  await page.getByText(/^refused by the platform since \d{4}-/).waitFor();
  expect(faults).toEqual([]);
});

describe('the audit', () => {
  it('tells in sentences, finds, and shows what differed', async () => {
    const limits = { requestsPerMinute: 77 };
    const url = `${gateway.admin}/admin/v1/teams/growth`;
    await ask(url, { method: 'PATCH', bearer: gateway.adminToken, json: { limits } });
    const seen = await signedIn(`${console()}#/audit?action=team`, 'Admin token', gateway.adminToken);
    const { page, faults } = seen;
    await page.getByText('admin created the team Growth analytics (growth)').click();
    await page.getByText('"Growth analytics"').waitFor();
    await page.getByText('admin changed the team Growth analytics (growth)').first().click();
    await page.getByText(/^\d+ → 77$/).waitFor();
    await page.getByText(/^admin created the team .*\(hostile\)$/).click();
    await seen.shots('console-audit');
    await page.getByLabel('About').selectOption({ label: 'keys' });
    await page.waitForURL(/action=key/);
    await page
      .getByText(/admin issued the key/)
      .first()
      .waitFor();
    await page.goBack();
    await page.getByText('admin created the team Growth analytics (growth)').waitFor();
    await page.getByRole('img', { name: 'Changes by day and actor, last 30 days' }).waitFor();
    const actors = page.getByRole('list', { name: 'Changes by actor' });
    expect(await actors.getByRole('listitem').first().textContent()).toMatch(/^admin\d+ changes, last/);
    await actors.getByRole('link', { name: 'admin' }).click();
    await page.waitForURL(/actor=admin$/);
    await expect.poll(() => page.getByRole('textbox', { name: 'Actor' }).inputValue()).toBe('admin');
    expect(faults).toEqual([]);
  });
});

describe('a gateway that is gone', () => {
  it('is told on either page, which keep what they have and go on when it is back', async () => {
    const { key } = await newTeam(gateway, { id: 'watching', scopes: ['report:read'], advertisers: [1] });
    const { page } = await signedIn(console(), 'Admin token', gateway.adminToken);
    const report = `${gateway.data}/explorer#/report?advertiserId=1&byDate=1&_period=last_7_days`;
    const explorer = (await signedIn(report, 'Team key', key)).page;
    const rows = explorer.getByRole('region', { name: 'Rows of the report' });
    await rows.waitFor();
    const ledger = page.getByRole('region', { name: 'Teams and their usage' });
    await ledger.waitFor();
    const servers = [inside.data.server, inside.admin.server];
    const ports = await Promise.all(servers.map(hangUp));
    const told = page.getByText('The gateway does not respond. This page shows the last data');
    await seenAgain(page);
    await told.waitFor();
    expect(await ledger.isVisible()).toBe(true);
    await explorer.getByLabel('Period').selectOption('yesterday');
    const alert = explorer.getByRole('alert').filter({ hasText: 'The gateway does not respond' }).first();
    await alert.waitFor();
    for (const [index, server] of servers.entries()) server.listen(ports[index], '127.0.0.1');
    await expect
      .poll(async () => {
        await seenAgain(page);
        return told.isVisible();
      })
      .toBe(false);
    expect(await page.getByRole('heading', { name: 'Overview' }).isVisible()).toBe(true);
    await explorer.getByRole('button', { name: 'Try again' }).click();
    await rows.waitFor();
    await expect.poll(() => alert.count()).toBe(0);
  });
});

it.each([
  { name: 'console', label: 'Admin token', url: () => console() },
  { name: 'explorer', label: 'Team key', url: () => `${gateway.data}/explorer` },
])('the $name asks for the secret, and nothing is wrong with the form', async ({ name, label, url }) => {
  const { page, faults, shots } = await visit(url());
  const field = page.getByLabel(label);
  await field.waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.getAttribute("name")')).toBe('secret');
  await shots(`${name}-sign-in`);
  await field.fill('nonsense-nonsense-nonsense');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('alert').filter({ hasText: /\w/ }).waitFor();
  await expect.poll(() => field.inputValue()).toBe('');
  await shots(`${name}-sign-in-refused`);
  expect(faults.filter((fault) => !/status of 4\d\d/.test(fault))).toEqual([]);
});
