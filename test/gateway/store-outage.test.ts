/** What the log tells while the store is away, or full. */
import { expect, it } from 'vitest';
import { type Store, StoreUnavailable } from '../../src/store/port.js';
import { ALWAYS, byDay, rowsPerDay } from '../reports/fetch/by-day.js';
import { startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt, type LogLine } from '../support/start-gateway.js';

const BY_DAY = byDay('2026-11-01', '2026-11-03');

async function withBrokenStore() {
  const state: { error: StoreUnavailable | null } = { error: null };
  const breaks =
    <In extends unknown[], Out>(call: (...asked: In) => Promise<Out>, isWrite = false) =>
    async (...asked: In) => {
      // A full store is read as before.
      if (state.error !== null && (isWrite || state.error.why === 'away')) throw state.error;
      return await call(...asked);
    };
  const platform = await startRawPlatform(rowsPerDay(() => 2));
  const gateway = await gatewayAt(platform, {
    logLevel: 'info',
    config: ALWAYS,
    wrapStore: (store: Store) => {
      const { cache, days } = store;
      return {
        ...store,
        cache: { ...cache, read: breaks(cache.read), write: breaks(cache.write, true) },
        days: {
          ...days,
          read: breaks(days.read),
          claim: breaks(days.claim),
          write: breaks(days.write, true),
        },
      };
    },
  });
  const key = await gateway.addTeam();
  await gateway.report(key, BY_DAY);
  await gateway.services.settled();
  const askAnew = async (times: number) => {
    for (let at = 0; at < times; at += 1) {
      await gateway.report(key, BY_DAY, { headers: { 'cache-control': 'no-cache' } });
      await gateway.services.settled();
    }
  };
  const faults = (): readonly LogLine[] => gateway.log.filter(({ level }) => level === 'warn');
  return { state, askAnew, faults };
}

it('an outage of the store is told once for reading and once for writing, however many requests meet it, without a stack', async () => {
  const { state, askAnew, faults } = await withBrokenStore();
  state.error = new StoreUnavailable('not connected');
  await askAnew(6);
  expect(faults().map(({ msg }) => msg)).toEqual([
    'the store cannot be read: reports come from memory and from the platform',
    'days of reports cannot be stored: answers stay in memory, and history misses them',
  ]);
  const err = { type: 'StoreUnavailable', message: 'not connected' };
  expect(faults().map((line) => line.err)).toEqual([err, err]);
});

it('a store without room for days is told once, however many answers find none, without a stack', async () => {
  const { state, askAnew, faults } = await withBrokenStore();
  state.error = new StoreUnavailable('no memory left', 'no-room');
  await askAnew(6);
  expect(faults().map(({ msg, err }) => [msg, err])).toEqual([
    [
      'the store has no room for days of reports: answers stay in memory, and history misses them',
      { type: 'StoreUnavailable', message: 'no memory left' },
    ],
  ]);
});
