/**
 * The end of an answer was empty twice, but not the same days: what the first look said of the last day confirmed a day
 * that was missing for the first time, and an outage was kept as final for thirty days.
 */
import { expect, it } from 'vitest';
import type { RawEntry } from '../../src/reports/cache/entry.js';
import { dayKey } from '../../src/reports/query/keys.js';
import type { Entry } from '../../src/reports/rows/entry.js';
import type { CacheEntry } from '../../src/store/port.js';
import { decodeOne } from '../reports/cache/decode-one.js';
import { byDay, rowsPerDay } from '../reports/fetch/by-day.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, reportIn } from '../support/start-gateway.js';
import { HOUR, MINUTE } from '../support/test-clock.js';

const QUERY = byDay('2026-11-01', '2026-11-03');
const [AN_HOUR_S, THIRTY_DAYS_S] = [3600, 30 * 86_400];

/** A platform that has rows up to a day, and a gateway that keeps its answers whole. */
async function startTail(divisible: 'never' | 'auto') {
  const state = { lastDay: '2026-11-02' };
  const platform = await startRawPlatform(rowsPerDay((date) => (date <= state.lastDay ? 1 : 0)));
  const gateway = await gatewayAt(platform, {
    // History would answer for the days that it has.
    config: {
      history: { enabled: false },
      report: { crossCheckEvery: 0, endpoints: { 'campaigns/get': { divisible } } },
    },
  });
  const key = await gateway.addTeam();
  return {
    state,
    platform,
    gateway,
    /** @returns for how long the caller may keep the answer, seconds */
    async look(control?: string): Promise<number> {
      const headers = control === undefined ? {} : { 'cache-control': control };
      const reply = await gateway.report(key, QUERY, { headers });
      reportIn(reply);
      return Number(/max-age=(\d+)/.exec(reply.headers['cache-control'] ?? '')?.[1]);
    },
    /** What is kept of one day. */
    async tailOf(date: string): Promise<unknown> {
      await gateway.services.settled();
      const { series } = await gateway.services.reporting.explain('campaigns/get', QUERY);
      const day = dayKey(series, date);
      const [entry] = await gateway.store.cache.read([day]);
      return ((await decodeOne(day.id, entry as CacheEntry)) as RawEntry as Entry).header.emptyTail;
    },
  };
}

it('an answer whose end is empty is final only when each of those days was seen empty twice', async () => {
  const { state, gateway, look } = await startTail('never');
  expect(await look()).toBe(AN_HOUR_S);
  gateway.clock.advance(2 * HOUR);
  // An outage: the second day is missing too, for the first time.
  state.lastDay = '2026-11-01';
  expect(await look()).toBe(AN_HOUR_S);
  gateway.clock.advance(HOUR + 11 * MINUTE);
  expect(await look()).toBe(THIRTY_DAYS_S);
});

it('days that are split from a whole answer are each confirmed by looks at themselves', async () => {
  const { state, gateway, look, tailOf } = await startTail('auto');
  await look();
  gateway.clock.advance(2 * HOUR);
  state.lastDay = '2026-11-01';
  await look();
  expect([await tailOf('2026-11-02'), await tailOf('2026-11-03')]).toEqual(['unconfirmed', 'confirmed']);
});

it('a look that comes too soon after another does not put the second look off', async () => {
  const { gateway, look } = await startTail('never');
  await look();
  gateway.clock.advance(50 * MINUTE);
  expect(await look('no-cache')).toBe(AN_HOUR_S);
  gateway.clock.advance(50 * MINUTE);
  expect(await look('no-cache')).toBe(THIRTY_DAYS_S);
});
