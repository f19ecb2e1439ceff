/** The console's last changes: a picture by advertiser, the same as a table, and what stands there before the first one. */
import { expect, it } from 'vitest';
import { BY_DATE, HOUR, historyScene } from '../gateway/history-scene.js';
import { listenAdmin } from '../support/listen-gateway.js';
import { ADMIN_TOKEN, type TestGateway, withGateway } from '../support/start-gateway.js';
import { signedIn } from './people.js';

async function consoleOf(gateway: TestGateway) {
  const seen = await signedIn(`${await listenAdmin(gateway)}/#/cache`, 'Admin token', ADMIN_TOKEN);
  return { ...seen, card: seen.page.getByRole('region', { name: 'Last changes', exact: true }) };
}

it('the last changes are a picture of days and times by advertiser, and a table with names, values and reasons', async () => {
  const { gateway, ask } = await historyScene();
  const reports = [1, 2, 3].map((id) => BY_DATE.replace('advertiserId=1', `advertiserId=${id}`));
  for (const report of reports) await ask(report);
  for (const day of ['2026-11-17', '2026-11-19', '2026-11-18']) {
    gateway.clock.advance(2 * HOUR);
    for (const advertiserId of [1, 2, 3])
      gateway.simulator.restate({ advertiserId, from: day, to: '2026-11-19' });
    for (const report of reports) await ask(report);
    gateway.clock.advance(2 * HOUR);
    for (const report of reports) await ask(report);
  }
  const { page, card, shots, faults } = await consoleOf(gateway);
  const picture = card.getByRole('img', { name: /^Last \d+ changes: the day that changed/ });
  await picture.waitFor();
  expect(await picture.locator('circle').count()).toBeGreaterThan(9);
  await card.scrollIntoViewIfNeeded();
  await shots('console-changes');
  const toggle = card.getByRole('button', { name: 'Show table' });
  await toggle.focus();
  await page.keyboard.press('Enter');
  const row = card.getByRole('row').filter({ hasText: '2026-11-18' }).first();
  expect((await row.allInnerTexts()).join().replaceAll(/\s+/g, ' ')).toMatch(
    / 2026-11-18 \w+ [\d,.]+ → [\d,.]+ [\d.]+ % .* corrected by the platform campaigns\/get, by date$/,
  );
  await shots('console-changes-table');
  expect(faults).toEqual([]);
});

it('says so where no day has changed yet', async () => {
  const { card, faults } = await consoleOf(await withGateway());
  await card.getByText('No day has changed yet since it was first known.').waitFor();
  expect(faults).toEqual([]);
});
