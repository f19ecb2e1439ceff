/**
 * The time of a call was over while the store still granted its fetch lock. Nobody ended the lock, it was renewed for
 * ever, and the report was 504 on every replica until a restart. Now the store is not waited for so long.
 */
import { expect, it } from 'vitest';
import type { Store } from '../../src/store/port.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { openEmbedded } from '../support/shared-registry.js';
import { gatewayAt, outcomeOf, reportIn } from '../support/start-gateway.js';
import { createTestClock } from '../support/test-clock.js';

const QUERY = 'advertiserId=1&dateFrom=2026-11-01&dateTo=2026-11-07';
const TIGHT = { platform: { timeoutMs: 2000, maxConcurrent: 1, retry: { attempts: 0 } } };

/** Grants the leases of fetches as the store does, but tells of it only when the gate opens. */
function withLateLeases(gate: Promise<void>) {
  const late = { claims: 0, granted: 0 };
  const wrapStore = (store: Store): Store => ({
    ...store,
    leases: {
      renew: store.leases.renew.bind(store.leases),
      release: store.leases.release.bind(store.leases),
      async claim(...args) {
        if (args[0].includes('lease:{gateway}:leader')) return store.leases.claim(...args);
        late.claims += 1;
        const held = await store.leases.claim(...args);
        await gate;
        late.granted += 1;
        return held;
      },
    },
  });
  return { late, wrapStore };
}

it('a lock that is granted when its report was given long ago is let go: whoever asks next is not held up', async () => {
  const platform = await startRawPlatform(sends('{"data":[{"impressions":7}]}'));
  const clock = createTestClock();
  const sharedStore = await openEmbedded(clock);
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const { late, wrapStore } = withLateLeases(gate);
  const hasty = await gatewayAt(platform, { clock, sharedStore, wrapStore, config: TIGHT });
  const other = await gatewayAt(platform, { clock, sharedStore, config: TIGHT });
  const key = await hasty.addTeam();
  await other.services.registry.refresh();
  // The store is slow, which holds up nobody.
  expect(reportIn(await hasty.report(key, QUERY)).data).toEqual([{ impressions: 7 }]);
  expect([late.claims, late.granted, platform.requests.length]).toEqual([1, 0, 1]);
  open();
  await expect.poll(() => late.granted).toBe(1);
  await hasty.services.settled();
  const anew = { headers: { 'cache-control': 'no-cache' } };
  expect(outcomeOf(await other.report(key, QUERY, anew))).toBe('200');
  expect(reportIn(await hasty.report(key, QUERY)).data).toEqual([{ impressions: 7 }]);
  expect(platform.requests).toHaveLength(2);
});
