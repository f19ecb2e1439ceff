/** What the embedded store keeps in memory goes by time that nobody can move. */
import { expect, it } from 'vitest';
import { createMemoryLeases, createMemoryQuotas } from '../../../src/store/embedded/embedded-store.js';
import { createStandingClock } from '../../support/test-clock.js';

it('leases do, and still hold when many others have come and gone', async () => {
  const clock = createStandingClock();
  const leases = createMemoryLeases(clock);
  await leases.claim(['a'], 'ann', 1_000);
  clock.advance(3_600_000);
  expect(await leases.claim(['a'], 'bob', 1_000)).toEqual([false]);
  clock.advanceMonotonic(1_000);
  expect(await leases.claim(['a'], 'bob', 1_000)).toEqual([true]);
  await leases.claim(['kept'], 'ann', 1_000_000);
  for (let at = 0; at < 5_000; at += 1) {
    clock.advanceMonotonic(1);
    await leases.claim([`short ${at}`], 'ann', 1);
  }
  expect(await leases.claim(['kept', 'short 4000'], 'bob', 1)).toEqual([false, true]);
});

it('quotas do', async () => {
  const clock = createStandingClock();
  const quotas = createMemoryQuotas(clock);
  const take = { want: 1, capacity: 1, refillPerMs: 0, nowMs: 0, ttlMs: 1_000 };
  await quotas.take('a', take);
  clock.advance(3_600_000);
  expect(await quotas.take('a', { ...take, want: 0 })).toMatchObject({ left: 0 });
  clock.advanceMonotonic(1_000);
  expect(await quotas.take('a', { ...take, want: 0 })).toMatchObject({ left: 1 });
});
