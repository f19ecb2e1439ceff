/**
 * The halves of a capped range were capped too: each proof voided the days that the other halves had brought, so they
 * were asked for again until the request ran out of time. And a range of exactly as many rows made the cap forgotten.
 */
import { expect, it } from 'vitest';
import { byDay, rowsPerDay } from '../reports/fetch/by-day.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';

const PER_DAY = 60;

async function gatewayBeforeCap() {
  const platform = await startRawPlatform(rowsPerDay(() => PER_DAY, 600));
  const gateway = await gatewayAt(platform, { config: { report: { crossCheckEvery: 0 } } });
  const key = await gateway.addTeam();
  return async (from: string, to: string) => {
    const before = platform.requests.length;
    const reply = await gateway.report(key, byDay(from, to));
    await gateway.services.settled();
    return { rows: reportIn(reply).meta.rowCount, calls: platform.requests.length - before };
  };
}

it('a range of more than twice as many rows as the cap costs one call for each half', async () => {
  const ask = await gatewayBeforeCap();
  // Nobody can tell yet.
  await ask('2026-10-20', '2026-11-08');
  const { rows, calls } = await ask('2026-10-18', '2026-11-10');
  expect(rows).toBe(24 * PER_DAY);
  expect(calls).toBeLessThan(15);
  expect((await ask('2026-10-20', '2026-11-08')).rows).toBe(20 * PER_DAY);
});

it('a range that happens to have as many rows as a proven cap takes nothing back', async () => {
  const ask = await gatewayBeforeCap();
  await ask('2026-10-20', '2026-11-08');
  await ask('2026-10-18', '2026-11-05');
  expect((await ask('2026-10-01', '2026-10-10')).rows).toBe(600);
  expect((await ask('2026-09-01', '2026-09-19')).rows).toBe(19 * PER_DAY);
});

it('a count that was a coincidence for short ranges is looked into again for a longer one', async () => {
  const ask = await gatewayBeforeCap();
  await ask('2026-10-01', '2026-10-10');
  await ask('2026-10-11', '2026-10-20');
  expect((await ask('2026-09-01', '2026-09-19')).rows).toBe(19 * PER_DAY);
});
