/** The explorer before a real gateway: a report as somebody asks for it, and what became of it. */
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { newTeam } from '../support/ask.js';
import { type Gateway, startGateway, startPlatform } from '../support/processes.js';
import { signedIn } from './people.js';

let gateway: Gateway;
let key: string;

beforeAll(async () => {
  const platform = await startPlatform({ switches: { accountNames: 'hostile' } });
  gateway = await startGateway(platform.env);
  const scopes = ['report:read', 'report:pin', 'cache:refresh'];
  ({ key } = await newTeam(gateway, { id: 'growth', name: '<img src=x onerror=alert(1)>', scopes }));
});

const explorer = (hash = '') => `${gateway.data}/explorer${hash}`;
const MONTH = '#/report?endpoint=campaigns%2Fget&advertiserId=1&byDate=1&byCampaign=1&_period=last_30_days';

/** @returns the texts that are wider than their cells, and the table when it is wider than its frame */
const cutOff = (page: Page) =>
  page.evaluate<string[]>(`
    [...document.querySelectorAll('.grid-frame, .grid-table :is(.line td, th, tfoot td)')]
      .filter((one) => one.scrollWidth > one.clientWidth)
      .map((one) => one.textContent.slice(0, 50))
  `);

describe('a report', () => {
  it('is asked for by a form, and comes as chart and rows with its true totals', async () => {
    const seen = await signedIn(explorer(), 'Team key', key);
    const { page, faults } = seen;
    await page.getByRole('combobox', { name: /^Advertiser/ }).fill('1');
    await page.getByRole('button', { name: 'Show the report' }).click();
    await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
    await page.getByRole('img', { name: 'Impressions by day' }).waitFor();
    expect(page.url()).toContain('advertiserId=1&byDate=1&byCampaign=1&_period=last_30_days');
    await page.getByText('provisional: the platform is still completing').waitFor();
    await page.getByText(/Reach counts people/).waitFor();
    expect(await cutOff(page)).toEqual([]);
    await seen.shots('explorer-report');
    await page.getByRole('button', { name: 'Spent' }).click();
    await page.waitForURL(/sort=-spent/);
    await page.getByLabel('Filter').fill('clicks>10');
    await page.getByText(/^\d+ of \d+ rows$/).waitFor();
    await page.getByRole('rowheader', { name: /^Sum of/ }).waitFor();
    await page.getByLabel('Measure').selectOption('reach');
    await page.getByText(/lines stand side by side/).waitFor();
    // The latest days first: their tags need room, too.
    await page.getByRole('button', { name: 'Date' }).dblclick();
    await page.waitForURL(/sort=-date/);
    expect(await cutOff(page)).toEqual([]);
    await seen.shots('explorer-filtered');
    expect(faults).toEqual([]);
  });

  it('that was sent as an address asks for the key first, and then is shown', async () => {
    const { page, faults } = await signedIn(explorer(`${MONTH}&sort=-clicks`), 'Team key', key);
    await page.getByRole('columnheader', { name: /Clicks/ }).waitFor();
    expect(await page.getByRole('columnheader', { name: /Clicks/ }).getAttribute('aria-sort')).toBe(
      'descending',
    );
    expect(faults).toEqual([]);
  });
});
