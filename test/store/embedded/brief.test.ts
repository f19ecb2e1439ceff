import { describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/port.js';
import { createStandingClock, type TestClock } from '../../support/test-clock.js';
import { inFolder, openIn } from './in-folder.js';

async function withMovable(use: (store: Store, clock: TestClock) => Promise<void>): Promise<void> {
  const clock = createStandingClock();
  await inFolder(async (folder) => {
    const store = await openIn(folder, { clock });
    await use(store, clock);
    await store.close();
  });
}

describe('leases of the embedded store', () => {
  it('go by time that nobody can move', () =>
    withMovable(async ({ leases }, clock) => {
      await leases.claim(['a'], 'ann', 1_000);
      clock.advance(3_600_000);
      expect(await leases.claim(['a'], 'bob', 1_000)).toEqual([false]);
      clock.advanceMonotonic(1_000);
      expect(await leases.claim(['a'], 'bob', 1_000)).toEqual([true]);
    }));

  it('still hold when many others have come and gone', () =>
    withMovable(async ({ leases }, clock) => {
      await leases.claim(['kept'], 'ann', 1_000_000);
      for (let at = 0; at < 5_000; at += 1) {
        clock.advanceMonotonic(1);
        await leases.claim([`short ${at}`], 'ann', 1);
      }
      expect(await leases.claim(['kept', 'short 4000'], 'bob', 1)).toEqual([false, true]);
    }));
});

describe('quotas of the embedded store', () => {
  it('live by time that nobody can move', () =>
    withMovable(async ({ quotas }, clock) => {
      const take = { want: 1, capacity: 1, refillPerMs: 0, nowMs: 0, ttlMs: 1_000 };
      await quotas.take('a', take);
      clock.advance(3_600_000);
      expect(await quotas.take('a', { ...take, want: 0 })).toMatchObject({ left: 0 });
      clock.advanceMonotonic(1_000);
      expect(await quotas.take('a', { ...take, want: 0 })).toMatchObject({ left: 1 });
    }));
});
