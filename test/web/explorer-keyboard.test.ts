/** The explorer for people who use no mouse, do not see the colours, or hold a phone. */
import type { Locator, Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { newTeam } from '../support/ask.js';
import { visit } from '../support/browser.js';
import type { OpenGateway } from '../support/open-gateway.js';
import { openPages, signedIn } from './people.js';

let gateway: OpenGateway['gateway'];
let key: string;

beforeAll(async () => {
  ({ gateway } = await openPages({ switches: { accountNames: 'plain' } }));
  const team = { advertisers: [1, 2, 3], scopes: ['report:read', 'report:pin'] };
  ({ key } = await newTeam(gateway, { id: 'keys', ...team }));
});

const WEEK = '#/report?endpoint=campaigns%2Fget&advertiserId=1&byDate=1&byCampaign=1&_period=last_7_days';
const explorer = (hash = '') => `${gateway.data}/explorer${hash}`;

/** More than a page has. */
const MOST_TABS = 80;

/** Whether the focus is seen: inside of the window, with an outline. */
const FOCUS_IS_SEEN = `(() => {
  const one = document.activeElement;
  // Between the last and the first stop.
  if (one === document.body) return true;
  const { top, bottom, width } = one.getBoundingClientRect();
  const { outlineStyle, outlineWidth } = getComputedStyle(one);
  return width > 0 && bottom > 0 && top < innerHeight && outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2;
})()`;

/** Goes there by the tab key alone; wherever it stops on the way, the focus is seen. */
async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
    await page.keyboard.press('Tab');
    const seen = await page.evaluate<boolean>(FOCUS_IS_SEEN);
    const at = await page.evaluate<string>('document.activeElement.outerHTML.slice(0, 120)');
    expect(`${seen ? 'seen' : 'not seen'}: ${at}`).toBe(`seen: ${at}`);
    if (await target.evaluate((one) => one === one.ownerDocument.activeElement)) return;
  }
  throw new Error('The tab key does not lead there.');
}

it('a person without a mouse signs in, asks for another report, compares, downloads and pins it', async () => {
  const { page, faults } = await visit(explorer());
  const { keyboard } = page;
  await tabTo(page, page.getByLabel('Team key'));
  await keyboard.type(key);
  await keyboard.press('Enter');
  const table = page.getByRole('region', { name: 'Rows of the report' });
  await table.waitFor();
  await tabTo(page, page.getByRole('combobox', { name: /^Advertiser/ }));
  await keyboard.type('2');
  await keyboard.press('Enter');
  await page.waitForURL(/advertiserId=2/);
  await tabTo(page, page.getByRole('checkbox', { name: 'Campaign' }));
  await keyboard.press('Space');
  await page.waitForURL((url) => !url.hash.includes('byCampaign'));
  await tabTo(page, page.getByRole('combobox', { name: 'Compare with' }));
  await keyboard.press('ArrowDown');
  await page.getByRole('heading', { name: /^Compared with/ }).waitFor();
  await tabTo(page, page.getByRole('button', { name: 'Week' }));
  await keyboard.press('Enter');
  await expect.poll(() => table.locator('tbody tr').first().textContent()).toMatch(/^Week \d+/);
  await tabTo(page, page.getByRole('button', { name: 'CSV: this table as shown' }));
  const download = page.waitForEvent('download');
  await keyboard.press('Enter');
  expect((await download).suggestedFilename()).toMatch(/table_week\.csv$/);
  await tabTo(page, page.getByRole('button', { name: 'Pin this report' }));
  await keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Pin this report' });
  await tabTo(page, dialog.getByRole('button', { name: 'Pin', exact: true }));
  await keyboard.press('Enter');
  await tabTo(page, dialog.getByRole('link', { name: 'See all pins' }));
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: '1 pin of' }).waitFor();
  await tabTo(page, page.getByRole('link', { name: 'Pinned rows' }));
  await keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Pinned rows' }).waitFor();
  expect(faults).toEqual([]);
});

it('a person who opens the fields of days and times, what changed and the tools finds them named and readable', async () => {
  const { page, faults, shots } = await signedIn(explorer(WEEK), 'Team key', key);
  await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
  await page.getByRole('combobox', { name: 'Period' }).selectOption('Custom …');
  await page.getByRole('combobox', { name: 'Compare with' }).selectOption('custom');
  await page.getByText('Several advertisers together').click();
  await page.getByRole('button', { name: 'What changed' }).click();
  await page.getByText('Between two moments').click();
  await page.getByLabel('From (UTC)').waitFor();
  await shots('explorer-opened');
  expect(faults).toEqual([]);
});

it('a person on a phone reads the totals on the first screen', async () => {
  const { page, faults } = await signedIn(explorer(WEEK), 'Team key', key);
  const spent = page.getByRole('term').filter({ hasText: 'Spent' });
  await spent.waitFor();
  await page.setViewportSize({ width: 390, height: 664 });
  await page.getByRole('button', { name: 'Change', exact: true }).waitFor();
  await page.evaluate('scrollTo(0, 0)');
  const box = await spent.boundingBox();
  expect(box?.y).toBeLessThan(620);
  expect(faults).toEqual([]);
});
