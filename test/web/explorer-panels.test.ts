/** What opens beside a report: where it comes from, its code, what became of it, and the pin. */
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, newTeam } from '../support/ask.js';
import { type Gateway, startGateway, startPlatform } from '../support/processes.js';
import { signedIn } from './people.js';

let gateway: Gateway;
let key: string;
let reader: string;

beforeAll(async () => {
  const platform = await startPlatform(['--switch', 'accountNames=hostile']);
  gateway = await startGateway(platform.env);
  ({ key } = await newTeam(gateway, { id: 'growth', scopes: ['report:read', 'report:pin'] }));
  ({ key: reader } = await newTeam(gateway, { id: 'reader', scopes: ['report:read'] }));
});

const WEEK = '#/report?endpoint=campaigns%2Fget&advertiserId=1&byDate=1&byCampaign=1&_period=last_7_days';
const explorer = (more = '') => `${gateway.data}/explorer${WEEK}${more}`;

describe('the badge', () => {
  it('opens what is kept and what an answer costs, and the address says so', async () => {
    const seen = await signedIn(explorer(), 'Team key', key);
    const { page, faults } = seen;
    const badge = page.locator('.badge');
    await badge.click();
    await page.waitForURL(/panel=explain/);
    const panel = page.getByRole('region', { name: 'Where it comes from' });
    await panel.getByText(/^Answered (by day|as a whole): /).waitFor();
    await panel.getByText('Answering it now makes no platform call.').waitFor();
    await panel.getByText('7 of 7').waitFor();
    expect(await badge.getAttribute('aria-expanded')).toBe('true');
    expect(await seen.axe()).toEqual([]);
    await seen.shots('explorer-explain');
    await badge.click();
    await panel.waitFor({ state: 'detached' });
    expect(page.url()).not.toContain('panel=');
    expect(faults).toEqual([]);
  });
});

describe('code', () => {
  it('is shown for each tool without the key, and copied', async () => {
    const seen = await signedIn(explorer('&panel=code'), 'Team key', key);
    const { page, context, faults } = seen;
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const panel = page.getByRole('region', { name: 'As code' });
    await panel.getByText('curl --silent').waitFor();
    expect(await seen.axe()).toEqual([]);
    await seen.shots('explorer-code');
    for (const tool of ['curl', 'JavaScript', 'Python', 'Google Sheets']) {
      await panel.getByRole('button', { name: tool, exact: true }).click();
      const code = (await panel.locator('pre').textContent()) ?? '';
      expect(code).toContain(`${gateway.data}/api/v1/report/campaigns/get`);
      expect(code).not.toContain(key);
      await panel.getByRole('button', { name: 'Copy' }).click();
      await page.getByText('The code is copied.').waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(code);
    }
    expect(faults).toEqual([]);
  });
});

describe('changes', () => {
  it('that are not known are told with what to do', async () => {
    const seen = await signedIn(explorer('&panel=diff'), 'Team key', key);
    const panel = seen.page.getByRole('region', { name: 'Changes' });
    await panel.getByRole('alert').getByText('have no history that may be shown').waitFor();
    expect(await seen.axe()).toEqual([]);
    await seen.shots('explorer-diff-unknown');
  });

  it('between two moments come from history, and the moments are in the address', async () => {
    const seen = await signedIn(explorer(), 'Team key', key);
    const { page, faults } = seen;
    // A history that differs takes days to come about; how it is answered is tested at the gateway.
    await page.route(/gateway.v1.diff/, (route) =>
      route.fulfill({
        json: route.request().url().includes('from=first') ? { ...DIFF, data: [] } : DIFF,
      }),
    );
    await page.getByRole('button', { name: 'Changes' }).click();
    const panel = page.getByRole('region', { name: 'Changes' });
    await panel.getByText('Nothing differs between these moments.').waitFor();
    await panel.getByLabel('From (UTC)').fill('2026-01-01T08:00');
    await panel.getByRole('button', { name: 'Compare the moments' }).click();
    await page.waitForURL(/between=2026-01-01T08%3A00%2Clatest/);
    await panel.getByText('3 values in 2 rows differ.').waitFor();
    await panel.getByText('+25 %').waitFor();
    expect(await seen.axe()).toEqual([]);
    await seen.shots('explorer-diff');
    expect(faults).toEqual([]);
  });
});

/** As the gateway answers, with rows that a platform would have restated in between. */
const DIFF = {
  data: [
    {
      ...{ date: '2026-11-01', campaignId: 108, campaignName: '<b>Sale</b>', kind: 'changed' },
      changed: {
        clicks: { old: 80, new: 100, diff: 20, percent: 25 },
        spent: { old: 0, new: 3.5, diff: 3.5, percent: null },
      },
    },
    {
      ...{ date: '2026-11-02', campaignId: 109, campaignName: 'New one', kind: 'added' },
      changed: { clicks: { old: null, new: 7 } },
    },
  ],
  meta: { from: '2026-01-01T08:00:00.000Z', to: 'latest', rowCount: 2, inexactDays: ['2026-11-02'] },
};

describe('a pin', () => {
  it('holds the report as it is shown, and leads to the list of pins', async () => {
    const seen = await signedIn(explorer(), 'Team key', key);
    const { page, faults } = seen;
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Pin this report' });
    await dialog.getByLabel('Note').fill('for the <b>board</b>');
    expect(await seen.axe()).toEqual([]);
    await seen.shots('explorer-pin');
    await dialog.getByRole('button', { name: 'Pin it' }).click();
    await dialog.getByText('It is pinned').waitFor();
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
    const { page } = await signedIn(explorer(), 'Team key', reader);
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.getByRole('dialog').getByText('This key may not pin').waitFor();
    expect(await page.getByRole('button', { name: 'Pin it' }).count()).toBe(0);
  });
});

describe('a comparison', () => {
  it('with the days before has each change, and both periods in one chart', async () => {
    const seen = await signedIn(explorer(), 'Team key', key);
    const { page, faults } = seen;
    await page.getByLabel('Compare with').selectOption('previous');
    await page.waitForURL(/against=previous/);
    const card = page.getByRole('region', { name: /^Compared with \d{4}-\d\d-\d\d to/ });
    await card.getByRole('img', { name: /by day in both periods/ }).waitFor();
    await card
      .getByText(/^[+-][\d,]+ \([+-][\d.,]+ %\)$/)
      .first()
      .waitFor();
    expect(await seen.axe()).toEqual([]);
    await seen.shots('explorer-compare');
    expect(faults).toEqual([]);
  });
});

describe('a report that does not come', () => {
  it.each([403, 429, 504])('because of %i is told with what to do', async (status) => {
    const seen = await signedIn(explorer(), 'Team key', key);
    const { page } = seen;
    const problem = {
      title: `Title ${status}`,
      detail: 'It did not come.',
      help: 'Do this.',
      status,
      code: 'x',
    };
    const headers = status === 429 ? { 'retry-after': '600' } : {};
    await page.route(/api.v1.report/, (route) => route.fulfill({ status, headers, json: problem }));
    await page.getByLabel('Period').selectOption('yesterday');
    await page.getByRole('button', { name: 'Show the report' }).click();
    const alert = page.getByRole('alert').filter({ hasText: `Title ${status}` });
    await alert.getByText('It did not come. Do this.').waitFor();
    expect(await alert.getByRole('button').isDisabled()).toBe(status === 429);
    expect(await seen.axe()).toEqual([]);
    await seen.shot(`explorer-${status}`);
  });

  it('because nobody answers is asked for again when the connection is back', async () => {
    const { page, context } = await signedIn(explorer(), 'Team key', key);
    await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
    await context.setOffline(true);
    await page.getByLabel('Period').selectOption('yesterday');
    await page.getByRole('button', { name: 'Show the report' }).click();
    const alert = page.getByRole('alert').filter({ hasText: 'The gateway does not answer' }).first();
    await alert.waitFor();
    await context.setOffline(false);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('region', { name: 'Rows of the report' }).waitFor();
    expect(await alert.count()).toBe(0);
  });
});

describe('money of two currencies', () => {
  it('is in groups of its own, and is summed neither by day nor for all rows', async () => {
    const row = (date: string, currency: string, spent: number) => ({ date, campaignId: 1, currency, spent });
    const data = ['2026-11-01', '2026-11-02'].flatMap((day) => [row(day, 'USD', 10), row(day, 'EUR', 20)]);
    const meta = {
      ...{ endpoint: 'campaigns/get', advertiserId: 1, split: ['date', 'campaign'], rowCount: 4 },
      period: { from: '2026-11-01', to: '2026-11-02' },
    };
    const seen = await signedIn(`${gateway.data}/explorer#/access`, 'Team key', key);
    const { page, faults } = seen;
    await page.route(/api.v1.report/, (route) => route.fulfill({ json: { data, meta } }));
    await page.evaluate(`location.hash = ${JSON.stringify(`${WEEK}&against=previous`)}`);
    const card = page.getByRole('region', { name: /^Compared with \d{4}-\d\d-\d\d to/ });
    await card.getByText('Spent has no line for all rows.').waitFor();
    await card.getByText('1 · USD', { exact: true }).waitFor();
    await card.getByText('1 · EUR', { exact: true }).waitFor();
    await page.getByText('no sum', { exact: true }).waitFor();
    expect(await seen.axe()).toEqual([]);
    await seen.shots('explorer-currencies');
    expect(faults).toEqual([]);
  });
});
