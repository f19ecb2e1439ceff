/** The documentation on a phone, and the API reference, as a browser shows them. */
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { newTeam } from '../support/ask.js';
import { visit } from '../support/browser.js';
import { openGateway } from '../support/open-gateway.js';

/** What a reader of a phone sees of each table: all of it, or a shade where it goes on. */
async function tablesOn(page: Page) {
  return await page.locator('.table').evaluateAll((all) =>
    all.map((one) => {
      const { backgroundAttachment, overflowX } = getComputedStyle(one);
      const isShaded = backgroundAttachment === 'local, local, scroll, scroll' && overflowX === 'auto';
      return { fits: one.scrollWidth <= one.clientWidth + 1, isShaded };
    }),
  );
}

it('a page of the documentation fits a phone: a table that does not is shaded where it goes on', async () => {
  const { gateway } = await openGateway();
  const { page } = await visit(`${gateway.data}/docs`);
  await page.setViewportSize({ width: 390, height: 844 });
  for (const name of ['decide', 'contract', 'settings', 'performance', 'errors']) {
    await page.goto(`${gateway.data}/docs/${name}`);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    const tables = await tablesOn(page);
    expect(tables.length).toBeGreaterThan(0);
    expect(tables.filter(({ fits, isShaded }) => !fits && !isShaded)).toEqual([]);
    // Long names of settings and calls break; columns of words stand below each other.
    if (['decide', 'contract', 'settings'].includes(name))
      expect(tables.every(({ fits }) => fits)).toBe(true);
  }
});

it('the head of a page has all its links in one line on a phone', async () => {
  const { gateway } = await openGateway();
  const { page } = await visit(`${gateway.data}/docs`);
  for (const width of [360, 390]) {
    await page.setViewportSize({ width, height: 844 });
    await page.goto(`${gateway.data}/docs/decide`);
    const tops = await page
      .locator('header a')
      .evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().top / 20)));
    expect([width, tops.length, new Set(tops).size]).toEqual([width, 5, 1]);
  }
});

it('the sums of what the gateway costs are lists, which fit a phone without breaking words', async () => {
  const { gateway } = await openGateway();
  const { page } = await visit(`${gateway.data}/docs/costs`);
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.locator('pre').count()).toBe(0);
  const terms = page.locator('main li', { hasText: /× (days|365|price)|price of/ });
  const cut = await terms.evaluateAll((all) =>
    all.map((one) => [one.scrollWidth > one.clientWidth, getComputedStyle(one).overflowWrap]),
  );
  expect(cut.length).toBeGreaterThanOrEqual(6);
  expect(cut.filter(([isCut, wrap]) => isCut || wrap === 'anywhere')).toEqual([]);
});

it('a link to a heading shows it below the head of the page, on a phone too', async () => {
  const { gateway } = await openGateway();
  const { page } = await visit(`${gateway.data}/docs`);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${gateway.data}/docs/costs#when-it-pays`);
  const [head, heading] = [
    await page.locator('header').boundingBox(),
    await page.locator('#when-it-pays').boundingBox(),
  ];
  expect(heading?.y).toBeGreaterThanOrEqual(head?.height ?? Number.POSITIVE_INFINITY);
});

it('the API reference takes a key in one field, and shows no example of each error', async () => {
  const { gateway } = await openGateway();
  const { key } = await newTeam(gateway, { id: 'growth', advertisers: [1] });
  for (const [url, entered] of [
    [gateway.admin, gateway.adminToken],
    [gateway.data, key],
  ] as const) {
    const { page } = await visit(`${url}/docs/api`);
    await page.getByRole('button', { name: 'Authorize' }).click();
    expect(await page.locator('.auth-container').count()).toBe(1);
    const focused = page.locator('.auth-container input:focus');
    await focused.fill(entered);
    await focused.press('Enter');
    await page.getByRole('button', { name: 'Close' }).last().click();
    if (url !== gateway.data) continue;
    await page.locator('.opblock-summary', { hasText: '/gateway/v1/me' }).click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.getByRole('button', { name: 'Execute' }).click();
    expect(await page.locator('.live-responses-table .response-col_status').nth(1).textContent()).toBe('200');
    const codes = await page.locator('tr[data-code]:has(.model-example:visible)').evaluateAll(codesOf);
    expect(codes).toEqual(['200', 'default']);
    await page.locator('.opblock-summary-get', { hasText: '/api/v1/report/campaigns/get' }).click();
    const options = page.locator('tr[data-param-name="byDate"] option:not([value=""])');
    await expect.poll(() => options.allTextContents()).toEqual(['1', 'true', '0', 'false']);
  }
});

const codesOf = (rows: readonly Element[]) => rows.map((row) => row.getAttribute('data-code'));

it('the API reference begins with a call at the address that the reader has, and leads to First steps', async () => {
  const { gateway } = await openGateway();
  const { page } = await visit(`${gateway.data}/docs/api`);
  expect(await page.locator('.first code').textContent()).toBe(
    `curl -s -H "x-api-key: $KEY" ${gateway.data}/gateway/v1/me`,
  );
  await page.getByRole('link', { name: 'First steps' }).click();
  expect(await page.locator('h1').textContent()).toBe('First steps for app teams');
  await page.getByRole('link', { name: 'API reference' }).first().click();
  await page.waitForURL('**/docs/api');
  await page.getByRole('searchbox').fill('pentest');
  await page.getByRole('searchbox').press('Enter');
  await page.waitForURL('**/docs/search?q=pentest');
});
