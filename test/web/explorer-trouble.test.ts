/** What is not usual: a report that does not come, two currencies, a history, and 100,000 rows. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { dates } from '../../src/web/explorer/dates.js';
import { BY_DATE, historyScene, PERIOD } from '../gateway/history-scene.js';
import { listenGateway } from '../support/listen-gateway.js';
import { type Handler, sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, type TestGateway, withGateway } from '../support/start-gateway.js';
import { MINUTE } from '../support/test-clock.js';
import { signedIn } from './people.js';

const REPORT = `#/report?endpoint=campaigns%2Fget&advertiserId=1&byDate=1&byCampaign=1&${PERIOD}`;

async function explorer(gateway: TestGateway, key: string, hash: string) {
  return signedIn(`${await listenGateway(gateway)}/explorer${hash}`, 'Team key', key);
}

describe('a report that does not come', () => {
  it('because the share of platform calls is used up says when to ask again', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ limits: { upstreamCallsPerDay: 1 } });
    expect((await gateway.report(key, 'advertiserId=2&byDate=1')).status).toBe(200);
    const { page, shots } = await explorer(gateway, key, REPORT);
    const alert = page.getByRole('alert').filter({ hasText: 'Daily platform share used up' });
    await alert.getByText(/ask your operator to raise/).waitFor();
    expect(await alert.getByRole('button', { name: /^Try again in \d+ h( \d+ min)?$/ }).isDisabled()).toBe(
      true,
    );
    await shots('explorer-429');
  });

  it('because the platform is silent may be asked for again, and then comes', async () => {
    const platform = await startRawPlatform(() => {});
    const gateway = await gatewayAt(platform, { config: { platform: { timeoutMs: 1000 } } });
    const key = await gateway.addTeam();
    const { page, shots } = await explorer(gateway, key, REPORT);
    const alert = page.getByRole('alert').filter({ hasText: 'The platform does not answer' });
    await alert.getByText('Details').click();
    await alert.getByText(/request a shorter period/).waitFor();
    await shots('explorer-504');
    platform.answer(twoCurrencies);
    // Where it has to wait the button says so; the platform may have been given a rest after so many silences.
    await expect
      .poll(async () => {
        if ((await alert.count()) > 0) await alert.getByRole('button', { name: /^Try again/ }).click();
        return page.getByRole('region', { name: 'Rows of the report' }).count();
      })
      .toBe(1);
  });
});

/** Of advertiser 1 in dollars, of 2 without a currency; 3 is refused, and 4 does not come. */
const unlikeAdvertisers: Handler = (request, response) => {
  const query = new URL(request.url ?? '', 'http://platform.test').searchParams;
  const id = Number(query.get('advertiserId'));
  if (id === 3) sends('{"message":"no such advertiser"}', {}, 400)(request, response);
  if (id > 2) return;
  const row = {
    advertiser_id: id,
    impressions: 100,
    spent: '10.0000',
    ...(id === 1 ? { currency: 'USD' } : {}),
  };
  const days = query.has('byDate') ? [query.get('dateFrom'), query.get('dateTo')] : [null];
  const rows = days.map((date) => (date === null ? row : { date, campaign_id: 1, ...row }));
  sends(JSON.stringify({ data: rows }))(request, response);
};

describe('an error of the platform', () => {
  it('that refuses the report is shown in its own words, once', async () => {
    const gateway = await gatewayAt(
      await startRawPlatform(sends('{"message":"Too many campaigns"}', {}, 400)),
    );
    const { page } = await explorer(gateway, await gateway.addTeam(), REPORT);
    const alert = page.getByRole('alert').filter({ hasText: 'The platform refused the request' });
    await expect
      .poll(async () => (await alert.textContent())?.trim())
      .toBe(
        'The platform refused the request. The platform says: Too many campaigns. Change the request accordingly. Try again',
      );
  });

  it('that fails has the request id that the person reports', async () => {
    const gateway = await gatewayAt(await startRawPlatform(sends('{}', {}, 500)));
    const { page } = await explorer(gateway, await gateway.addTeam(), REPORT);
    const alert = page.getByRole('alert').filter({ hasText: 'Platform error' });
    await expect.poll(() => alert.textContent()).toMatch(/report the request id [\w-]{20,} to your operator/);
  });
});

describe('several advertisers that have little in common', () => {
  it('are summed by currency, and a stop keeps why one of them failed', async () => {
    const gateway = await gatewayAt(await startRawPlatform(unlikeAdvertisers));
    const key = await gateway.addTeam();
    const { page, axe } = await explorer(
      gateway,
      key,
      REPORT.replace('advertiserId=1', [1, 2, 3, 4].map((id) => `advertiserId=${id}`).join('&')),
    );
    const table = page.getByRole('region', { name: 'Advertisers', exact: true });
    await table.getByText('is asked …').waitFor();
    const feet = async () =>
      (await table.locator('tfoot tr').allInnerTexts()).map((text) => text.split(/\s*\t\s*/).slice(0, 3));
    await expect.poll(feet).toEqual([
      ['Sum, USD', '200', '$20.00'],
      ['Sum, no currency told', '200', '20.00'],
    ]);
    expect(await axe()).toEqual([]);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped: 2 of 4 advertisers.').waitFor();
    await table.getByText('The platform says: no such advertiser. Change the request accordingly.').waitFor();
    expect(await table.getByText('not asked').count()).toBe(1);
  });
});

/** Two days of a campaign in dollars, and in euros. */
const twoCurrencies: Handler = (request, response) => {
  const query = new URL(request.url ?? '', 'http://platform.test').searchParams;
  const days = query.has('byDate') ? [query.get('dateFrom'), query.get('dateTo')] : [null];
  const rows = days.flatMap((date) =>
    ['USD', 'EUR'].map((currency, index) => ({
      ...(date === null ? {} : { date, campaign_id: 1 }),
      advertiser_id: 1,
      impressions: 100,
      spent: `${index + 1}0.0000`,
      currency,
    })),
  );
  sends(JSON.stringify({ data: rows }))(request, response);
};

describe('money of two currencies', () => {
  it('is in groups of its own, and is summed neither by day nor for all rows', async () => {
    const gateway = await gatewayAt(await startRawPlatform(twoCurrencies));
    const key = await gateway.addTeam();
    const { page, shots, faults } = await explorer(gateway, key, `${REPORT}&metric=spent&against=previous`);
    const card = page.getByRole('region', {
      name: /^Compared with \w{3} \d+(, \d{4})? – (\w{3} )?\d+, \d{4}$/,
    });
    await card.getByText('Spent cannot be shown for all rows.').waitFor();
    await card.getByText('1 · USD', { exact: true }).waitFor();
    await card.getByText('1 · EUR', { exact: true }).waitFor();
    await page.getByText('no sum', { exact: true }).waitFor();
    const total = await card.locator('tfoot td').allInnerTexts();
    expect(total.map((text) => text.split('\n')[0])).toEqual(['Total', '–', '400', '–']);
    await shots('explorer-currencies');
    expect(faults).toEqual([]);
  });
});

describe('rows of days outside of the period', () => {
  it('are in the table, and the chart says how many it leaves out', async () => {
    const gateway = await gatewayAt(
      await startRawPlatform((request, response) => {
        const from = new URL(request.url ?? '', 'http://platform.test').searchParams.get('dateFrom');
        const rows = [from, '2020-01-01', '2020-01-02'].map((date) => ({ date, ...DELIVERY }));
        sends(JSON.stringify({ data: rows }))(request, response);
      }),
    );
    const { page, shots, faults } = await explorer(gateway, await gateway.addTeam(), REPORT);
    await page.getByText(/^2 rows have no date in \w{3} \d+/).waitFor();
    const table = page.getByRole('region', { name: 'Rows of the report' });
    await table.getByText('Jan 1, 2020').waitFor();
    await shots('explorer-outside');
    const chart = page.getByRole('img', { name: 'Impressions by day' });
    await chart.locator('.u-over').hover();
    await page.locator('.tooltip').getByText('1: no row').waitFor();
    expect(faults).toEqual([]);
  });
});

describe('columns with names that all objects have', () => {
  it('are shown where the platform has them, and are empty elsewhere', async () => {
    const gateway = await gatewayAt(
      await startRawPlatform((request, response) => {
        const from = new URL(request.url ?? '', 'http://platform.test').searchParams.get('dateFrom');
        const row = JSON.stringify({ ...{ date: from, ...DELIVERY }, constructor: 'of steel', toString: 7 });
        const other = JSON.stringify({ date: from, ...DELIVERY, campaign_id: 2 });
        sends(`{"data":[${row.replace('{', '{"__proto__":5,')},${other}]}`)(request, response);
      }),
    );
    const { page, faults } = await explorer(gateway, await gateway.addTeam(), REPORT);
    const table = page.getByRole('region', { name: 'Rows of the report' });
    await table.getByText('of steel').waitFor();
    expect(await table.getByText('native code').count()).toBe(0);
    await page.getByLabel('Filter').fill('native');
    await page.getByText('No row matches the filter.').waitFor();
    expect(faults).toEqual([]);
  });
});

const DELIVERY = { advertiser_id: 1, campaign_id: 1, impressions: 100, spent: '1.0000', currency: 'USD' };

describe('changes', () => {
  it('of a report that has none lead to the report by date only, whose changes are kept apart', async () => {
    const { gateway, key, ask } = await historyScene('&byCampaign=1');
    await ask(`${BY_DATE}&byCampaign=1`);
    const { page, axe, faults } = await explorer(gateway, key, `${REPORT}&panel=diff`);
    const panel = page.getByRole('region', { name: 'What changed', exact: true });
    await panel
      .getByText(
        /^No day of this report has changed since the gateway first fetched it\. These days are known only since \w+ \d+, \d+ [\d:]+ UTC; changes before that cannot be seen\./,
      )
      .waitFor();
    await panel.getByText(/Changes are kept for each split apart\./).waitFor();
    expect(await axe()).toEqual([]);
    // The report by date only has no history here, which the browser writes on its console.
    expect(faults).toEqual([]);
    await panel.getByRole('link', { name: 'Look at the report by date only' }).click();
    await page.waitForURL((url) => /byDate=1.*panel=diff/.test(url.hash) && !url.hash.includes('byCampaign'));
    await panel.waitFor();
    expect(await panel.getByRole('link', { name: 'Look at the report by date only' }).count()).toBe(0);
  });

  it('of a day fetched with another token or other columns are marked, and the day says what that may do', async () => {
    const { gateway, key, ask, restated } = await historyScene('&byCampaign=1');
    await ask(`${BY_DATE}&byCampaign=1`);
    await restated(`${BY_DATE}&byCampaign=1`);
    const { page, faults } = await explorer(gateway, key, REPORT);
    const isRevisions = (url: URL) => url.pathname === '/gateway/v1/revisions';
    await page.route(isRevisions, async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replaceAll('"kind":"changed"', '"kind":"method"');
      await route.fulfill({ response, body });
    });
    onTestFinished(() => page.unroute(isRevisions));
    await page.getByRole('button', { name: 'What changed' }).click();
    const days = page.getByRole('list', { name: 'Days that changed, newest first' });
    await days.getByRole('group').filter({ hasText: 'fetched differently' }).first().click();
    await days
      .getByText(/ The later numbers were fetched with another platform token, or have other columns\./)
      .waitFor();
    expect(await page.getByText('operator').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  it('between two moments come from history, and the moments are in the address', async () => {
    const { gateway, key, ask, restated } = await historyScene('&byCampaign=1');
    await ask(`${BY_DATE}&byCampaign=1`);
    await restated(`${BY_DATE}&byCampaign=1`);
    gateway.clock.advance(MINUTE);
    const { page, shots, faults } = await explorer(gateway, key, REPORT);
    await page.getByRole('button', { name: 'What changed' }).click();
    const panel = page.getByRole('region', { name: 'What changed', exact: true });
    await panel
      .getByText(
        /^1 day changed since first fetched\. Spent of all 3 days: \$[\d,.]+ → \$[\d,.]+, \$[\d,.]+ (more|less) \([+−][\d.]+%\)\.$/,
      )
      .waitFor();
    await panel.getByText(/^Impressions [\d,]+ more \([+−][\d.]+%\); /).waitFor();
    const days = panel.getByRole('list', { name: 'Days that changed, newest first' });
    const [corrected] = await days.getByRole('group').allInnerTexts();
    expect(corrected?.replaceAll(/\s+/g, ' ').trim()).toMatch(
      /^Nov 18, 2026 \$[\d,.]+ → \$[\d,.]+ \$[\d,.]+ (more|less) \([+−][\d.]+%\) \d+ campaigns? moved$/,
    );
    await shots('explorer-changed');
    await days.getByText('Nov 18, 2026').click();
    await days
      .getByText(/^Changed between Nov \d+, 2026 \d\d:\d\d and .* UTC: \$[\d,.]+ → \$[\d,.]+, .*%\)\.$/)
      .waitFor();
    const campaigns = days.getByRole('region', { name: 'What moved on Nov 18, 2026' });
    const [, campaign] = await campaigns.getByRole('row').allInnerTexts();
    expect(campaign?.replaceAll(/\s+/g, ' ')).toMatch(
      / \(Campaign id \d+\) \$[\d,.]+ → \$[\d,.]+, \$[\d,.]+ (more|less) \([+−][\d.]+%\)$/,
    );
    const moved = Number(/(\d+) campaigns? moved/.exec(corrected ?? '')?.[1]);
    expect(await campaigns.getByRole('row').count()).toBe(moved + 1);
    await shots('explorer-changed-day');
    await panel.getByLabel('Changes in').selectOption('ctr');
    await page.waitForURL(/metric=ctr/);
    await campaigns.getByRole('columnheader', { name: 'Clicks' }).waitFor();
    const download = page.waitForEvent('download');
    await panel.getByRole('button', { name: 'CSV of every row and column that differs' }).click();
    expect((await download).suggestedFilename()).toBe('campaigns_1_2026-11-18_2026-11-18_changes.csv');
    await panel.getByText('Between two moments').click();
    const moment = new Date(gateway.clock.now()).toISOString().slice(0, 16);
    await panel.getByLabel('From (UTC)').fill(moment);
    await panel.getByRole('button', { name: 'Compare' }).click();
    await page.waitForURL((url) =>
      url.hash.includes(new URLSearchParams({ between: `${moment},latest` }).toString()),
    );
    await panel
      .getByText(`No day of this report has changed since ${dates.full(moment)} ${moment.slice(11)} UTC.`)
      .waitFor();
    const since = panel.getByLabel('Changed since');
    expect(await since.locator('option').allTextContents()).toEqual([
      'first fetched',
      'yesterday',
      '7 days ago',
      'chosen moments',
    ]);
    await since.selectOption('yesterday');
    await page.waitForURL(/between=yesterday%2Clatest/);
    await since.selectOption('first fetched');
    await panel.getByText(/^1 day changed since first fetched\./).waitFor();
    expect(faults).toEqual([]);
  });
});

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
  const gateway = await gatewayAt(platform, { logLevel: 'info' });
  const key = await gateway.addTeam();
  const query = `advertiserId=1&byDate=1&byCampaign=1&dateFrom=${dayAt(0)}&dateTo=${dayAt(DAYS - 1)}`;
  const { page, faults, axe } = await explorer(gateway, key, `#/report?${query}`);
  const rows = page.getByRole('region', { name: 'Rows of the report' });
  await rows.waitFor();
  await page.getByText('100,000 rows; the first 5,000 are shown, CSV has all').waitFor();
  expect(await page.getByRole('link', { name: 'CSV: the platform’s rows and columns' }).count()).toBe(1);
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
  await page.getByText('100 of 100,000 rows', { exact: true }).waitFor();
  expect(await axe()).toEqual([]);
  expect(faults).toEqual([]);
});
