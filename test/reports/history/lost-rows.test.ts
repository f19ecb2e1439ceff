/** Days whose rows are missing, late or gone: when that is believed, and for how long it is kept. */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { decodeMonth } from '../../../src/reports/days/month.js';
import type { Store } from '../../../src/store/port.js';
import { openScene } from '../../support/scene.js';
import { type GatewayOptions, type Reply, reportIn } from '../../support/start-gateway.js';
import { HOUR, MINUTE } from '../../support/test-clock.js';
import { ALWAYS, byDay, rowsPerDay } from '../fetch/by-day.js';

const [FIVE_MINUTES_S, AN_HOUR_S, THIRTY_DAYS_S] = [300, 3600, 30 * 86_400];
/** Past its freshness, and past the time for which an old answer is given while it is refreshed. */
const PAST_ALL = HOUR + 11 * MINUTE;

/** A platform that has as many rows of each day as the test says. */
async function open(query: string, rowsOn: (date: string) => number, options: GatewayOptions) {
  const scene = await openScene(rowsPerDay(rowsOn), options);
  const control = (value?: string) => (value === undefined ? {} : { headers: { 'cache-control': value } });
  return {
    ...scene,
    clock: scene.gateway.clock,
    look: (cacheControl?: string) => scene.gateway.report(scene.key, query, control(cacheControl)),
  };
}

/** For how long the caller may keep it, seconds. */
const freshS = ({ headers }: Reply) => Number(/max-age=(\d+)/.exec(headers['cache-control'] ?? '')?.[1]);

describe('an empty day that is not final', () => {
  const YESTERDAY = '2026-11-20';

  async function startYesterday(wrapStore: (store: Store) => Store = (store) => store) {
    const state = { rows: 0 };
    const { look, clock } = await open(
      byDay('2026-11-18', YESTERDAY),
      (date) => (date === YESTERDAY ? state.rows : 1),
      { config: ALWAYS, now: '2026-11-21T06:00:00Z', wrapStore },
    );
    async function expectLook(fresh: number, rows: number) {
      const reply = await look();
      const { length } = reportIn(reply).data.filter(({ date }) => date === YESTERDAY);
      expect([freshS(reply), length]).toEqual([fresh, rows]);
    }
    return { state, clock, expectLook };
  }

  it('an empty day is looked at every five minutes until it was empty for an hour, then as its neighbours are', async () => {
    const { clock, expectLook } = await startYesterday();
    await expectLook(FIVE_MINUTES_S, 0);
    clock.advance(50 * MINUTE);
    await expectLook(FIVE_MINUTES_S, 0);
    clock.advance(16 * MINUTE);
    await expectLook(AN_HOUR_S, 0);
    // Rows that come after all are seen when any other day of its age would be seen to change.
    clock.advance(PAST_ALL);
    await expectLook(AN_HOUR_S, 0);
  });

  /** The history is written that much later than the next fetch asks for it. */
  function withSlowHistory(store: Store): Store {
    const write: Store['days']['write'] = async (...args) => {
      await delay(40);
      return store.days.write(...args);
    };
    return { ...store, days: { ...store.days, write } };
  }

  it.each([
    ['at once', (store: Store) => store],
    ['after the next fetch has begun', withSlowHistory],
  ])(
    'rows that come late are noticed within the hour, and losing them again is doubted anew: the history is written %s',
    async (_when, wrapStore) => {
      const { state, clock, expectLook } = await startYesterday(wrapStore);
      await expectLook(FIVE_MINUTES_S, 0);
      clock.advance(PAST_ALL);
      await expectLook(AN_HOUR_S, 0);
      state.rows = 2;
      clock.advance(PAST_ALL);
      await expectLook(AN_HOUR_S, 2);
      state.rows = 0;
      clock.advance(PAST_ALL);
      // Its rows are those of history until a second look, and as old as they were seen last.
      await expectLook(PAST_ALL / 1000 + FIVE_MINUTES_S, 2);
      clock.advance(PAST_ALL);
      await expectLook(AN_HOUR_S, 0);
    },
  );
});

describe('an answer whose end is empty, of which no history is kept', () => {
  const QUERY = byDay('2026-11-01', '2026-11-03');

  async function startTail(divisible: 'never' | 'auto') {
    const state = { lastDay: '2026-11-02' };
    const scene = await open(QUERY, (date) => (date <= state.lastDay ? 1 : 0), {
      config: {
        history: { enabled: false },
        report: { crossCheckEvery: 0, endpoints: { 'campaigns/get': { divisible } } },
      },
    });
    const expectFresh = async (seconds: number, control?: string) =>
      expect(freshS(await scene.look(control))).toBe(seconds);
    return { ...scene, state, expectFresh };
  }

  it('an answer whose end is empty is final only when each of those days was seen empty twice', async () => {
    const { state, clock, expectFresh } = await startTail('never');
    await expectFresh(AN_HOUR_S);
    clock.advance(2 * HOUR);
    // An outage: the second day is missing too, for the first time.
    state.lastDay = '2026-11-01';
    await expectFresh(AN_HOUR_S);
    clock.advance(PAST_ALL);
    await expectFresh(THIRTY_DAYS_S);
  });

  it('days that are split from a whole answer are each confirmed by looks at themselves', async () => {
    const { state, gateway, clock, look } = await startTail('auto');
    await look();
    clock.advance(2 * HOUR);
    state.lastDay = '2026-11-01';
    await look();
    await gateway.services.settled();
    const { series } = await gateway.services.reporting.explain('campaigns/get', QUERY);
    const [stored] = await gateway.store.days.read(series, [{ month: '2026-11', days: [] }]);
    const month = decodeMonth(stored?.index ?? Buffer.of());
    expect([2, 3].map((day) => month?.days.get(day)?.empty?.tail)).toEqual(['unconfirmed', 'confirmed']);
  });

  it('a look that comes too soon after another does not put the second look off', async () => {
    const { clock, look, expectFresh } = await startTail('never');
    await look();
    clock.advance(50 * MINUTE);
    await expectFresh(AN_HOUR_S, 'no-cache');
    clock.advance(50 * MINUTE);
    await expectFresh(THIRTY_DAYS_S, 'no-cache');
  });
});

describe('a final day with rows after it', () => {
  async function startVanishing() {
    const state = { lost: '' };
    const { gateway, clock, look } = await open(
      byDay('2026-11-01', '2026-11-04'),
      (date) => (date === state.lost ? 0 : 1),
      { config: ALWAYS },
    );
    async function expectLook(rows: number, seconds: number, control?: string) {
      const reply = await look(control);
      await gateway.services.settled();
      const { rowCount, source } = reportIn(reply).meta;
      // What is from history is as old as it was seen last.
      const age = source === 'history' ? Number(reply.headers.age) : 0;
      expect([rowCount, freshS(reply) - age]).toEqual([rows, seconds]);
    }
    return { state, clock, expectLook };
  }

  it('a final day that had rows is looked at again before its loss is believed', async () => {
    const { state, clock, expectLook } = await startVanishing();
    await expectLook(4, THIRTY_DAYS_S);
    clock.advance(2 * HOUR);
    state.lost = '2026-11-02';
    await expectLook(4, AN_HOUR_S, 'no-cache');
    clock.advance(MINUTE);
    await expectLook(4, AN_HOUR_S, 'no-cache');
    state.lost = '';
    clock.advance(2 * HOUR);
    await expectLook(4, THIRTY_DAYS_S);
  });

  it('a loss that a second look confirms an hour later is final', async () => {
    const { state, clock, expectLook } = await startVanishing();
    // One that is empty from the first, with rows after it, is believed.
    state.lost = '2026-11-01';
    await expectLook(3, THIRTY_DAYS_S);
    state.lost = '';
    clock.advance(1);
    await expectLook(4, THIRTY_DAYS_S, 'no-cache');
    state.lost = '2026-11-02';
    await expectLook(4, AN_HOUR_S, 'no-cache');
    clock.advance(PAST_ALL);
    await expectLook(3, THIRTY_DAYS_S);
  });
});
