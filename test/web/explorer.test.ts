/** The explorer before a gateway: a report as somebody asks for it, what opens beside it, pins, and what a team may do. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseCsv } from '../../src/web/explorer/join-csv.js';
import { admin, ask, newTeam, REPORT } from '../support/ask.js';
import { visit } from '../support/browser.js';
import type { OpenGateway } from '../support/open-gateway.js';
import { tempFolder } from '../support/processes.js';
import { rule } from '../support/scene.js';
import { expectCopied, openPages, signedIn } from './people.js';

const HOSTILE = '"><img src=x onerror=alert(1)> =1+1';
const QUERY = 'advertiserId=1&byDate=1&_period=last_7_days';

let gateway: OpenGateway['gateway'];
/** Of a team that may do everything here, of one that sees two advertisers, and of one that only reads. */
let key: string;
let limited: string;
let reader: string;

beforeAll(async () => {
  ({ gateway } = await openPages());
  const scopes = ['report:read', 'report:pin', 'cache:refresh'];
  ({ key } = await newTeam(gateway, { id: 'growth', name: '<img src=x onerror=alert(1)>', scopes }));
  const team = { scopes: ['report:read', 'report:pin'], advertisers: [1, 2] };
  ({ key: limited } = await newTeam(gateway, { id: 'limited', ...team }));
  ({ key: reader } = await newTeam(gateway, { id: 'reader', advertisers: [1], scopes: ['report:read'] }));
});

const explorer = (hash = '') => `${gateway.data}/explorer${hash}`;
const CAMPAIGNS = '#/report?endpoint=campaigns%2Fget&advertiserId=1&byDate=1';
const MONTH = `${CAMPAIGNS}&byCampaign=1&_period=last_30_days`;

/** @returns the texts that are wider than their cells; a table wider than its frame scrolls */
const cutOff = (page: Page) =>
  page.evaluate<string[]>(`
    [...document.querySelectorAll('.grid-table :is(.line td, th, tfoot td)')]
      .filter((one) => one.scrollWidth > one.clientWidth)
      .map((one) => one.textContent.slice(0, 50))
  `);

/** @returns how much of the height of a chart of lines is drawn at its first and last time: all where it is shaded */
const drawnShare = (page: Page) =>
  page.evaluate<{ first: number; last: number }>(`(() => {
    const [canvas, over] = ['canvas', '.u-over'].map((one) => document.querySelector('.uplot ' + one));
    const { width, height, data } = canvas.getContext('2d').getImageData(0, over.offsetTop, canvas.width, over.offsetHeight);
    const shareAt = (x) =>
      Array.from({ length: height }, (_, y) => data[4 * (y * width + x) + 3]).filter((alpha) => alpha > 0).length / height;
    return { first: shareAt(over.offsetLeft + 3), last: shareAt(over.offsetLeft + over.offsetWidth - 3) };
  })()`);

describe('the first screen', () => {
  it('has the last 30 days of an advertiser of the team, asked for once; names lead', async () => {
    const { page, faults } = await visit(explorer());
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(new URL(request.url()).pathname));
    await page.getByLabel('Team key').fill(limited);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
    const period = /\w{3} \d+(, \d{4})? – (\w{3} )?\d+, \d{4}$/;
    await page.getByRole('heading', { name: new RegExp(`^Campaigns · .+ · ${period.source}`) }).waitFor();
    expect(page.url()).toMatch(/advertiserId=[12]&byDate=1&byCampaign=1&_period=last_30_days$/);
    expect(asked.filter((path) => path === REPORT)).toHaveLength(1);
    const field = page.getByRole('combobox', { name: /^Advertiser/ });
    await page.getByText(/^Id [12]$/).waitFor();
    expect(await field.inputValue()).not.toMatch(/^\d*$/);
    expect(await page.locator('option', { hasText: /^Campaigns$/ }).count()).toBe(1);
    expect(faults).toEqual([]);
  });

  it('says of a key that is not known what to do, in words of the page', async () => {
    const { page, axe } = await visit(explorer());
    await page.getByLabel('Team key').fill(`${key}x`);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const alert = page.getByRole('alert');
    await expect
      .poll(() => alert.textContent())
      .toBe('This key is not known. Copy it again, or ask whoever gave it to you.');
    expect(await axe()).toEqual([]);
    await page.getByLabel('Team key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  });

  it('of a team that may see all, before any is known, says what to enter', async () => {
    const { gateway: fresh } = await openPages();
    const { key: all } = await newTeam(fresh, { id: 'growth' });
    const { page, axe } = await signedIn(`${fresh.data}/explorer`, 'Team key', all);
    await page.getByText('Enter the id of one above').waitFor();
    expect(await axe()).toEqual([]);
    await page.getByRole('combobox', { name: /^Advertiser/ }).fill('Acme');
    await page.keyboard.press('Enter');
    await page
      .getByText(
        'No names of advertisers are known to your team yet, so “Acme” cannot be looked up. Enter the id',
      )
      .waitFor();
    await page.getByRole('combobox', { name: /^Advertiser/ }).fill('1');
    await page.keyboard.press('Enter');
    await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
  });
});

describe('a report', () => {
  it('is asked for by a form, and comes as chart and rows with its true totals', async () => {
    const seen = await signedIn(explorer(), 'Team key', limited);
    const { page, faults } = seen;
    await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
    await page.getByRole('combobox', { name: /^Advertiser/ }).fill('1');
    await page.keyboard.press('Enter');
    await page.waitForURL(/advertiserId=1&/);
    await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
    await page.getByRole('img', { name: 'Impressions by day' }).waitFor();
    expect(page.url()).toContain('advertiserId=1&byDate=1&byCampaign=1&_period=last_30_days');
    await page.getByText(/^Numbers are (less than a minute|\d+ min) old.* may still change\./).waitFor();
    // Once, and not in the way.
    const why = page.getByText(/Reach counts people/);
    expect([await why.count(), await why.isVisible()]).toEqual([1, false]);
    await page.getByText('How is this calculated?').click();
    await why.waitFor();
    expect(await cutOff(page)).toEqual([]);
    await seen.shots('explorer-report');
    await page.getByRole('button', { name: 'Spent' }).click();
    await page.waitForURL(/sort=-spent/);
    await page.getByLabel('Filter').fill('clicks>10');
    await page.getByText(/^\d+ of \d+ rows$/).waitFor();
    await page.getByRole('rowheader', { name: /^Sum of/ }).waitFor();
    await page
      .getByText(
        'Understood: Clicks > 10. Only this table is filtered: totals and charts above are of all rows.',
      )
      .waitFor();
    await page.getByLabel('Measure').selectOption('reach');
    await page.getByText(/lines stand side by side/).waitFor();
    // The latest days first: their tags need room, too.
    await page.getByRole('button', { name: 'Date' }).dblclick();
    await page.waitForURL(/sort=-date/);
    expect(await cutOff(page)).toEqual([]);
    await seen.shots('explorer-filtered');
    expect(faults).toEqual([]);
  });

  it('not split by date says that days may still change, has a bar for each campaign, and on a phone the names before the measure', async () => {
    const { page, faults, axe } = await signedIn(explorer(MONTH.replace('&byDate=1', '')), 'Team key', key);
    await page.getByText('Some of these days may still change.').waitFor();
    await page.getByRole('heading', { name: 'Impressions', exact: true }).waitFor();
    await page.getByLabel('Measure').selectOption('clicks');
    const bars = page.getByRole('figure', { name: 'Clicks of the largest groups' }).getByRole('listitem');
    const lines = page.locator('.grid-table .line');
    await expect.poll(() => bars.count()).toBe(await lines.count());
    const [largest = ''] = await lines.first().locator('td').first().locator('bdi').allTextContents();
    expect(await bars.first().textContent()).toContain(largest);
    await page.setViewportSize({ width: 390, height: 844 });
    const heads = page.locator('.grid-table thead th');
    await expect
      .poll(async () => (await heads.allInnerTexts()).slice(0, 2).map((text) => text.trim()))
      .toEqual([expect.stringMatching(/^Campaign name/), expect.stringMatching(/^Clicks/)]);
    const [title, total] = await page.locator('.grid-table tfoot tr').locator('th, td').allInnerTexts();
    expect([title, total]).toEqual(['Total', expect.stringMatching(/^[\d,]+$/)]);
    // The charted measure and the one of the filter are both in view.
    await page.getByLabel('Filter').fill('spent > 0');
    await expect.poll(async () => (await heads.allInnerTexts())[2]).toMatch(/^Spent/);
    const frame = await page.getByRole('region', { name: 'Rows of the report' }).boundingBox();
    const third = await heads.nth(2).boundingBox();
    expect((third?.x ?? 0) + (third?.width ?? 0)).toBeLessThanOrEqual((frame?.x ?? 0) + (frame?.width ?? 0));
    expect(await axe()).toEqual([]);
    expect(faults).toEqual([]);
  });

  it('by date has all its columns in view at 1280 pixels; provisional days have a sign that is explained', async () => {
    const { page, faults } = await signedIn(explorer(MONTH), 'Team key', key);
    await page.setViewportSize({ width: 1280, height: 800 });
    const table = page.getByRole('region', { name: 'Rows of the report' });
    await table.getByRole('columnheader', { name: 'CPM' }).waitFor();
    await expect.poll(() => table.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
    expect(await cutOff(page)).toEqual([]);
    await page.getByRole('button', { name: 'Date' }).dblclick();
    await page.waitForURL(/sort=-date/);
    const [newest] = await table.locator('.line').all();
    expect(await newest?.getByRole('img', { name: 'provisional' }).textContent()).toBe('~');
    await page.getByText('~ marks provisional days.').waitFor();
    expect(faults).toEqual([]);
  });

  it('by date and campaign has on a phone the campaign and the days of an incomplete week below each date', async () => {
    const { page, faults } = await signedIn(explorer(`${MONTH}&by=week`), 'Team key', key);
    await page.setViewportSize({ width: 390, height: 844 });
    const row = page.locator('.grid-table .line').first();
    await expect.poll(() => row.locator('td').nth(1).textContent()).toMatch(/^[\d,]+$/);
    await page.getByText(/^\d+ rows by week, of \d+ by day$/).waitFor();
    const [held = ''] = await row.locator('td').allInnerTexts();
    const [date = '', part = '', name = ''] = held.split('\n').map((line) => line.trim());
    expect([date, part]).toEqual([
      expect.stringMatching(/^Week \d+, /),
      expect.stringMatching(/^\d of 7 days$/),
    ]);
    expect(name).toBe(await row.locator('td').last().locator('bdi').first().textContent());
    const { x = 0, width = 0 } = (await row.locator('.under').first().boundingBox()) ?? {};
    expect(x + width).toBeLessThan(390);
    expect(faults).toEqual([]);
  });

  it('has marks on the axis of its chart that stay apart when the window becomes narrow', async () => {
    const { page } = await signedIn(explorer(MONTH), 'Team key', key);
    await page.getByRole('img', { name: 'Impressions by day' }).waitFor();
    await page.evaluate(`(() => {
      const { prototype } = CanvasRenderingContext2D;
      const { clearRect, fillText } = prototype;
      window.marks = [];
      prototype.clearRect = function (...of) { window.marks = []; return clearRect.apply(this, of); };
      prototype.fillText = function (...of) {
        if (/^[A-Z][a-z]{2} \\d+$/.test(of[0])) window.marks.push(of[1]);
        return fillText.apply(this, of);
      };
    })()`);
    await page.setViewportSize({ width: 390, height: 844 });
    const apart = () =>
      page.evaluate<number>(
        'Math.min(...window.marks.slice(1).map((at, index) => at - window.marks[index]))',
      );
    await expect.poll(() => page.evaluate('window.marks.length')).toBeGreaterThan(1);
    await expect.poll(apart).toBeLessThan(Number.POSITIVE_INFINITY);
    expect(await apart()).toBeGreaterThan(50);
  });

  it('on a phone has its form in one line, which opens it; a wide screen has the form', async () => {
    const { page, axe, faults } = await signedIn(week(), 'Team key', limited);
    const change = page.getByRole('button', { name: 'Change', exact: true });
    const period = page.getByLabel('Period');
    await period.waitFor();
    expect(await change.count()).toBe(0);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByText(/^Campaigns · .+ · Last 7 days · by date and campaign$/).waitFor();
    expect([await period.count(), await change.getAttribute('aria-expanded')]).toEqual([0, 'false']);
    expect(await axe()).toEqual([]);
    await change.press('Enter');
    await period.waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Done');
    // A choice leaves the form open, and the focus where it is.
    await page.getByLabel('Period').focus();
    await page.getByLabel('Period').selectOption('last_30_days');
    await page.getByText(/^Campaigns · .+ · Last 30 days · by date and campaign$/).waitFor();
    expect(await page.evaluate('document.activeElement.tagName')).toBe('SELECT');
    await page.getByRole('button', { name: 'Done', exact: true }).click();
    await period.waitFor({ state: 'detached' });
    expect(faults).toEqual([]);
  });

  it('follows each choice of the form at once; what is typed waits for the Enter key, or until its field is left', async () => {
    const { page, faults } = await signedIn(week(), 'Team key', limited);
    const rows = page.getByRole('region', { name: 'Rows of the report' });
    await rows.waitFor();
    await page.getByLabel('Period').selectOption('yesterday');
    await page.waitForURL(/_period=yesterday$/);
    await page.getByLabel('Campaign', { exact: true }).uncheck();
    await page.waitForURL((url) => !url.hash.includes('byCampaign'));
    const field = page.getByRole('combobox', { name: /^Advertiser/ });
    const other = page.url().includes('advertiserId=1&') ? '2' : '1';
    await field.fill(other);
    expect(page.url()).not.toContain(`advertiserId=${other}&`);
    await rows.waitFor();
    await field.blur();
    await page.waitForURL((url) => url.hash.includes(`advertiserId=${other}&`));
    // As a browser tells that a name of the list was taken.
    const first = await page.locator('#advertisers option').filter({ hasNotText: other }).first();
    await field.evaluate(
      (one: HTMLInputElement, name) => {
        one.value = name;
        one.dispatchEvent(new InputEvent('input', { inputType: 'insertReplacementText', bubbles: true }));
      },
      (await first.getAttribute('value')) ?? '',
    );
    await page.waitForURL((url) => !url.hash.includes(`advertiserId=${other}&`));
    expect(faults).toEqual([]);
  });

  it('of days of one’s own begins with the days that are shown; a day from the calendar is taken at once, a typed one when it is left', async () => {
    const { page, faults } = await signedIn(explorer(MONTH), 'Team key', key);
    const rows = page.getByRole('region', { name: 'Rows of the report' });
    await rows.waitFor();
    await page.getByLabel('Period').selectOption({ label: 'Custom …' });
    await page.waitForURL(/dateFrom=\d{4}-\d\d-\d\d&dateTo=\d{4}-\d\d-\d\d$/);
    await page.getByLabel('Last day').fill('2026-03-20');
    const alert = page
      .getByRole('alert')
      .filter({ hasText: 'Not asked. The first day is after the last one.' });
    await alert.waitFor();
    expect(await rows.count()).toBe(0);
    await page.getByLabel('First day').fill('2026-03-02');
    await page.waitForURL(/dateFrom=2026-03-02&dateTo=2026-03-20$/);
    expect(await alert.count()).toBe(0);
    await rows.waitFor();
    const asked: string[] = [];
    page.on('request', (request) => {
      if (request.url().includes(REPORT)) asked.push(request.url());
    });
    // In English the month is first.
    await page.getByLabel('First day').focus();
    await page.keyboard.type('03112026');
    expect(asked).toEqual([]);
    await page.keyboard.press('Enter');
    await page.waitForURL(/dateFrom=2026-03-11&dateTo=2026-03-20$/);
    await expect.poll(() => asked.length).toBe(1);
    await page.getByLabel('Last day').focus();
    await page.keyboard.type('0312');
    await page.getByLabel('First day').focus();
    await page.waitForURL(/dateFrom=2026-03-11&dateTo=2026-03-12$/);
    await expect.poll(() => asked.length).toBe(2);
    expect(faults).toEqual([]);
  });

  it('shows the last of two choices that follow each other faster than an answer comes', async () => {
    const { page } = await signedIn(explorer('#/pins'), 'Team key', key);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(/_period=last_30_days/, async (route) => {
      await held;
      await route.continue().catch(() => {});
    });
    await page.goto(explorer(`${CAMPAIGNS}&_period=yesterday`));
    await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
    await page.getByLabel('Period').selectOption('last_30_days');
    await page.getByLabel('Campaign', { exact: true }).check();
    await page.getByLabel('Period').selectOption('last_7_days');
    await page.waitForURL(/byDate=1&byCampaign=1&_period=last_7_days$/);
    const table = page.getByRole('region', { name: 'Rows of the report' });
    await table.getByRole('columnheader', { name: 'Campaign name' }).waitFor();
    const told = await table.locator('tbody').textContent();
    release();
    await page.unrouteAll({ behavior: 'wait' });
    expect(await table.locator('tbody').textContent()).toBe(told);
  });

  it('that cannot be asked for takes the place of the one before, and says what to do', async () => {
    const seen = await signedIn(week(), 'Team key', limited);
    const { page, faults } = seen;
    const rows = page.getByRole('region', { name: 'Rows of the report' });
    await rows.waitFor();
    await page.getByRole('combobox', { name: /^Advertiser/ }).fill('zzz');
    await page.keyboard.press('Enter');
    const alert = page.getByRole('alert').filter({ hasText: 'Not asked.' });
    await alert
      .getByText(
        'No advertiser of your team is called “zzz”. Choose one, the nearest names first, or enter an id.',
      )
      .waitFor();
    expect(await rows.count()).toBe(0);
    await seen.shots('explorer-unknown-advertiser');
    const offers = alert.getByRole('button');
    const [name = ''] = await offers.allInnerTexts();
    await page.getByRole('combobox', { name: /^Advertiser/ }).fill(name.slice(1, 6));
    await page.keyboard.press('Enter');
    await alert.getByText('Choose one whose name contains it, or enter an id.').waitFor();
    await offers.filter({ hasText: name }).click();
    await rows.waitFor();
    expect(await alert.count()).toBe(0);
    expect(await page.getByRole('combobox', { name: /^Advertiser/ }).inputValue()).toBe(name);
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

describe('measures', () => {
  it('that the page calculates are chosen in the chart, and are columns with a ratio of sums in the foot', async () => {
    const { page, faults } = await signedIn(explorer(MONTH), 'Team key', key);
    await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
    const calculated = page.getByLabel('Measure').locator('optgroup[label="Calculated on this page"] option');
    expect(await calculated.allTextContents()).toEqual(['CTR', 'CPC', 'CPM']);
    await page.getByLabel('Measure').selectOption('ctr');
    await page.getByRole('img', { name: 'CTR by day' }).waitFor();
    await page.waitForURL(/metric=ctr/);
    await page.getByText('How is this calculated?').press('Enter');
    await page.getByText(/CTR = clicks ÷ impressions/).waitFor();
    const heads = await page.locator('.grid-table thead th').allInnerTexts();
    const foot = await page.locator('.grid-table tfoot tr').last().locator('th, td').allInnerTexts();
    const total = (title: string) => foot[heads.findIndex((head) => head.startsWith(title))] ?? '';
    const numberOf = (title: string) => Number(total(title).replaceAll(/[^\d.]/g, ''));
    expect(total('CTR')).toBe(`${((100 * numberOf('Clicks')) / numberOf('Impressions')).toFixed(2)}%`);
    expect(total('CPC')).toBe(`$${(numberOf('Spent') / numberOf('Clicks')).toFixed(2)}`);
    // Rounded to two decimals; the title has all.
    const spent = page.locator('.grid-table .line').first().locator('td').nth(heads.indexOf('Spent'));
    expect([await spent.textContent(), await spent.getAttribute('title')]).toEqual([
      expect.stringMatching(/^\$[\d,]+\.\d\d$/),
      expect.stringMatching(/^\$[\d,]+\.\d{3,4}$/),
    ]);
    expect(faults).toEqual([]);
  });

  it('are shown by week with sums, incomplete weeks marked; people are not added, and the page says so', async () => {
    const seen = await signedIn(explorer(MONTH), 'Team key', key);
    const { page, faults } = seen;
    await page.getByRole('group', { name: 'By' }).getByRole('button', { name: 'Week' }).click();
    await page.waitForURL(/by=week/);
    await page.getByRole('img', { name: 'Impressions by week' }).waitFor();
    await page.getByText(/^\* Incomplete: Week \d+, .* \(\d of 7 days are in the report\)/).waitFor();
    const first = page.locator('.grid-table .line').first();
    expect(await first.textContent()).toMatch(/^Week \d+, \w{3} \d+ – (\w{3} )?\d+/);
    const download = page.waitForEvent('download');
    // Both files stand in one place.
    const tools = page.getByRole('region', { name: 'Rows', exact: true }).locator('.tools');
    await tools.getByRole('link', { name: 'CSV: the platform’s rows and columns' }).waitFor();
    await tools.getByRole('button', { name: 'CSV: this table as shown' }).click();
    expect((await download).suggestedFilename()).toMatch(/^campaigns_1_.+_table_week\.csv$/);
    const path = join(await tempFolder(), 'table.csv');
    await (await download).saveAs(path);
    const [head, week] = parseCsv((await readFile(path, 'utf8')).replace('\ufeff', ''));
    expect(head).toEqual(
      expect.arrayContaining(['Week', 'First day', 'Spent (USD)', 'CTR (%)', 'CPC (USD)']),
    );
    expect(week?.[0]).toMatch(/^Week \d+, /);
    // A column of people would be empty; the others are in view.
    await page.setViewportSize({ width: 1280, height: 800 });
    const table = page.getByRole('region', { name: 'Rows of the report' });
    await table.getByRole('columnheader', { name: 'CPM' }).waitFor();
    await expect.poll(() => table.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
    expect(await cutOff(page)).toEqual([]);
    expect(await table.getByRole('columnheader', { name: 'Reach' }).count()).toBe(0);
    await page.getByText('How is this calculated?').click();
    await page.getByText(/^\* Reach counts people\..* So it has no column by week\.$/).waitFor();
    await page.getByText(/^\d\/7 after a date: so many of its days are in the report\.$/).waitFor();
    await page.getByRole('button', { name: 'Lines' }).click();
    await page.waitForURL(/shape=lines/);
    await page.getByText(/: not complete \(\d of 7 days/).waitFor();
    await page.getByText('Shaded: each week with provisional days.').waitFor();
    expect(await drawnShare(page)).toEqual({ first: expect.closeTo(0, 0), last: expect.closeTo(1, 0) });
    await seen.shots('explorer-weeks');
    await page.getByLabel('Measure').selectOption('reach');
    await page.getByText('Reach has no sum*, so there is none by week; choose Day.').waitFor();
    expect(faults).toEqual([]);
  });
});

const WEEK = '#/report?endpoint=campaigns%2Fget&advertiserId=1&byDate=1&byCampaign=1&_period=last_7_days';
const week = (more = '') => explorer(WEEK + more);

describe('the details of the age', () => {
  it('opens what is kept and what an answer costs, and the address says so', async () => {
    const seen = await signedIn(week(), 'Team key', key);
    const { page, faults } = seen;
    const details = page.getByRole('button', { name: 'Details' });
    await details.click();
    await page.waitForURL(/panel=explain/);
    const panel = page.getByRole('region', { name: 'Cache state' });
    await panel.getByText(/^Cached (by day|as one period)/).waitFor();
    await panel.getByText('Answering it now makes no platform call.').waitFor();
    await panel.getByText('7 of 7').waitFor();
    expect(await panel.getByRole('group', { name: /^Days/ }).getByRole('button').count()).toBe(7);
    expect(await details.getAttribute('aria-expanded')).toBe('true');
    await seen.shots('explorer-explain');
    await details.click();
    await panel.waitFor({ state: 'detached' });
    expect(page.url()).not.toContain('panel=');
    expect(faults).toEqual([]);
  });
});

describe('code', () => {
  it('is shown for each tool without the key, and copied', async () => {
    const seen = await signedIn(week('&panel=code'), 'Team key', key);
    const { page, context, faults } = seen;
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const panel = page.getByRole('region', { name: 'As code' });
    await panel.getByText('curl --silent').waitFor();
    await seen.shots('explorer-code');
    for (const tool of ['curl', 'JavaScript', 'Google Sheets', 'Python']) {
      await panel.getByRole('button', { name: tool, exact: true }).click();
      await panel.getByRole('button', { name: tool, pressed: true }).waitFor();
      const code = (await panel.locator('pre').textContent()) ?? '';
      expect(code).toContain(`${gateway.data}/api/v1/report/campaigns/get`);
      expect(code).not.toContain(key);
      await expectCopied(page, panel).toBe(code);
      await page.getByText('Code copied.').waitFor();
    }
    // Whoever is sent the address sees the same.
    expect(page.url()).toContain('panel=code&tool=python');
    await page.reload();
    await panel.getByRole('button', { name: 'Python', pressed: true }).waitFor();
    await panel.getByText('from urllib.request import').waitFor();
    expect(faults).toEqual([]);
  });
});

describe('changes', () => {
  it('that are not known are told with the reason', async () => {
    const { gateway: whole } = await openPages({ config: rule({ divisible: 'never' }) });
    const { key: own } = await newTeam(whole, { id: 'growth' });
    const seen = await signedIn(`${whole.data}/explorer${WEEK}&panel=diff`, 'Team key', own);
    const panel = seen.page.getByRole('region', { name: 'What changed', exact: true });
    await panel.getByText('Such a report has no history').waitFor();
    await seen.shots('explorer-diff-unknown');
  });
});

describe('a pin', () => {
  it('holds the report as it is shown, and leads to the list of pins', async () => {
    const seen = await signedIn(week(), 'Team key', key);
    const { page, faults } = seen;
    await page.getByRole('button', { name: 'Pin this report' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pin this report' });
    // Typed at once: the first field has the focus.
    await page.keyboard.type('for the <b>board</b>');
    expect(await dialog.getByLabel('Note').inputValue()).toBe('for the <b>board</b>');
    await seen.shots('explorer-pin');
    await dialog
      .getByText(
        /^A pin keeps the \d+ rows by date.* as the platform sent them, .* and without the platform’s own totals/,
      )
      .waitFor();
    await dialog.getByRole('button', { name: 'Pin', exact: true }).click();
    await dialog.getByText('Pinned.').waitFor();
    await dialog.getByRole('link', { name: 'See all pins' }).click();
    await page.getByRole('heading', { name: '1 pin of' }).waitFor();
    await page.getByText('for the <b>board</b>').waitFor();
    const { data } = (await ask(`${gateway.data}/gateway/v1/pins`, { key })).json<{
      data: { revision: string | null; query: string }[];
    }>();
    expect(data[0]?.query).toContain('byCampaign=1');
    expect(faults).toEqual([]);
  });

  it('is refused with words to a key that lacks the scope', async () => {
    const { page } = await signedIn(week(), 'Team key', reader);
    await page.getByRole('button', { name: 'Pin this report' }).click();
    await page.getByRole('dialog').getByText('This key cannot pin').waitFor();
    expect(await page.getByRole('dialog').getByRole('button', { name: 'Pin', exact: true }).count()).toBe(0);
  });
});

describe('a comparison', () => {
  it('with the days before has each change, and both periods in one chart', async () => {
    const seen = await signedIn(week(), 'Team key', key);
    const { page, faults } = seen;
    await page.getByLabel('Compare with').selectOption('previous');
    await page.waitForURL(/against=previous/);
    const card = page.getByRole('region', {
      name: /^Compared with \w{3} \d+(, \d{4})? – (\w{3} )?\d+, \d{4}$/,
    });
    await card.getByRole('img', { name: 'Impressions by day in both periods' }).waitFor();
    await card
      .getByText(
        /^Impressions: [\d,]+ in this period; [\d,]+ in the other; [\d,]+ (more|less) \([+−][\d.]+%\)\.$/,
      )
      .waitFor();
    await card
      .getByText(/^[+−][\d,]+ \([+−][\d.,]+%\)$/)
      .first()
      .waitFor();
    // People do not add up over groups: the total is what the platform says of each period.
    const cells = card.locator('tfoot td');
    const totals = async () => (await cells.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
    await expect
      .poll(totals)
      .toEqual([
        'Total',
        ...Array.from({ length: 7 }, () =>
          expect.stringMatching(
            /^\$?[\d,.]+%? (under )?[+−]?\$?[\d,.]+( pp)?( more| less)? \([+−]?[\d.,]+%\)$/,
          ),
        ),
      ]);
    expect(await cells.nth(4).getAttribute('data-title')).toBe('Reach');
    expect(await card.locator('tbody td[data-title=Reach]').first().textContent()).toBe('–');
    await seen.shots('explorer-compare');
    expect(faults).toEqual([]);
  });
});

describe('a comparison by week', () => {
  it('has each week beside as many days of the other period, and says so; people have none', async () => {
    const days = 'dateFrom=2026-03-06&dateTo=2026-04-04';
    const address = `${CAMPAIGNS}&${days}&against=previous&by=week`;
    const { page, faults } = await signedIn(explorer(address), 'Team key', key);
    const card = page.getByRole('region', { name: /^Compared with/ });
    await card.getByRole('img', { name: 'Impressions by week in both periods' }).waitFor();
    await card.getByText('Each week stands beside as many days of the other period').waitFor();
    await card.getByRole('button', { name: 'Show table' }).click();
    await card
      .getByText(/^Week \d+, .+, compared with \w{3} \d+/)
      .first()
      .waitFor();
    await page.getByLabel('Measure').selectOption('reach');
    await card
      .getByText(/Reach cannot be shown.*\* It has no sum, so there is none by week; choose Day/)
      .waitFor();
    expect(faults).toEqual([]);
  });
});

describe('a comparison of a month', () => {
  it('is with the month before, and has the mean per day, differences with units, and what stands beside what', async () => {
    const address = `${CAMPAIGNS}&dateFrom=2026-03-01&dateTo=2026-03-31&metric=spent`;
    const { page, faults } = await signedIn(explorer(address), 'Team key', key);
    await page.getByLabel('Compare with').selectOption({ label: 'the month before' });
    const card = page.getByRole('region', { name: 'Compared with Feb 1 – 28, 2026' });
    await card
      .getByText(
        /Mean per day: \$[\d,.]+ in this period; \$[\d,.]+ in the other; \$[\d,.]+ (more|less) \([+−][\d.]+%\)\.$/,
      )
      .waitFor();
    await card
      .getByText(
        'Each day stands beside the same day of the month: Mar 1, 2026 beside Feb 1, 2026. Mar 29, 2026; Mar 30, 2026; Mar 31, 2026 have none beside them, but are in the totals.',
      )
      .waitFor();
    // The difference is that of both numbers as they are shown.
    const [sentence] = await card.getByText(/^Spent, USD: /).allInnerTexts();
    const shown = sentence?.split(' Mean per day')[0]?.match(/[\d,]+\.\d\d/g) ?? [];
    const [now, before, difference] = shown.map((one) => Number(one.replaceAll(',', '')));
    expect(Math.abs(Number(now) - Number(before)).toFixed(2)).toBe(Number(difference).toFixed(2));
    const mean = await card.locator('tfoot tr').last().locator('td').allInnerTexts();
    expect(mean.slice(0, 2).map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
      'Mean per day',
      expect.stringMatching(/^\$[\d,.]+ [+−]\$[\d,.]+ \([+−][\d.]+%\)$/),
    ]);
    await page.getByLabel('Compare with').selectOption({ label: 'the 31 days before' });
    await page.getByRole('region', { name: 'Compared with Jan 29 – Feb 28, 2026' }).waitFor();
    expect(await page.getByText('Mean per day').count()).toBe(0);
    expect(faults).toEqual([]);
  });
});

describe('one or two months', () => {
  it('are bars with their numbers: of the report by group, of a comparison by period', async () => {
    const address = `${CAMPAIGNS}&byCampaign=1&dateFrom=2026-10-01&dateTo=2026-10-31&metric=spent&by=month`;
    const seen = await signedIn(explorer(`${address}&against=previous`), 'Team key', key);
    const { page, faults } = seen;
    const both = page.getByRole('figure', { name: 'Spent, USD by month in both periods' });
    const told = both.getByRole('listitem');
    await expect
      .poll(async () => (await told.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim()))
      .toEqual([
        expect.stringMatching(/^Oct 1 – 31, 2026 \$[\d,]+\.\d\d$/),
        expect.stringMatching(/^Sep 1 – 30, 2026 \$[\d,]+\.\d\d$/),
      ]);
    const own = page.getByRole('region', { name: 'Spent, USD by month', exact: true });
    expect(await own.getByRole('list', { name: 'Oct 2026' }).getByRole('listitem').count()).toBeGreaterThan(
      1,
    );
    expect(await own.getByRole('group', { name: 'Shape' }).count()).toBe(0);
    expect(await page.locator('canvas').count()).toBe(0);
    await seen.shots('explorer-one-month');
    await page.getByRole('group', { name: 'By' }).getByRole('button', { name: 'Week' }).click();
    await page.getByRole('img', { name: 'Spent, USD by week in both periods' }).waitFor();
    expect(faults).toEqual([]);
  });
});

describe('a comparison with chosen days', () => {
  it('begins on the same weekday if aligned, and says both periods and what was done', async () => {
    const { page, faults } = await signedIn(
      explorer(
        '#/report?endpoint=campaigns%2Fget&advertiserId=1&byDate=1&dateFrom=2026-03-06&dateTo=2026-03-12&metric=clicks',
      ),
      'Team key',
      key,
    );
    await page.getByLabel('Compare with').selectOption('custom');
    await page.getByText('Enter the first day to compare with.').waitFor();
    await page.getByLabel('First day').last().fill('2026-02-01');
    await page.getByRole('region', { name: 'Compared with Feb 1 – 7, 2026' }).waitFor();
    await page.getByLabel('Align by weekday').check();
    await page.waitForURL(/against=custom&weekdays=1&otherFrom=2026-02-01/);
    const card = page.getByRole('region', { name: 'Compared with Jan 30 – Feb 5, 2026' });
    await card
      .getByText('Fri, Mar 6 – Thu, Mar 12, 2026, compared with Fri, Jan 30 – Thu, Feb 5, 2026.')
      .waitFor();
    await card.getByRole('img', { name: 'Clicks by day in both periods' }).waitFor();
    expect(faults).toEqual([]);
  });
});

describe('several advertisers', () => {
  const SEVERAL =
    '#/report?endpoint=campaigns%2Fget&advertiserId=1&advertiserId=2&byDate=1&_period=last_7_days';

  it('are chosen in the form, shown together with sums but no reach, and come as one CSV', async () => {
    const seen = await signedIn(week(), 'Team key', limited);
    const { page, faults } = seen;
    await page.getByText('Several advertisers together').click();
    await page.getByLabel('Another advertiser').fill('zzz');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('No advertiser of your team is called zzz.').waitFor();
    expect(await page.locator('.chip').count()).toBe(0);
    const asked: (string | null)[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname === REPORT) asked.push(searchParams.get('advertiserId'));
    });
    await page.getByLabel('Another advertiser').fill('2');
    await page.getByLabel('Another advertiser').press('Enter');
    await page.waitForURL(/advertiserId=1&advertiserId=2&/);
    const table = page.getByRole('region', { name: 'Advertisers', exact: true });
    const lines = async () =>
      (await table.locator('tbody tr, tfoot tr').allInnerTexts()).map((text) => text.split(/\s/).length > 3);
    await expect.poll(lines).toEqual([true, true, true]);
    const reach = table.locator('td[data-title=Reach]');
    await expect
      .poll(() => reach.allInnerTexts())
      .toEqual([expect.stringMatching(/^[\d,]+$/), expect.stringMatching(/^[\d,]+$/), 'no sum']);
    // The one that was shown before is not asked again.
    expect(asked).toEqual(['2']);
    await page.getByText('a person may be reached by several of them', { exact: false }).waitFor();
    await page.getByRole('button', { name: 'Advertisers', pressed: true }).waitFor();
    await seen.shots('explorer-several');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV: the platform’s rows and columns' }).click();
    const path = join(await tempFolder(), 'report.csv');
    expect((await download).suggestedFilename()).toMatch(
      /^campaigns_1-2_\d{4}-\d\d-\d\d_\d{4}-\d\d-\d\d\.csv$/,
    );
    await (await download).saveAs(path);
    const text = (await readFile(path, 'utf8')).replace('\ufeff', '');
    const [head = [], ...rows] = parseCsv(text);
    const ids = rows.map((row) => row[head.indexOf('advertiserId')]);
    expect(new Set(ids)).toEqual(new Set(['1', '2']));
    expect(faults).toEqual([]);
  });

  it('compared with another period have a line each, with the platform’s own totals of both, above their campaigns', async () => {
    const { page, faults } = await signedIn(
      explorer(`${SEVERAL}&byCampaign=1&against=previous`),
      'Team key',
      limited,
    );
    const each = page.getByRole('region', { name: 'Changes by advertiser' });
    await each.waitFor();
    await page
      .getByText(/^.* Numbers of (both periods are|this period are .*, those of the other) /)
      .waitFor();
    const reach = each.locator('td[data-title=Reach]');
    const both = expect.stringMatching(/^[\d,]+\s+[+−]?[\d,]+\s+\(.*%\)$/);
    expect(await reach.allInnerTexts()).toEqual([both, both, '–']);
    const groups = page.getByRole('region', { name: 'Changes by group' });
    expect(await groups.locator('tbody tr').count()).toBeGreaterThan(2);
    expect(await groups.locator('tfoot').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('by date and campaign have all columns of their rows in view at 1280 pixels; long names are cut', async () => {
    const { page } = await signedIn(explorer(`${SEVERAL}&byCampaign=1`), 'Team key', limited);
    await page.setViewportSize({ width: 1280, height: 800 });
    const table = page.getByRole('region', { name: 'Rows of the report' });
    await table.getByRole('columnheader', { name: 'CPM' }).waitFor();
    await page.getByText('asking for').waitFor({ state: 'detached' });
    await expect.poll(() => table.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
    const numbers = table.locator('.line .number');
    expect(
      await numbers.evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length),
    ).toBe(0);
    const longest = table.locator('.line td:first-child').first();
    expect(await longest.getAttribute('title')).toBe(await longest.locator('bdi').textContent());
  });

  it('are asked one by one; a stop keeps what is there, and the rest may follow', async () => {
    const { page } = await signedIn(explorer('#/pins'), 'Team key', limited);
    const asked: string[] = [];
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route(/\/api\/v1\/report\//, async (route) => {
      const id = new URL(route.request().url()).searchParams.get('advertiserId') ?? '';
      asked.push(id);
      if (id === '2' && asked.length === 2) await held;
      await route.continue().catch(() => {});
    });
    await page.goto(explorer(SEVERAL));
    await page.getByText('1 of 2 advertisers, asking for').waitFor();
    expect(asked).toEqual(['1', '2']);
    await page.getByRole('button', { name: 'Stop' }).click();
    release();
    await page.getByText('Stopped: 1 of 2 advertisers.').waitFor();
    const table = page.getByRole('region', { name: 'Advertisers', exact: true });
    await table.getByText('not asked').waitFor();
    await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
    await page.getByRole('button', { name: 'Go on' }).click();
    await page.getByText('Stopped:').waitFor({ state: 'detached' });
    await table.getByText('not asked').waitFor({ state: 'detached' });
    expect(asked).toEqual(['1', '2', '2']);
  });

  it('of which the team may not see one have its reason, and the others stay', async () => {
    const { page } = await signedIn(explorer(`${SEVERAL}&advertiserId=9`), 'Team key', limited);
    await page.getByText('2 of 3 advertisers.').waitFor();
    await page.getByText('Your team may not see it.').waitFor();
    await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
    expect(await page.getByRole('button', { name: 'Ask again for the others' }).count()).toBe(0);
  });
});

describe('the link of a report', () => {
  it('of a relative period has its days; it is copied, also by a browser that forbids the clipboard', async () => {
    const { page, context } = await signedIn(week(), 'Team key', limited);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const copy = page.getByRole('button', { name: 'Copy link', exact: true });
    expect(await copy.getAttribute('title')).toMatch(/^Shows \w{3} \d+ .*, whenever it is opened$/);
    const days = /advertiserId=1&byDate=1&byCampaign=1&dateFrom=\d{4}-\d\d-\d\d&dateTo=\d{4}-\d\d-\d\d$/;
    await expect
      .poll(async () => {
        await copy.click();
        return page.evaluate('navigator.clipboard.readText()');
      })
      .toMatch(days);
    const link = await page.evaluate<string>('navigator.clipboard.readText()');
    await page.getByText(/^Copied: a link to \w{3} \d+ .*\d{4}\.$/).waitFor();
    await page.evaluate('navigator.clipboard.writeText("")');
    await page.evaluate('navigator.clipboard.writeText = () => Promise.reject(new Error("forbidden"))');
    await expect
      .poll(async () => {
        await copy.click();
        return page.evaluate('navigator.clipboard.readText()');
      })
      .toBe(link);
    // A link to days is copied as it is.
    await page.goto(link);
    expect(await copy.getAttribute('title')).toMatch(/^The address of this page;/);
  });
});

describe('pins', () => {
  it('are listed, opened as they were pinned, and given up after a question', async () => {
    expect((await ask(`${gateway.data}${REPORT}?${QUERY}`, { key: limited })).status).toBe(200);
    for (const note of [HOSTILE, null]) {
      const json = { endpoint: 'campaigns/get', query: QUERY, ...(note === null ? {} : { note }) };
      const pinned = await ask(`${gateway.data}/gateway/v1/pins`, { method: 'POST', key: limited, json });
      expect(pinned.status).toBe(201);
    }
    const seen = await signedIn(explorer('#/pins'), 'Team key', limited);
    const { page, faults } = seen;
    await page.getByRole('heading', { name: '2 pins of' }).waitFor();
    await page.getByText(HOSTILE).waitFor();
    const [first] = await page.getByRole('row').filter({ hasText: HOSTILE }).allInnerTexts();
    expect(first).toMatch(/^Campaigns/);
    expect(first).toMatch(/by date/);
    expect(first).toMatch(/\w{3} \d+(, \d{4})? – (\w{3} )?\d+, \d{4}/);
    expect(first).toMatch(/by \S+/);
    expect(first).not.toContain('byDate=1');
    await seen.shots('explorer-pins');
    await page.getByRole('link', { name: 'Pinned rows' }).first().click();
    const table = page.getByRole('region', { name: 'Rows of the report' });
    await expect.poll(() => table.locator('tbody tr').count()).toBe(7);
    await page
      .getByRole('heading', { name: /^Campaigns · .+ · \w{3} \d+(, \d{4})? – (\w{3} )?\d+, \d{4}$/ })
      .waitFor();
    await page.getByText(`Note: ${HOSTILE}`).waitFor();
    const [told] = await page.getByText(/^Pinned on/).allInnerTexts();
    expect(told).toMatch(
      /^Pinned on \w+ \d+, \d+ [\d:]+ UTC by \S+, 7 rows by date (final|\w+ \d+( – .*)?, \d{4} provisional then)$/,
    );
    await table.getByRole('columnheader', { name: 'CPM' }).waitFor();
    const [newest] = await table.locator('tbody tr').allInnerTexts();
    expect(newest).toMatch(/[\d.]+%\s+\$[\d.]+\s+\$[\d.]+$/);
    expect(await cutOff(page)).toEqual([]);
    await page.getByRole('img', { name: 'Impressions by day' }).waitFor();
    await page.getByText('How is this calculated?').click();
    await page.getByText(/^\* Reach counts people\..* Its total is not kept in a pin\.$/).waitFor();
    await seen.shots('explorer-pinned');
    await page.getByRole('group', { name: 'By' }).getByRole('button', { name: 'Month' }).click();
    await expect.poll(() => table.locator('tbody tr').first().textContent()).toMatch(/^[A-Z][a-z]{2} \d{4}/);
    await page.getByRole('group', { name: 'By' }).getByRole('button', { name: 'Day' }).click();
    await page.setViewportSize({ width: 390, height: 844 });
    const foot = table.getByRole('rowheader', { name: 'Sum of rows' });
    await expect.poll(() => foot.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0);
    await page.getByLabel('Filter').fill('CTR < 0%');
    await page.getByText(/^0 of 7 rows$/).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('link', { name: 'JSON' }).click();
    expect((await download).suggestedFilename()).toMatch(/\.json$/);
    await page.getByRole('link', { name: 'All pins' }).click();
    await page.getByRole('link', { name: 'Live report' }).first().waitFor();
    expect(await page.getByRole('link', { name: 'Campaigns' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Delete' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Pin deleted.').waitFor();
    await page.getByRole('heading', { name: '1 pin of' }).waitFor();
    expect(faults).toEqual([]);
  });

  it('lead to what changed since, whose field of the first moment is empty and says why', async () => {
    const { key: own } = await newTeam(gateway, { id: 'since', scopes: ['report:read', 'report:pin'] });
    const json = { endpoint: 'campaigns/get', query: QUERY };
    await ask(`${gateway.data}/gateway/v1/pins`, { method: 'POST', key: own, json });
    const { page, faults } = await signedIn(explorer('#/pins'), 'Team key', own);
    const href = await page.getByRole('link', { name: 'Live report' }).getAttribute('href');
    const { data } = (await ask(`${gateway.data}/gateway/v1/pins`, { key: own })).json<{
      data: { id: string }[];
    }>();
    await page.goto(explorer(`${href}&panel=diff&between=${data[0]?.id},latest`));
    const panel = page.getByRole('region', { name: 'What changed', exact: true });
    const from = panel.getByLabel('From (UTC)');
    await from.waitFor();
    expect(await from.inputValue()).toBe('');
    await panel.getByText('Default: the pin that you came from.').waitFor();
    expect(faults).toEqual([]);
  });

  it('of whoever may not pin have no button to give them up', async () => {
    const { page } = await signedIn(explorer('#/pins'), 'Team key', reader);
    await page.getByText(/There are no pins yet/).waitFor();
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
  });
});

describe('scopes that change while the page is open', () => {
  const scopes = (of: readonly string[]) => admin(gateway, 'PATCH', '/teams/changed', { scopes: of });

  it('are followed by the buttons when the page is looked at again, and after a refusal', async () => {
    const { key: own } = await newTeam(gateway, {
      id: 'changed',
      advertisers: [1],
      scopes: ['report:read', 'report:pin'],
    });
    const json = { endpoint: 'campaigns/get', query: QUERY };
    await ask(`${gateway.data}/gateway/v1/pins`, { method: 'POST', key: own, json });
    const { page } = await signedIn(explorer('#/pins'), 'Team key', own);
    const remove = page.getByRole('button', { name: 'Delete' });
    await remove.waitFor();
    await scopes(['report:read']);
    await page.evaluate('window.dispatchEvent(new Event("focus"))');
    await expect.poll(() => remove.count()).toBe(0);
    await scopes(['report:read', 'report:pin']);
    await page.evaluate('window.dispatchEvent(new Event("focus"))');
    await remove.click();
    await scopes(['report:read']);
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText(/needs the scope|lacks the scope/).waitFor();
    await expect.poll(() => remove.count()).toBe(0);
  });
});

describe('my access', () => {
  it('tells limits, what is left, the age of the key, and which advertisers there are', async () => {
    const seen = await signedIn(explorer('#/access'), 'Team key', limited);
    const { page, faults } = seen;
    await page.getByText('Platform calls left today').waitFor();
    await page.getByText(/created (just now|\d+ s ago|\d+ min)/).waitFor();
    await page.getByRole('img', { name: 'Requests and platform calls by day' }).waitFor();
    const advertisers = page.getByRole('region', { name: 'Advertisers' }).getByRole('listitem');
    await advertisers.first().waitFor();
    expect(await advertisers.count()).toBe(2);
    await seen.shots('explorer-access');
    expect(faults).toEqual([]);
  });
});

describe('what the gateway refuses', () => {
  it('because the team may not see the advertiser names those it may, each of which opens the report', async () => {
    const seen = await signedIn(
      explorer('#/report?advertiserId=9&byDate=1&_period=last_7_days'),
      'Team key',
      limited,
    );
    const { page } = seen;
    await page.getByRole('alert').getByText('Your team may not see advertiser 9.').waitFor();
    expect(await page.getByRole('button', { name: /^Try again/ }).count()).toBe(0);
    const may = page.getByRole('region', { name: 'Advertisers that your team may see' }).getByRole('link');
    await expect.poll(() => may.count()).toBe(2);
    await seen.shots('explorer-refused');
    await may.filter({ hasText: /1$/ }).click();
    await page.waitForURL(/advertiserId=1&byDate=1&_period=last_7_days/);
    await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
  });

  it('because a key was revoked ends the session, which is told', async () => {
    const { key: short, id } = await newTeam(gateway, { id: 'short', advertisers: [1] });
    const { page } = await signedIn(explorer('#/access'), 'Team key', short);
    await page.getByText('Platform calls left today').waitFor();
    const revoked = await ask(`${gateway.admin}/admin/v1/keys/${id}`, {
      method: 'DELETE',
      bearer: gateway.adminToken,
    });
    expect(revoked.status).toBe(204);
    // By address, since the page may have asked again by itself, and its links be gone already.
    await page.evaluate(() => {
      location.hash = '#/pins';
    });
    await page.getByText('Your session has ended').waitFor();
    expect(await page.getByLabel('Team key').isVisible()).toBe(true);
  });
});
