/** What opens beside a report: where it comes from, its code, what became of it, and the pin. */
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, newTeam } from '../support/ask.js';
import { type Gateway, startGateway, startPlatform } from '../support/processes.js';
import { signedIn } from './people.js';

let gateway: Gateway;
let key: string;
let reader: string;

beforeAll(async () => {
  const platform = await startPlatform({ switches: { accountNames: 'hostile' } });
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
    expect(await panel.getByRole('group', { name: /^Days/ }).getByRole('button').count()).toBe(7);
    expect(await badge.getAttribute('aria-expanded')).toBe('true');
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
    await seen.shots('explorer-code');
    for (const tool of ['curl', 'JavaScript', 'Google Sheets', 'Python']) {
      await panel.getByRole('button', { name: tool, exact: true }).click();
      const code = (await panel.locator('pre').textContent()) ?? '';
      expect(code).toContain(`${gateway.data}/api/v1/report/campaigns/get`);
      expect(code).not.toContain(key);
      await panel.getByRole('button', { name: 'Copy' }).click();
      await page.getByText('The code is copied.').waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(code);
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
  it('that are not known are told with what to do', async () => {
    const seen = await signedIn(explorer('&panel=diff'), 'Team key', key);
    const panel = seen.page.getByRole('region', { name: 'Changes' });
    await panel.getByRole('alert').getByText('have no history that may be shown').waitFor();
    await seen.shots('explorer-diff-unknown');
  });
});

describe('a pin', () => {
  it('holds the report as it is shown, and leads to the list of pins', async () => {
    const seen = await signedIn(explorer(), 'Team key', key);
    const { page, faults } = seen;
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Pin this report' });
    await dialog.getByLabel('Note').fill('for the <b>board</b>');
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
    // People do not add up over groups: the total is what the platform says of each period.
    const cells = card.locator('tfoot td');
    expect((await cells.allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
      'Total',
      ...Array.from({ length: 4 }, () => expect.stringMatching(/^[\d,.]+ [+-]?[\d,.]+ \([+-]?[\d.,]+ %\)$/)),
    ]);
    expect(await cells.last().getAttribute('data-title')).toBe('Reach');
    expect(await card.locator('tbody td[data-title=Reach]').first().textContent()).toBe('–');
    await seen.shots('explorer-compare');
    expect(faults).toEqual([]);
  });
});
