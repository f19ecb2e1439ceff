/** Failed requests in the console: listed with what was asked, found by id, and led to from an incident. */
import { beforeAll, expect, it } from 'vitest';
import { ask, newTeam, REPORT } from '../support/ask.js';
import type { OpenGateway } from '../support/open-gateway.js';
import { rule } from '../support/scene.js';
import { openPages, signedIn } from './people.js';

let gateway: OpenGateway['gateway'];
const ids: string[] = [];

beforeAll(async () => {
  const opened = await openPages({
    config: { platform: { circuit: { failures: 1000 } }, ...rule({ divisible: 'never' }) },
  });
  ({ gateway } = opened);
  const { key } = await newTeam(gateway, { id: 'growth', scopes: ['report:read'], advertisers: [1] });
  opened.inside.simulator.fault({ kind: 'status', status: 500, times: 0 });
  for (let day = 1; day <= 5; day += 1) {
    const url = `${gateway.data}${REPORT}?advertiserId=1&dateFrom=2026-03-0${day}&dateTo=2026-03-0${day}`;
    const { status, text } = await ask(url, { key });
    expect(status).toBe(502);
    ids.push((JSON.parse(text) as { requestId: string }).requestId);
  }
  expect((await ask(`${gateway.data}${REPORT}`, { key: 'wrong' })).status).toBe(401);
});

const open = (hash: string) => signedIn(`${gateway.admin}/${hash}`, 'Admin token', gateway.adminToken);

it('failed reports are listed with team, problem, report and id, and refused requests on demand', async () => {
  const { page, axe, shots, faults } = await open('#/requests');
  const rows = page.getByRole('region', { name: 'Requests with problem' }).getByRole('row');
  await expect.poll(() => rows.count()).toBe(6);
  const [first = ''] = (await rows.allInnerTexts()).slice(1).map((text) => text.replaceAll(/\s+/g, ' '));
  expect(first).toMatch(/growth Platform error \(status 500\) campaigns\/get 2026-03-05 .*\b1 /);
  expect(first).toContain(`${ids.at(-1)?.slice(0, 8)}…`);
  await page.getByRole('combobox', { name: 'Which' }).selectOption('also refused requests');
  await page.getByRole('button', { name: 'Find' }).click();
  await expect.poll(() => rows.count()).toBe(7);
  expect(await axe()).toEqual([]);
  await shots('console-requests');
  expect(faults).toEqual([]);
});

it('a request is found by its id', async () => {
  const { page, shots } = await open('#/requests');
  await page.getByRole('searchbox', { name: 'Request id' }).fill(ids[2] ?? '');
  await page.getByRole('button', { name: 'Find' }).click();
  const found = page.getByRole('region', { name: 'The request' });
  await found.getByText('2026-03-03', { exact: true }).waitFor();
  await found.getByText(ids[2] ?? '').waitFor();
  await shots('console-request');
});

it('an incident names its first requests and leads to the others, and failed reports add up', async () => {
  const limits = { requestsPerMinute: 1 };
  const { key } = await newTeam(gateway, { id: 'busy', scopes: ['report:read'], advertisers: [2], limits });
  for (const status of [403, 429])
    expect((await ask(`${gateway.data}${REPORT}?advertiserId=1`, { key })).status).toBe(status);
  const { page, shots } = await open('#/overview');
  const incident = page.getByRole('region', { name: 'Incidents with cause' });
  await incident.getByText(/^failed calls: status 500: \d+$/).waitFor({ timeout: 30_000 });
  for (const id of ids.slice(0, 3)) await incident.getByTitle(id).waitFor();
  await page.getByText('5 failed reports, all in incidents; 2 refused; 1 more over a limit').waitFor();
  await page.setViewportSize({ width: 390, height: 844 });
  await expect
    .poll(() => incident.evaluate((one) => one.scrollWidth - one.clientWidth))
    .toBeLessThanOrEqual(0);
  await page.setViewportSize({ width: 1280, height: 900 });
  await shots('console-incident');
  await incident.getByRole('link', { name: 'and 2 more' }).click();
  await page.getByRole('heading', { level: 1, name: 'Requests' }).waitFor();
  await expect.poll(() => page.getByRole('row').count()).toBe(6);
});

it('an address without a page says so, and leads to those there are', async () => {
  const { page, faults } = await open('#/nothere');
  await page.getByText('There is no page “nothere”.').waitFor();
  await page.getByRole('main').getByRole('link', { name: 'Credential' }).click();
  await page.getByRole('heading', { level: 1, name: 'Credential' }).waitFor();
  expect(faults).toEqual([]);
});
