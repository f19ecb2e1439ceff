/** A final day had rows; one later look found none, with rows after it, and the loss was kept as final for thirty days. */
import { expect, it } from 'vitest';
import { ALWAYS, byDay, rowsPerDay } from '../reports/fetch/by-day.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';
import { HOUR, MINUTE } from '../support/test-clock.js';

const QUERY = byDay('2026-11-01', '2026-11-04');
const [AN_HOUR_S, THIRTY_DAYS_S] = [3600, 30 * 86_400];

async function startVanishing() {
  const state = { lost: '' };
  const platform = await startRawPlatform(rowsPerDay((date) => (date === state.lost ? 0 : 1)));
  const gateway = await gatewayAt(platform, { config: ALWAYS });
  const key = await gateway.addTeam();
  const look = async (control?: string) => {
    const headers = control === undefined ? {} : { 'cache-control': control };
    const reply = await gateway.report(key, QUERY, { headers });
    await gateway.services.settled();
    const { rowCount, source } = reportIn(reply).meta;
    // What is from history is as old as it was seen last.
    const age = source === 'history' ? Number(reply.headers.age) : 0;
    return {
      rows: rowCount,
      seconds: Number(/max-age=(\d+)/.exec(reply.headers['cache-control'] ?? '')?.[1]) - age,
    };
  };
  return { state, gateway, look };
}

it('a final day that had rows is looked at again before its loss is believed', async () => {
  const { state, gateway, look } = await startVanishing();
  expect(await look()).toEqual({ rows: 4, seconds: THIRTY_DAYS_S });
  gateway.clock.advance(2 * HOUR);
  state.lost = '2026-11-02';
  expect(await look('no-cache')).toEqual({ rows: 4, seconds: AN_HOUR_S });
  gateway.clock.advance(MINUTE);
  expect(await look('no-cache')).toEqual({ rows: 4, seconds: AN_HOUR_S });
  state.lost = '';
  gateway.clock.advance(2 * HOUR);
  expect(await look()).toEqual({ rows: 4, seconds: THIRTY_DAYS_S });
});

it('a loss that a second look confirms an hour later is final', async () => {
  const { state, gateway, look } = await startVanishing();
  await look();
  state.lost = '2026-11-02';
  await look('no-cache');
  gateway.clock.advance(HOUR + 11 * MINUTE);
  expect(await look()).toEqual({ rows: 3, seconds: THIRTY_DAYS_S });
});

it('a final day that is empty from the first, with rows after it, is believed', async () => {
  const { state, look } = await startVanishing();
  state.lost = '2026-11-02';
  expect(await look()).toEqual({ rows: 3, seconds: THIRTY_DAYS_S });
});
