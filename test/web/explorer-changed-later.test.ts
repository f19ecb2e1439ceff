/** What changed, of days of which one was first fetched later than the moment. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseCsv } from '../../src/web/explorer/join-csv.js';
import { historyScene } from '../gateway/history-scene.js';
import { listenGateway } from '../support/listen-gateway.js';
import { tempFolder } from '../support/processes.js';
import { HOUR } from '../support/test-clock.js';
import { signedIn } from './people.js';

const days = (from: string, to: string) => `dateFrom=2026-11-${from}&dateTo=2026-11-${to}`;
const reportOf = (period: string) => `advertiserId=1&byDate=1&byCampaign=1&${period}`;

it('a day that was first fetched after the moment does not say that none of its campaigns moved', async () => {
  const { gateway, key, ask } = await historyScene('&byCampaign=1');
  await ask(reportOf(days('17', '17')));
  gateway.clock.advance(HOUR);
  const since = new Date(gateway.clock.now()).toISOString();
  gateway.clock.advance(2 * HOUR);
  await ask(reportOf(days('17', '18')));
  gateway.simulator.restate({ advertiserId: 1, from: '2026-11-17', to: '2026-11-18' });
  gateway.clock.advance(2 * HOUR);
  await ask(reportOf(days('17', '18')));
  gateway.clock.advance(2 * HOUR);
  await ask(reportOf(days('17', '18')));
  const hash = `#/report?endpoint=campaigns%2Fget&${reportOf(days('17', '18'))}&panel=diff&between=${encodeURIComponent(`${since},latest`)}`;
  const { page } = await signedIn(`${await listenGateway(gateway)}/explorer${hash}`, 'Team key', key);
  const list = page.getByRole('list', { name: 'Days that changed, newest first' });
  await list.getByText(/1 campaign moved/).waitFor();
  const told = (await list.getByRole('group').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '));
  expect(told).toHaveLength(2);
  expect(told.join()).not.toMatch(/\b0 campaigns moved/);
  // A day that was not known at the first moment is compared with its first numbers, also in the file.
  expect(await page.getByText('The CSV is without').count()).toBe(0);
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'CSV of every row and column that differs' }).click();
  const path = join(await tempFolder(), 'changes.csv');
  await (await download).saveAs(path);
  const text = await readFile(path, 'utf8');
  expect(text.startsWith('\ufeff')).toBe(true);
  const [head = [], ...lines] = parseCsv(text.replace('\ufeff', ''));
  expect(head.slice(0, 4)).toEqual(['Date', 'Campaign name', 'Campaign id', 'Change']);
  expect(new Set(lines.map(([date]) => date))).toEqual(new Set(['2026-11-17', '2026-11-18']));
  expect(lines.some((cells) => cells[4] === 'Spent (USD)')).toBe(true);
});
