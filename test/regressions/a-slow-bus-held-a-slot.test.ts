/** Whoever gave back locks of days that others had brought waited, with his slot in hand, until that was told to all. */
import { expect, it } from 'vitest';
import { ALWAYS, byDay, rowsPerDay } from '../reports/fetch/by-day.js';
import { watchLocks } from '../reports/fetch/held-locks.js';
import { startHeldPlatform } from '../support/raw-platform.js';
import { gatewayAt, outcomeOf } from '../support/start-gateway.js';

it('a call goes out although the message about locks that were given back does not', async () => {
  const platform = await startHeldPlatform(rowsPerDay(() => 1));
  const locks = watchLocks();
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const gateway = await gatewayAt(platform, {
    config: { ...ALWAYS, platform: { maxConcurrent: 1 } },
    wrapStore: (store) => {
      const watched = locks.wrapStore(store);
      return {
        ...watched,
        leases: {
          ...watched.leases,
          async release(keys, owner, news) {
            await watched.leases.release(keys, owner);
            if (news === undefined) return;
            await gate;
            await store.bus.publish(news.channel, news.message);
          },
        },
      };
    },
  });
  const key = await gateway.addTeam();
  const first = gateway.report(key, byDay('2026-11-01', '2026-11-03'));
  await platform.arrived(1);
  const between = gateway.report(key, 'advertiserId=2&dateFrom=2026-11-01&dateTo=2026-11-03');
  await expect.poll(() => gateway.services.budget.queued).toBe(1);
  const longer = gateway.report(key, byDay('2026-11-01', '2026-11-06'));
  await expect.poll(() => gateway.services.budget.queued).toBe(2);
  platform.release();
  platform.hold();
  await platform.arrived(2);
  // The first report's days are kept, and its locks are free, when the longer one comes to its slot.
  await expect.poll(() => locks.held.size).toBe(1);
  platform.release();
  await expect.poll(() => platform.requests.length).toBe(3);
  open();
  expect((await Promise.all([first, between, longer])).map(outcomeOf)).toEqual(['200', '200', '200']);
});
