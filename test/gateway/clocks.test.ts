import { expect, it, vi } from 'vitest';
import { wallMs } from '../../src/lib/time.js';
import type { Store } from '../../src/store/port.js';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import { gatewayAt } from '../support/start-gateway.js';
import { createTestClock } from '../support/test-clock.js';

const AHEAD_MS = 90_000;

/** A shared store on a machine whose clock is ahead. */
const ahead = (store: Store): Store => ({
  ...store,
  kind: 'redis',
  days: {
    ...store.days,
    claim: async (...args) => ({
      ...(await store.days.claim(...args)),
      clockUs: (wallMs() + AHEAD_MS) * 1000,
    }),
  },
});

it('a replica learns before its first fetch by how much the clock of the store is ahead', async () => {
  const platform = await startRawPlatform(sends('{"data":[{"impressions":7}]}'));
  const follow = vi.fn<(aheadMs: number) => void>();
  const clock = Object.assign(createTestClock(), { follow });
  const gateway = await gatewayAt(platform, { clock, wrapStore: ahead });
  await gateway.services.settled();
  expect(follow).toHaveBeenCalledOnce();
  expect(Math.abs((follow.mock.lastCall?.[0] ?? 0) - AHEAD_MS)).toBeLessThan(AHEAD_MS / 2);
});
