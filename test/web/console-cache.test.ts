/** The cache at the console: a pasted address explained, its days as a calendar, forgetting, and what was learned. */
import { beforeAll, expect, it } from 'vitest';
import { admin, ask, daysBefore, newTeam, REPORT } from '../support/ask.js';
import { type OpenGateway, openGateway } from '../support/open-gateway.js';
import { prove } from '../support/prove.js';
import { HOUR } from '../support/test-clock.js';
import { openPages, signedIn as signIn, VIEWER } from './people.js';

let gateway: OpenGateway['gateway'];
let today: string;

const reportOf = (advertiser: number, from: string, to: string) =>
  `${REPORT}?advertiserId=${advertiser}&byDate=1&dateFrom=${from}&dateTo=${to}`;

beforeAll(async () => {
  const { inside, sim, ...opened } = await openPages({
    now: '2026-11-21T12:00:00.000Z',
    config: { report: { endpoints: { 'campaigns/get': { divisible: 'always' } } } },
  });
  gateway = opened.gateway;
  const { key } = await newTeam(gateway, { id: 'growth', name: 'Growth' });
  today = await sim.today();
  const read = async (from: string, to: string) =>
    expect((await ask(gateway.data + reportOf(1, from, to), { key })).status).toBe(200);
  // All but some days in the middle; then time passes, and some young ones are asked for again, with which those before
  // them are refreshed.
  await read(daysBefore(today, 399), daysBefore(today, 100));
  await read(daysBefore(today, 90), today);
  inside.clock.advance(24 * HOUR);
  await read(daysBefore(today, 3), daysBefore(today, 2));
});

const signedIn = (token: string, hash = '#/cache') =>
  signIn(`${gateway.admin}/${hash}`, 'Admin token', token);

it('explains a pasted address: canonical form, why, price, and 400 days as a calendar', async () => {
  const { page, shots, faults } = await signedIn(gateway.adminToken);
  await page.getByRole('heading', { level: 1, name: 'Cache' }).waitFor();
  const hits = page.getByRole('list', { name: 'Hits by endpoint' });
  await expect
    .poll(() => hits.getByRole('listitem').allTextContents())
    .toEqual(['campaigns/get0 % of 3 reports']);
  const biggest = page.getByRole('list', { name: 'Biggest in memory' });
  await expect
    .poll(() => biggest.getByRole('listitem').allTextContents())
    .toEqual([expect.stringMatching(/^campaigns\/get, .+ \(1\)\d.* KiB, stale$/)]);
  await page.getByText('since the start of the process').waitFor();
  await shots('console-cache-lead');
  await page.evaluate('scrollTo(0, 9999)');
  const address = page.getByRole('textbox', { name: /^URL of a report/ });
  await address.fill(`https://dsp.example${reportOf(1, daysBefore(today, 399), today)}`);
  await address.press('Enter');
  await page.getByText(/^Cached by day: as configured/).waitFor();
  await page.getByText('2 platform calls', { exact: true }).waitFor();
  expect(await page.evaluate('scrollY')).toBe(0);
  await page.getByText(/^GET \/api\/v1\/report\/campaigns\/get\?advertiserId=1&byDate=1/).waitFor();
  const days = page.getByRole('group', { name: /^Days/ }).getByRole('button');
  expect(await days.count()).toBe(400);
  const inLegend = await page.locator('.legend strong').allTextContents();
  expect(inLegend).toEqual(['386 final', '3 fresh', '2 stale', '9 missing']);
  const dayOf = (ago: number) => page.locator(`[data-date="${daysBefore(today, ago)}"]`);
  // By mark as well as by colour.
  for (const [ago, mark] of [
    [399, '✓'],
    [95, '×'],
    [3, '•'],
    [0, '~'],
  ] as const)
    expect(await dayOf(ago).textContent()).toContain(mark);
  await page.getByRole('img', { name: /^Share of days that changed later/ }).waitFor();
  await page.getByRole('button', { name: 'Show table' }).first().click();
  await page.getByRole('columnheader', { name: 'Age of the day' }).waitFor();
  await page.getByRole('button', { name: 'Show chart' }).click();
  await shots('console-cache');
  // One stop for Tab, arrows within.
  expect(await page.locator('.calendar [tabindex="0"]').count()).toBe(1);
  await dayOf(0).focus();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await expect.poll(() => page.evaluate('document.activeElement.dataset.date')).toBe(daysBefore(today, 4));
  await page.getByText(`${daysBefore(today, 4)} fresh 1 row as of`).waitFor();
  await page.keyboard.press('Home');
  await expect.poll(() => page.evaluate('document.activeElement.dataset.date')).toBe(daysBefore(today, 399));
  // The address can be sent: whoever opens it sees the same.
  await page.reload();
  await page.getByText('2 platform calls', { exact: true }).waitFor();
  expect(faults).toEqual([]);
});

it('previews what would be forgotten, asks, and forgets it', async () => {
  const { page, shots, faults, forgive } = await signedIn(gateway.adminToken);
  const [from, to] = [daysBefore(today, 60), daysBefore(today, 51)];
  await page
    .getByRole('textbox', { name: /^URL of a report/ })
    .fill(reportOf(1, from, to).replace('/api/v1/report/', ''));
  await page.getByRole('button', { name: 'Explain' }).click();
  await page.getByText('0 platform calls', { exact: true }).waitFor();
  await expect.poll(() => page.getByLabel('Advertiser id').inputValue()).toBe('1');
  await expect.poll(() => page.getByLabel('From day').inputValue()).toBe(from);
  await page.getByLabel('To day').fill(daysBefore(today, 61));
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('must not be before from').waitFor();
  forgive();
  await page.getByLabel('To day').fill(to);
  await page.getByRole('button', { name: 'Preview' }).click();
  const preview = page.getByRole('status', { name: 'Preview' });
  await preview.getByText(/10 entries with 10 rows in/).waitFor();
  await preview.getByText(`advertiser 1, endpoint campaigns/get, days ${from} to ${to}`).waitFor();
  await shots('console-cache-preview');
  const explained = async () =>
    admin<{ price: { calls: number } }>(
      gateway,
      'GET',
      `/cache/explain?url=${encodeURIComponent(reportOf(1, from, to))}`,
    );
  await preview.getByText(/Both cost at least 1 platform call, when the reports are requested/).waitFor();
  await page.getByRole('button', { name: 'Mark as stale' }).click();
  await page.getByText('Stale now. The next request starts a refresh.').waitFor();
  await page.getByText('10 stale', { exact: true }).waitFor();
  expect((await explained()).price).toEqual({ calls: 0, behind: 1 });
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByRole('button', { name: 'Purge' }).click();
  await shots('console-cache-forget');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  expect((await explained()).price.calls).toBe(0);
  await page.getByRole('button', { name: 'Purge' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Purge' }).click();
  await page.getByText('Purged. The next request calls the platform.').waitFor();
  await page.getByText('1 platform call', { exact: true }).waitFor();
  await expect.poll(() => page.locator('.legend strong').allTextContents()).toContain('10 missing');
  expect((await explained()).price.calls).toBe(1);
  // A refresh is charged to the gateway, which has no page of its own as teams have.
  const { key } = await newTeam(gateway, { id: 'later', name: 'Later' });
  const read = () => ask(gateway.data + reportOf(1, from, to), { key });
  await read();
  await admin(gateway, 'POST', '/cache/purge', { advertiserId: 1, soft: true });
  await read();
  await page.goto(`${gateway.admin}/#/overview?range=30d`);
  await page.getByRole('link', { name: 'Later' }).waitFor();
  await page.getByText('the gateway itself').waitFor();
  expect(await page.getByRole('link', { name: 'the gateway itself' }).count()).toBe(0);
  expect(faults).toEqual([]);
});

it('says what is wrong with an address, and how a report without days is kept', async () => {
  const { page, shots, forgive } = await signedIn(gateway.adminToken);
  const address = page.getByRole('textbox', { name: /^URL of a report/ });
  await address.fill('https://dsp.example/<img src=x onerror=alert(1)>');
  await address.press('Enter');
  await page.getByRole('alert').filter({ hasText: 'must be the URL of a report' }).waitFor();
  await shots('console-cache-wrong');
  forgive();
  await address.fill(`${REPORT}?advertiserId=2&dateFrom=${today}&dateTo=${today}`);
  await address.press('Enter');
  await page.getByText(/^Cached as one period/).waitFor();
  await page.getByText('Not cached.').waitFor();
  await shots('console-cache-whole');
});

it('shows a viewer what was learned of an advertiser, and nothing to forget', async () => {
  const { page, shots, faults } = await signedIn(VIEWER);
  await page.getByRole('combobox', { name: /^Advertiser/ }).selectOption('1');
  await expect.poll(() => page.url()).toContain('#/cache?advertiser=1');
  const curves = page.getByRole('region', {
    name: 'When days stop changing, and whether they were served right',
  });
  await curves.waitFor();
  await expect.poll(() => curves.getByText('Loading').count()).toBe(0);
  expect(await curves.getByRole('alert').count()).toBe(0);
  await page.getByText('is always cached by day, as configured').waitFor();
  for (const name of ['Preview', 'Purge']) expect(await page.getByRole('button', { name }).count()).toBe(0);
  await shots('console-cache-learned');
  expect(faults).toEqual([]);
});

it('shows which kinds are cached by day and which are not known yet, and curves of what was just seen', async () => {
  const { inside: learned, gateway: planes } = await openGateway();
  const team = await learned.addTeam();
  await prove(learned, team);
  const asked = 'advertiserId=1&byDate=1&dateFrom=2026-11-14&dateTo=2026-11-20';
  await learned.report(team, asked);
  // Of another kind no day has rows: nothing can be compared.
  await learned.report(
    team,
    'advertiserId=1&byDate=1&byCampaign=1&campaignIds=999999&dateFrom=2026-11-04&dateTo=2026-11-12',
  );
  await learned.services.settled();
  learned.clock.advance(8 * 24 * HOUR);
  await learned.report(team, asked);
  await learned.services.settled();
  const { page, shots, faults } = await signIn(
    `${planes.admin}/#/cache?advertiser=1`,
    'Admin token',
    planes.adminToken,
  );
  const kinds = page.getByRole('region', { name: 'Kinds of reports' });
  for (const state of ['yes, proven', 'not proven yet'])
    await kinds.getByRole('cell', { name: state, exact: true }).waitFor();
  await page.getByRole('img', { name: /^Share of days that changed later/ }).waitFor();
  await page.getByRole('img', { name: /^Days that were fetched again/ }).waitFor();
  await shots('console-cache-kinds');
  expect(faults).toEqual([]);
});
