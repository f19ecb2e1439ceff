/**
 * A day that is not final and has no rows was asked for every five minutes for as long as it stayed so: a weekend without
 * delivery cost hundreds of calls. Once a second look has confirmed it, it is looked at as often as its neighbours.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Store } from '../../src/store/port.js';
import { ALWAYS, byDay, rowsPerDay } from '../reports/fetch/by-day.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, type ReportBody, reportIn } from '../support/start-gateway.js';
import { HOUR, MINUTE } from '../support/test-clock.js';

const YESTERDAY = '2026-11-20';
const [FIVE_MINUTES_S, AN_HOUR_S] = [300, 3600];
/** Past its freshness, and past the time for which an old answer is given while it is refreshed. */
const PAST_ALL = HOUR + 11 * MINUTE;

/** The history is written that much later than the next fetch asks for it. */
const WRITE_MS = 150;

function withSlowHistory(store: Store): Store {
  const write: Store['history']['write'] = async (...args) => {
    await delay(WRITE_MS);
    return store.history.write(...args);
  };
  return { ...store, history: { ...store.history, write } };
}

async function startYesterday(wrapStore: (store: Store) => Store = (store) => store) {
  const state = { rows: 0 };
  const platform = await startRawPlatform(rowsPerDay((date) => (date === YESTERDAY ? state.rows : 1)));
  const gateway = await gatewayAt(platform, { config: ALWAYS, now: '2026-11-21T06:00:00Z', wrapStore });
  const key = await gateway.addTeam();
  return {
    state,
    clock: gateway.clock,
    async look(): Promise<{ readonly freshS: number; readonly rows: number }> {
      const reply = await gateway.report(key, byDay('2026-11-18', YESTERDAY));
      const { data }: ReportBody = reportIn(reply);
      const freshS = Number(/max-age=(\d+)/.exec(reply.headers['cache-control'] ?? '')?.[1]);
      return { freshS, rows: data.filter(({ date }) => date === YESTERDAY).length };
    },
  };
}

it('an empty day is looked at every five minutes until it was empty for an hour, then as its neighbours are', async () => {
  const { clock, look } = await startYesterday();
  expect(await look()).toEqual({ freshS: FIVE_MINUTES_S, rows: 0 });
  clock.advance(50 * MINUTE);
  expect(await look()).toEqual({ freshS: FIVE_MINUTES_S, rows: 0 });
  clock.advance(16 * MINUTE);
  expect(await look()).toEqual({ freshS: AN_HOUR_S, rows: 0 });
  // Rows that come after all are seen when any other day of its age would be seen to change.
  clock.advance(PAST_ALL);
  expect(await look()).toEqual({ freshS: AN_HOUR_S, rows: 0 });
});

it.each([
  ['at once', (store: Store) => store],
  ['after the next fetch has begun', withSlowHistory],
])(
  'rows that come late are noticed within the hour, and losing them again is doubted anew: the history is written %s',
  async (_when, wrapStore) => {
    const { state, clock, look } = await startYesterday(wrapStore);
    await look();
    clock.advance(PAST_ALL);
    expect(await look()).toEqual({ freshS: AN_HOUR_S, rows: 0 });
    state.rows = 2;
    clock.advance(PAST_ALL);
    expect(await look()).toEqual({ freshS: AN_HOUR_S, rows: 2 });
    state.rows = 0;
    clock.advance(PAST_ALL);
    // Its rows are those of history until a second look, and as old as they were seen last.
    expect(await look()).toEqual({ freshS: PAST_ALL / 1000 + FIVE_MINUTES_S, rows: 2 });
    clock.advance(PAST_ALL);
    expect(await look()).toEqual({ freshS: AN_HOUR_S, rows: 0 });
  },
);
