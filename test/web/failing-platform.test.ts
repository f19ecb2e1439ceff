/** The pages while the platform fails: the verdict, failed reports, what to do, and one fault at a time. */
import { beforeAll, expect, it } from 'vitest';
import { ask, newTeam, REPORT } from '../support/ask.js';
import type { OpenGateway } from '../support/open-gateway.js';
import { rule } from '../support/scene.js';
import { openPages, signedIn } from './people.js';

let inside: OpenGateway['inside'];
let gateway: OpenGateway['gateway'];
let key: string;

const reportOf = (days: number) =>
  `${gateway.data}${REPORT}?byDate=1&_period=last_${days}_days&advertiserId=1`;

beforeAll(async () => {
  ({ inside, gateway } = await openPages({
    config: { platform: { circuit: { failures: 1000 } }, ...rule({ divisible: 'never' }) },
  }));
  ({ key } = await newTeam(gateway, { id: 'growth', scopes: ['report:read'], advertisers: [1, 2] }));
  for (let turn = 0; turn < 4; turn += 1) expect((await ask(reportOf(7), { key })).status).toBe(200);
  inside.simulator.fault({ kind: 'status', status: 500, times: 0 });
  for (let days = 8; days < 34; days += 1) expect((await ask(reportOf(days), { key })).status).toBe(502);
  for (let turn = 0; turn < 3; turn += 1) expect((await ask(reportOf(7), { key: 'wrong' })).status).toBe(401);
});

it('the overview needs action, counts failed reports in red and in the hit rate, and adds up', async () => {
  const { page, shots, faults } = await signedIn(`${gateway.admin}/`, 'Admin token', gateway.adminToken);
  await page.getByRole('heading', { name: 'Not well' }).waitFor();
  await page.getByText(/The last 26 calls of the platform failed, since \d\d:\d\d UTC/).waitFor();
  const figures = page.locator('dl').first();
  await expect.poll(() => figures.textContent()).toMatch(/Requests\s*33.*Cache hits\s*10\.0 %.*Errors\s*29/);
  const rows = page.getByRole('region', { name: 'Teams and their usage' }).getByRole('row');
  await expect
    .poll(async () => (await rows.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim()))
    .toEqual([
      expect.stringMatching(/^Team/),
      expect.stringMatching(/^growth 30 10\.0 % 27 3 26 /),
      expect.stringMatching(/^without a valid key 3 – 0 0 3 /),
    ]);
  const chart = page.getByRole('region', { name: 'Requests by outcome' });
  await chart.getByText('failed', { exact: true }).waitFor();
  await shots('console-overview-failing');
  expect(faults).toEqual([]);
});

it('the overview tells which part is not well, since when, what it costs and what to do', async () => {
  const { page, axe } = await signedIn(`${gateway.admin}/`, 'Admin token', gateway.adminToken);
  const card = page.locator('.verdict');
  await card.getByRole('heading', { name: 'Not well: the platform' }).waitFor();
  await card
    .getByText(/^26 of 30 reports failed (?:in the last 5 minutes|since the start .+ ago)\.$/)
    .waitFor();
  await card.getByText(/The last 26 calls of the platform failed, since \d\d:\d\d UTC/).waitFor();
  await card.getByRole('button', { name: 'Check everything now' }).click();
  await card.getByText(/the platform answered the probe with status 500/).waitFor();
  expect(await axe()).toEqual([]);
  await card.getByText(/Callers get cached reports meanwhile/).waitFor();
});

it('a remedy that a page offers is a link to that page', async () => {
  const stop = { reason: 'budgets look wrong' };
  const headers = { authorization: `Bearer ${gateway.adminToken}` };
  const stopped = await ask(`${gateway.admin}/admin/v1/writes/stop`, { method: 'POST', headers, json: stop });
  expect(stopped.status).toBeLessThan(300);
  const { page } = await signedIn(`${gateway.admin}/`, 'Admin token', gateway.adminToken);
  const finding = page.getByRole('listitem').filter({ hasText: 'Writes of all teams are stopped' });
  await finding.getByRole('link', { name: 'Writes' }).click();
  await page.getByRole('heading', { level: 1, name: 'Writes' }).waitFor();
});

it('a period cached as one entry is not shown as days that are missing', async () => {
  const { page } = await signedIn(
    `${gateway.admin}/#/cache?url=${encodeURIComponent(reportOf(30))}`,
    'Admin token',
    gateway.adminToken,
  );
  const figure = page.locator('dl > div').filter({ hasText: 'Cached days' });
  await expect.poll(() => figure.textContent()).toMatch(/none by itself/);
  await page.getByText(/^The period is cached as one, as shown here/).waitFor();
});

it('a fault of the form replaces the error of the report before', async () => {
  const hash = '#/report?endpoint=campaigns%2Fget&advertiserId=1&byDate=1&_period=last_30_days';
  const { page } = await signedIn(`${gateway.data}/explorer${hash}`, 'Team key', key);
  const old = page.getByRole('alert').filter({ hasText: 'Platform error' });
  await old.waitFor();
  await page.getByRole('combobox', { name: 'Advertiser' }).fill('1,');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('No advertiser of your team is called “1,”.').waitFor();
  expect(await old.count()).toBe(0);
});
