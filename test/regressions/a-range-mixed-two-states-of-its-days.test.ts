/** Days read before a wait were joined with days fetched after it, though they had been replaced meanwhile. */
import { expect, it } from 'vitest';
import { ALWAYS, byDay } from '../reports/fetch/by-day.js';
import { spentIn, startSpending } from '../support/spending.js';
import { type Call, gatewayAt, reportIn } from '../support/start-gateway.js';
import { MINUTE, SECOND } from '../support/test-clock.js';

const KEPT = byDay('2026-11-09', '2026-11-11');
const LONGER = byDay('2026-11-09', '2026-11-13');
const FORCED: Call = { headers: { 'cache-control': 'no-cache' } };

/** A gateway that keeps the first three days. */
async function scene() {
  const { platform, said } = await startSpending();
  let reads = 0;
  const gateway = await gatewayAt(platform, {
    config: ALWAYS,
    wrapStore: (store) => ({
      ...store,
      cache: {
        ...store.cache,
        read(places, after) {
          reads += 1;
          return store.cache.read(places, after);
        },
      },
    }),
  });
  const key = await gateway.addTeam();
  const ask = (query: string, call: Call = {}) => gateway.report(key, query, call);
  await ask(KEPT);
  await gateway.services.settled();
  gateway.clock.advance(MINUTE);
  /** Holds the call that `isHeld` is true of. @returns lets it be answered, once it has come */
  function hold(isHeld: (isSplit: boolean, from: string) => boolean) {
    let letGo = () => {};
    const isLetGo = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const before = platform.requests.length;
    said.before = ([from], isSplit) => (isHeld(isSplit, from) ? isLetGo : null);
    return {
      letGo,
      arrived: () => expect.poll(() => platform.requests.length).toBe(before + 1),
    };
  }
  return { platform, said, gateway, ask, hold, reads: () => reads };
}

it('a range whose first days were replaced while its last ones were fetched holds the new ones', async () => {
  const { platform, said, gateway, ask, hold } = await scene();
  said.spent = 20;
  const call = hold((_isSplit, from) => from === '2026-11-12');
  const longer = ask(LONGER);
  await call.arrived();
  gateway.clock.advance(SECOND);
  expect(spentIn(await ask(KEPT, FORCED))).toEqual([20, 20, 20]);
  gateway.clock.advance(SECOND);
  call.letGo();
  const { data, meta } = reportIn(await longer);
  expect(data.map((row) => row.spent)).toEqual([20, 20, 20, 20, 20]);
  await gateway.services.settled();
  gateway.clock.advance(SECOND);
  const then = reportIn(await ask(`${LONGER}&_asOf=${meta.knownAt}`));
  expect(then).toMatchObject({ data, meta: { revision: meta.revision } });
  expect(platform.requests).toHaveLength(3);
});

it('rows that were replaced while their totals were fetched are the new ones', async () => {
  const { said, gateway, ask, hold } = await scene();
  said.spent = 20;
  const call = hold((isSplit) => !isSplit);
  const withTotals = ask(`${KEPT}&_totals=1`);
  await call.arrived();
  gateway.clock.advance(SECOND);
  await ask(KEPT, FORCED);
  call.letGo();
  const { data, meta } = reportIn(await withTotals);
  expect([data.map((row) => row.spent), meta.totals?.spent]).toEqual([[20, 20, 20], 60]);
});

it('the store is read no more often where nothing was replaced', async () => {
  const { gateway, ask, reads, hold } = await scene();
  const call = hold((_isSplit, from) => from === '2026-11-12');
  const longer = ask(LONGER);
  await call.arrived();
  const before = reads();
  // Another series, and other days of this one.
  await ask(LONGER.replace('advertiserId=1', 'advertiserId=2'));
  await ask(byDay('2026-10-01', '2026-10-02'));
  await gateway.services.store.cache.read([]);
  const between = reads();
  call.letGo();
  expect(spentIn(await longer)).toEqual([10, 10, 10, 10, 10]);
  expect([between > before, reads() - between]).toEqual([true, 0]);
});
