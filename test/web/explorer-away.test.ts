/** The explorer while the platform does not answer: one sentence for it, and what is known as links. */
import { expect, it } from 'vitest';
import { totalOf } from '../../src/web/explorer/compare.js';
import { allColumnsOf } from '../../src/web/explorer/measures.js';
import type { Meta } from '../../src/web/explorer/parse.js';
import { BY_DATE, historyScene, PERIOD } from '../gateway/history-scene.js';
import { listenGateway } from '../support/listen-gateway.js';
import { HOUR, MINUTE } from '../support/test-clock.js';
import { signedIn } from './people.js';

const REPORT = 'explorer#/report?endpoint=campaigns%2Fget';
const AWAY = { kind: 'status', status: 503, times: 0 } as const;
const days = (from: number, to: number) => `dateFrom=2026-11-${from}&dateTo=2026-11-${to}`;

it('of several advertisers the days that all know are one link, and no parameter is named', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(BY_DATE.replace(PERIOD, days(17, 18)));
  await ask(BY_DATE.replace(PERIOD, days(18, 19)).replace('advertiserId=1', 'advertiserId=2'));
  gateway.simulator.fault(AWAY);
  const url = `${await listenGateway(gateway)}/${REPORT}&${BY_DATE}&advertiserId=2`;
  const { page, shots } = await signedIn(url, 'Team key', key);
  await page.getByText('0 of 2 advertisers.').waitFor();
  const table = page.getByRole('region', { name: 'Advertisers', exact: true });
  await table.getByText('The platform does not answer. Known: Nov 17 – 18, 2026.').waitFor();
  await table.getByText('The platform does not answer. Known: Nov 18 – 19, 2026.').waitFor();
  expect((await table.allInnerTexts()).join()).not.toMatch(/dateFrom|Repeat|503/);
  await shots('explorer-several-away');
  await page.getByRole('link', { name: 'Show Nov 18, 2026 for all' }).click();
  const lines = page.getByRole('region', { name: 'Rows of the report' }).locator('tbody tr');
  await expect.poll(() => lines.count()).toBe(2);
});

it.each([
  { of: 'a report', others: [] },
  { of: 'several advertisers', others: [2] },
])(
  '$of whose totals alone are missing says that they could not be fetched, and why; once the platform answers, they come when asked for again',
  async ({ others }) => {
    const { gateway, key, ask } = await historyScene();
    for (const id of [1, ...others]) await ask(BY_DATE.replace('advertiserId=1', `advertiserId=${id}`));
    gateway.simulator.fault(AWAY);
    const url = `${await listenGateway(gateway)}/${REPORT}&${BY_DATE}${others.map((id) => `&advertiserId=${id}`)}`;
    const { page } = await signedIn(url, 'Team key', key);
    const notes = page.getByText(
      /^(.+: )?Totals of the platform could not be fetched \([A-Z][a-z ]+\): ask again later\. Sums of the rows/,
    );
    await expect.poll(() => notes.count()).toBe(1 + others.length);
    expect(await page.getByText('upstream_').count()).toBe(0);
    gateway.simulator.clearFaults();
    gateway.clock.advance(HOUR / 2);
    await page.getByRole('button', { name: 'Ask again', exact: true }).first().click();
    await expect.poll(() => notes.count()).toBe(0);
    await page.locator('td[data-title=Reach], .figure:has-text("Reach")').first().waitFor();
  },
);

it('a team that may have numbers fetched anew reads them from the cache all the same, until a person presses “Fetch now”', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(`${BY_DATE}&_totals=1`);
  const before = gateway.simulator.calls.length;
  gateway.clock.advance(5 * MINUTE);
  const { page } = await signedIn(`${await listenGateway(gateway)}/${REPORT}&${BY_DATE}`, 'Team key', key);
  await page.getByText(/^Numbers are 5 min old; newer ones in \d+ min\./).waitFor();
  expect(gateway.simulator.calls.length).toBe(before);
  await page.getByRole('button', { name: 'Fetch now' }).click();
  await page.getByText(/^Numbers are less than a minute old; newer ones in/).waitFor();
  expect(gateway.simulator.calls.length).toBeGreaterThan(before);
});

it('days that are known come earliest first, in words and as links', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(BY_DATE.replace(PERIOD, days(14, 14)));
  await ask(BY_DATE.replace(PERIOD, days(17, 18)));
  gateway.simulator.fault(AWAY);
  const query = BY_DATE.replace(PERIOD, days(14, 19));
  const { page } = await signedIn(`${await listenGateway(gateway)}/${REPORT}&${query}`, 'Team key', key);
  const alert = page.getByRole('alert').filter({ hasText: 'The platform does not answer.' });
  await alert.getByText('Known: Nov 14, 2026; Nov 17 – 18, 2026.').waitFor();
  expect(await alert.getByRole('link').allInnerTexts()).toEqual([
    'Show Nov 14, 2026',
    'Show Nov 17 – 18, 2026',
  ]);
});

it('a report that is not by date leads to the one by date, whose days are known', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(BY_DATE);
  gateway.simulator.fault(AWAY);
  const url = `${await listenGateway(gateway)}/${REPORT}&advertiserId=1&${PERIOD}`;
  const { page } = await signedIn(url, 'Team key', key);
  const alert = page.getByRole('alert').filter({ hasText: 'The platform does not answer.' });
  await alert.getByText('By date as well it is: Nov 17 – 19, 2026.').waitFor();
  await alert.getByRole('link', { name: 'Show it by date as well' }).click();
  const lines = page.getByRole('region', { name: 'Rows of the report' }).locator('tbody tr');
  await expect.poll(() => lines.count()).toBe(3);
});

it('an older answer says that the platform does not answer, and how old it is', async () => {
  const { gateway, key, ask } = await historyScene();
  const query = BY_DATE.replace(PERIOD, days(20, 20));
  await ask(query);
  gateway.simulator.fault(AWAY);
  gateway.clock.advance(HOUR);
  for (const id of [5, 6, 7, 8]) await ask(BY_DATE.replace('advertiserId=1', `advertiserId=${id}`));
  const url = `${await listenGateway(gateway)}/${REPORT}&${query}`;
  const { page } = await signedIn(url, 'Team key', key);
  await page
    .getByText(/^Numbers are 1 h.* old: the platform does not answer\. Newer ones are shown/)
    .waitFor();
  expect(await page.getByText('being refreshed').count()).toBe(0);
});

it('the only row is the total, of people too', () => {
  const rows = [{ date: '2026-11-20', clicks: 3, reach: 2 }];
  const { columns } = allColumnsOf(rows, null);
  const reach = columns.find(({ name }) => name === 'reach');
  if (reach === undefined) throw new Error('no reach');
  const of = (some: typeof rows) => totalOf({ rows: some, meta: {} as Meta }, reach);
  expect([of(rows), of([...rows, ...rows])]).toEqual([2, null]);
});
