/** A report of 100,000 rows in the explorer: the first are shown, sorting and filtering reach all. */
import { expect, it } from 'vitest';
import { newTeam } from '../support/ask.js';
import { startGateway } from '../support/processes.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { signedIn } from './people.js';

const DAYS = 100;
const CAMPAIGNS = 1000;
const ROWS = DAYS * CAMPAIGNS;

const FIRST = Date.parse('2026-01-01');
const dayAt = (index: number) => new Date(FIRST + index * 86_400_000).toISOString().slice(0, 10);

function largeReport(): string {
  const rows = Array.from({ length: ROWS }, (_, index) => ({
    date: dayAt(Math.floor(index / CAMPAIGNS)),
    campaign_id: (index % CAMPAIGNS) + 1,
    campaign_name: `Campaign ${(index % CAMPAIGNS) + 1}`,
    impressions: index,
  }));
  return JSON.stringify({ data: rows });
}

it('shows the first 5,000 of 100,000 rows and says so, and sorts and filters all', async () => {
  const body = largeReport();
  const platform = await startRawPlatform((request, response) => {
    // The unsplit report beside it has one row.
    const isSplit = (request.url ?? '').includes('byDate');
    sends(isSplit ? body : JSON.stringify({ data: [{ impressions: 1 }] }))(request, response);
  });
  const gateway = await startGateway({ PLATFORM_BASE_URL: platform.url, PLATFORM_TOKEN: platform.token });
  const { key } = await newTeam(gateway, { id: 'large' });
  const query = `advertiserId=1&byDate=1&byCampaign=1&dateFrom=${dayAt(0)}&dateTo=${dayAt(DAYS - 1)}`;
  const { page, faults, axe } = await signedIn(`${gateway.data}/explorer#/report?${query}`, 'Team key', key);
  const rows = page.getByRole('region', { name: 'Rows of the report' });
  await rows.waitFor();
  await page.getByText('100,000 rows; the first 5,000 are shown, CSV has all').waitFor();
  expect(await page.getByRole('link', { name: 'CSV', exact: true }).count()).toBe(1);
  expect(await page.locator('tr.line').count()).toBe(5000);
  // Those that are far away are not laid out, and yet have their place.
  expect(await page.evaluate("document.querySelector('.grid-frame').scrollHeight")).toBeGreaterThan(
    5000 * 35,
  );
  await page.evaluate("document.querySelector('.grid-frame').scrollTop = 1e9");
  await page.getByText('4,999', { exact: true }).waitFor();
  await rows.getByRole('button', { name: 'Impressions' }).click();
  await page.getByText('99,999', { exact: true }).waitFor();
  await page.getByLabel('Filter').fill('impressions>99899');
  await page.getByText('100 of 100,000 rows').waitFor();
  expect(await axe()).toEqual([]);
  expect(faults).toEqual([]);
});
