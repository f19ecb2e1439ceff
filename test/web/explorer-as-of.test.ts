/** The explorer with numbers as they were at an earlier time, which have no totals of the platform. */
import { expect, it } from 'vitest';
import { BY_DATE, HOUR, historyScene, PERIOD } from '../gateway/history-scene.js';
import { listenGateway } from '../support/listen-gateway.js';
import { signedIn } from './people.js';

it.each([
  { of: 'one advertiser', ids: [1], rows: '3 rows' },
  { of: 'several advertisers', ids: [1, 2], rows: '6 rows' },
])('a person reads the numbers of $of as they were, with sums of the rows', async ({ ids, rows }) => {
  const { gateway, key, ask } = await historyScene();
  for (const id of ids) await ask(BY_DATE.replace('advertiserId=1', `advertiserId=${id}`));
  const asOf = new Date(gateway.clock.now()).toISOString().slice(0, 16);
  gateway.clock.advance(HOUR);
  const query = `${ids.map((id) => `advertiserId=${id}`).join('&')}&byDate=1&${PERIOD}&asOf=${asOf}`;
  const url = `${await listenGateway(gateway)}/explorer#/report?endpoint=campaigns%2Fget&${query}`;
  const { page, faults } = await signedIn(url, 'Team key', key);
  const table = page.getByRole('region', { name: 'Rows of the report' });
  await table.waitFor();
  expect(await table.locator('tbody tr').count()).toBe(3 * ids.length);
  await table.getByRole('rowheader', { name: 'Sum of rows' }).waitFor();
  const stamp = asOf.replace('T', ' ');
  await page
    .getByText(`${rows}, as of ${stamp}`)
    .getByText('Totals have no history: sums of these rows are shown.')
    .waitFor();
  // The numbers of now have totals.
  await page.goto(url.replace(/&asOf=.*$/, ''));
  await page.getByText(rows, { exact: true }).first().waitFor();
  expect(await page.getByText('Totals have no history').count()).toBe(0);
  expect(faults).toEqual([]);
});

it('a person opens the cache state of numbers as they were', async () => {
  const { gateway, key, ask } = await historyScene();
  await ask(BY_DATE);
  const asOf = new Date(gateway.clock.now()).toISOString().slice(0, 16);
  gateway.clock.advance(HOUR);
  const query = `${BY_DATE}&asOf=${asOf}&panel=explain`;
  const url = `${await listenGateway(gateway)}/explorer#/report?endpoint=campaigns%2Fget&${query}`;
  const { page, faults } = await signedIn(url, 'Team key', key);
  const panel = page.getByRole('region', { name: 'Cache state', exact: true });
  await panel.waitFor();
  await panel.getByText('Loading').waitFor({ state: 'detached' });
  expect(await panel.getByRole('alert').count()).toBe(0);
  expect(faults).toEqual([]);
});
