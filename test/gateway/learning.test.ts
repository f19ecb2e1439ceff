/** Learning from answers while the cache is slow. */
import { expect, it } from 'vitest';
import { dayNumber, isoDay } from '../../src/reports/query/days.js';
import type { Store } from '../../src/store/port.js';
import { stateOf } from '../support/prove.js';
import { withGateway } from '../support/start-gateway.js';
import { waitFor } from '../support/wait-for.js';

it('a kind is proven while writes to the cache are still pending', async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const wrapStore = (store: Store): Store => ({
    ...store,
    cache: { ...store.cache, write: (entries) => held.then(() => store.cache.write(entries)) },
  });
  const gateway = await withGateway({ wrapStore });
  const key = await gateway.addTeam();
  const newest = dayNumber('2026-11-12') as number;
  for (let step = 0; step < 10; step++) {
    const period = `dateFrom=${isoDay(newest - 8 - 2 * step)}&dateTo=${isoDay(newest - step)}`;
    const reply = await gateway.report(key, `advertiserId=1&byDate=1&${period}`);
    expect(reply.status).toBe(200);
  }
  await waitFor('the proof', async () => (await stateOf(gateway)).because === 'proven divisible by day');
  release();
});
