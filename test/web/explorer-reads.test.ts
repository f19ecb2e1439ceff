/** What an analyst reads and does in the explorer: comparisons, filters, order and words of its tables. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { parseCsv } from '../../src/web/explorer/join-csv.js';
import { ask, newTeam, REPORT } from '../support/ask.js';
import type { OpenGateway } from '../support/open-gateway.js';
import { tempFolder } from '../support/processes.js';
import { openPages, signedIn } from './people.js';

let gateway: OpenGateway['gateway'];
let inside: OpenGateway['inside'];
let key: string;

beforeAll(async () => {
  ({ gateway, inside } = await openPages());
  ({ key } = await newTeam(gateway, { id: 'readers', scopes: ['report:read'] }));
});

const explorer = (query: string) =>
  signedIn(
    `${gateway.data}/explorer#/report?endpoint=campaigns%2Fget&advertiserId=1&${query}`,
    'Team key',
    key,
  );

it('a person who compares today reads that its day is still being completed, and downloads the comparison', async () => {
  const { page, faults } = await explorer('byDate=1&byCampaign=1&_period=today&against=previous');
  const card = page.getByRole('region', { name: /^Compared with / });
  await card.getByText(/^1 of 1 day of this period .* still being completed/).waitFor();
  const download = page.waitForEvent('download');
  await card.getByRole('button', { name: 'Download this comparison (CSV)' }).click();
  expect((await download).suggestedFilename()).toMatch(/^campaigns_1_([\d-]+)_\1_compared_([\d-]+)_\2\.csv$/);
  const path = join(await tempFolder(), 'compared.csv');
  await (await download).saveAs(path);
  const [head = [], ...lines] = parseCsv((await readFile(path, 'utf8')).replace('\ufeff', ''));
  const [, now = '', before = ''] =
    /_1_([\d-]+)_.*_compared_([\d-]+)_/.exec((await download).suggestedFilename()) ?? [];
  expect(head.slice(0, 3)).toEqual(['Group', `Impressions ${now}`, `Impressions ${before}`]);
  expect(lines.at(-1)?.[0]).toBe('Total');
  await page.getByRole('combobox', { name: /^Period/ }).selectOption('yesterday');
  await page.waitForURL(/_period=yesterday/);
  await card.getByText(', compared with').waitFor();
  // Of one group of all rows the total says the same.
  await page.getByRole('checkbox', { name: 'Campaign' }).uncheck();
  const changes = card.getByRole('region', { name: 'Changes by group' }).locator(':is(tbody, tfoot) tr');
  await expect.poll(async () => (await changes.allInnerTexts()).join()).toMatch(/^Total\s[^,]*[\d,.]+/);
  expect(await changes.count()).toBe(1);
  expect(faults).toEqual([]);
});

it('a person who compares days that are still being completed reads how many, and compares final days only', async () => {
  const { page, axe, faults } = await explorer('byDate=1&byCampaign=1&_period=last_30_days&against=previous');
  const card = page.getByRole('region', { name: /^Compared with / });
  const note = card.getByText(
    /^\d of 30 days of this period are still being completed, so the difference may only be that\.$/,
  );
  await note.waitFor();
  const open = Number.parseInt((await note.textContent()) ?? '', 10);
  expect(await axe()).toEqual([]);
  const calls: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/api/')) calls.push(request.url());
  });
  await card.getByRole('button', { name: 'Compare final days only' }).click();
  await card
    .getByText(`Final days only: without the last ${open} days of this period and those beside them.`)
    .waitFor();
  await page.waitForURL(/finals=1/);
  await page.getByRole('region', { name: /^Compared with .*, final days only$/ }).waitFor();
  await card.getByRole('button', { name: 'Show table' }).click();
  const lines = card.getByRole('region', { name: /in both periods$/ }).locator('tbody tr');
  await expect.poll(() => lines.count()).toBe(30 - open);
  expect(calls).toEqual([]);
  const told = await card.getByText(/^Impressions: [\d,]+ in this period; /).textContent();
  expect(told).toContain(`Impressions: ${await card.locator('.figures dd').first().textContent()} in`);
  await card.getByRole('button', { name: 'Compare all days' }).click();
  await note.waitFor();
  await page.getByRole('checkbox', { name: 'Date' }).uncheck();
  await card
    .getByText(/^Some days are still being completed, .* With one row per date, final days can be compared/)
    .waitFor();
  expect(await card.getByRole('button', { name: 'Compare final days only' }).count()).toBe(0);
  expect(faults).toEqual([]);
});

it('a person whose filter is not understood reads which part, and what to write; the rows come with what is understood', async () => {
  const { page, axe, faults } = await explorer(
    'byDate=1&byCampaign=1&_period=last_7_days&filter=klicks%3E10',
  );
  await page
    .getByText(/^No column is called “klicks”: did you mean Clicks\? Columns are .*Clicks.*CTR/)
    .waitFor();
  await page.getByText('The filter is not understood, so no rows are shown. Correct it above.').waitFor();
  expect(await axe()).toEqual([]);
  // With columns of the table.
  const example = page.getByText(
    'Text or conditions: Date >= 2026-11-20 and Impressions between 10 and 999 and Campaign name in "A", "B" and not Campaign name contains brand',
  );
  await example.waitFor();
  await page.getByRole('group', { name: 'By' }).getByRole('button', { name: 'Week' }).click();
  await page.getByLabel('Filter').fill('Date >= 2020-11-10 and "2"');
  await page
    .getByText(/^Understood: Date ≥ 2020-11-10 and “2”\. A week counts by its first day\. Only/)
    .waitFor();
  await page.getByLabel('Filter').fill('Clicks > 1,000,000,000 and CTR >= 0.5%');
  await page.getByText('No row matches the filter.', { exact: true }).waitFor();
  expect(await page.getByText('not understood').count()).toBe(0);
  await page.getByLabel('Filter').fill('Impressions > 1 and CTR >= 0.001% and spent > $0');
  await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
  expect(faults).toEqual([]);
});

it('a week says that its people have no sum', async () => {
  const { page } = await explorer('byDate=1&_period=last_30_days&by=week&metric=reach');
  const table = page.getByRole('region', { name: 'Rows of the report' });
  await table.locator('tbody').getByText('no sum', { exact: true }).first().waitFor();
  expect(await table.locator('tbody td').filter({ hasText: /^$/ }).count()).toBe(0);
});

it('campaigns without days have the largest of the charted measure first', async () => {
  const { page } = await explorer('byCampaign=1&_period=last_30_days&metric=clicks');
  const table = page.getByRole('region', { name: 'Rows of the report' });
  await table.waitFor();
  const head = table.getByRole('columnheader', { name: 'Clicks' });
  expect(await head.getAttribute('aria-sort')).toBe('descending');
  const heads = await table.getByRole('columnheader').allInnerTexts();
  const place = heads.findIndex((text) => text.startsWith('Clicks'));
  const cells = await table.locator(`tbody td:nth-child(${place + 1})`).allInnerTexts();
  const clicks = cells.map((text) => Number(text.replaceAll(',', '')));
  expect(clicks.length).toBeGreaterThan(1);
  expect(clicks).toEqual(clicks.toSorted((a, b) => b - a));
});

it('an advertiser without a name is a chip with its id once', async () => {
  const { page } = await explorer('byDate=1&_period=last_7_days');
  await page.getByText('Several advertisers together').click();
  await page.getByLabel('Another advertiser').fill('4711');
  await page.getByLabel('Another advertiser').press('Enter');
  expect((await page.locator('.chip').textContent())?.replaceAll(/\s+/g, ' ')).toMatch(
    /^Advertiser 4711 ?×$/,
  );
});

it('my access says in words what a scope allows', async () => {
  const { page } = await signedIn(`${gateway.data}/explorer#/access`, 'Team key', key);
  const scopes = page.getByRole('region', { name: 'Scopes' }).getByRole('listitem');
  await expect
    .poll(() => scopes.allInnerTexts())
    .toEqual(['Reads reports, from the cache if possible. report:read']);
});

it('the documentation of the explorer opens with the page for its readers', async () => {
  const { page } = await explorer('byDate=1&_period=last_7_days');
  await page.getByRole('link', { name: 'Documentation' }).click();
  await page.getByRole('heading', { name: 'Explorer', level: 1 }).waitFor();
  expect(page.url()).toBe(`${gateway.data}/docs/explorer`);
});

it('a person reads by how much totals of the platform differ from the sums of rows that were fetched before late data', async () => {
  const query = 'byDate=1&byCampaign=1&dateFrom=2026-01-01&dateTo=2026-01-06';
  await ask(`${gateway.data}${REPORT}?advertiserId=1&${query}`, { key });
  await inside.services.settled();
  inside.simulator.restate({ advertiserId: 1, from: '2026-01-01', to: '2026-01-06' });
  const { page, faults } = await explorer(query);
  await page.getByText(/are not the sums of the rows: impressions \d+ instead of \d+,.* Both were/).waitFor();
  // Days that were not changed; those above may come from the cache again.
  await page.goto(page.url().replace('dateFrom=2026-01-01', 'dateFrom=2026-01-08').replace('01-06', '01-12'));
  await page.getByRole('heading', { name: /Jan 8 – 12, 2026/ }).waitFor();
  await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
  await expect.poll(() => page.getByText('are not the sums of the rows').count()).toBe(0);
  expect(faults).toEqual([]);
});

it.each([
  ['has 2 rows instead of one', 'Totals of the platform do not fit these rows.'],
  ['was refused by the platform with status 400', 'The platform refused to give totals of this report.'],
])(
  'a person whose report without a split %s reads that there are no totals, and that sums of the rows are shown, none of people',
  async (why, told) => {
    const { page, shots, faults } = await signedIn(`${gateway.data}/explorer#/access`, 'Team key', key);
    await page.route('**/api/v1/report/**', async (route) => {
      const response = await route.fetch();
      const { data, meta } = await response.json();
      const warnings = [
        {
          code: 'totals_unavailable',
          message: `meta.totals is missing: the platform's unsplit report of this period ${why}.`,
        },
      ];
      await route.fulfill({ response, json: { data, meta: { ...meta, totals: undefined, warnings } } });
    });
    onTestFinished(() => page.unrouteAll());
    const query = 'endpoint=campaigns%2Fget&advertiserId=1&byDate=1&byCampaign=1&_period=last_7_days';
    await page.goto(`${gateway.data}/explorer#/report?${query}`);
    await page.getByText(`${told} Sums of the rows are shown`).waitFor();
    expect(await page.getByText('meta.totals').count()).toBe(0);
    const table = page.getByRole('region', { name: 'Rows of the report' });
    const heads = await table.getByRole('columnheader').allInnerTexts();
    const foot = await table.locator('tfoot tr').locator('th, td').allInnerTexts();
    const of = (title: string) => foot[heads.findIndex((head) => head.startsWith(title))];
    expect(foot[0]).toBe('Sum of rows');
    expect([of('Clicks'), of('CTR'), of('Reach')]).toEqual([
      expect.stringMatching(/^[\d,]+$/),
      expect.stringMatching(/^[\d.]+%$/),
      'no sum',
    ]);
    const figures = await page.locator('dl.figures dt').allInnerTexts();
    expect([figures.includes('Clicks'), figures.includes('Reach')]).toEqual([true, false]);
    await shots('explorer-no-totals');
    expect(faults).toEqual([]);
  },
);
