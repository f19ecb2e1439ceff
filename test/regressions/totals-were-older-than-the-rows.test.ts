/** `meta.totals` of what was known before stood beside newer rows, as final, without a word. */
import { expect, it } from 'vitest';
import { ALWAYS, byDay } from '../reports/fetch/by-day.js';
import { sends } from '../support/raw-platform.js';
import { startSpending } from '../support/spending.js';
import { type Call, gatewayAt, reportIn } from '../support/start-gateway.js';
import { HOUR, MINUTE } from '../support/test-clock.js';

const ROWS = byDay('2026-11-07', '2026-11-09');
const TOTALS = `${ROWS}&_totals=1`;
const WIDE = byDay('2026-11-05', '2026-11-10');

async function scene() {
  const { platform, said } = await startSpending();
  const gateway = await gatewayAt(platform, {
    config: { ...ALWAYS, platform: { retry: { attempts: 0 } } },
  });
  const key = await gateway.addTeam();
  const ask = async (query: string, call: Call = {}) => {
    const { data, meta } = reportIn(await gateway.report(key, query, call));
    await gateway.services.settled();
    return { rows: data.map((row) => row.spent), totals: meta.totals?.spent, meta };
  };
  expect(await ask(TOTALS)).toMatchObject({ rows: [10, 10, 10], totals: 30 });
  gateway.clock.advance(MINUTE);
  return { platform, said, gateway, ask };
}

it('totals are fetched anew once a day of their period has other numbers', async () => {
  const { platform, said, gateway, ask } = await scene();
  said.spent = 20;
  await ask(WIDE);
  gateway.clock.advance(HOUR);
  const { rows, totals, meta } = await ask(TOTALS);
  expect([rows, totals, meta.final, meta.stale]).toEqual([[20, 20, 20], 60, true, false]);
  expect(meta).not.toHaveProperty('totalsAsOf');
  expect(platform.requests).toHaveLength(4);
});

it('totals stay where the days were fetched anew with the same numbers, and say when they were fetched', async () => {
  const { platform, gateway, ask } = await scene();
  const fetchedAt = new Date(gateway.clock.now() - MINUTE).toISOString();
  await ask(WIDE);
  const { rows, totals, meta } = await ask(TOTALS);
  expect([rows, totals, meta.final]).toEqual([[10, 10, 10], 30, true]);
  expect(meta).toMatchObject({ totalsAsOf: fetchedAt, stale: false });
  expect(platform.requests).toHaveLength(3);
});

it.each<[string, boolean, Call]>([
  ['the platform fails', true, {}],
  ['the caller wants nothing but what is cached', false, { headers: { 'cache-control': 'only-if-cached' } }],
])('totals that are out of date are stale, and not final, where %s', async (_what, fails, call) => {
  const { platform, said, ask } = await scene();
  said.spent = 20;
  await ask(WIDE);
  if (fails) platform.answer(sends('{}', {}, 500));
  const { rows, totals, meta } = await ask(TOTALS, call);
  expect([rows, totals, meta.final, meta.stale]).toEqual([[20, 20, 20], 30, false, true]);
  expect(meta).toHaveProperty('totalsAsOf');
});
