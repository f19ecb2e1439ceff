/** What changed, of days of which one was first fetched later than the moment. */
import { expect, it } from 'vitest';
import { historyScene } from '../gateway/history-scene.js';
import { listenGateway } from '../support/listen-gateway.js';
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
});
