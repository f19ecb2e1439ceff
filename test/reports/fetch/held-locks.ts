/** What a gateway holds of the platform's slots and of fetch locks, for tests. */
import { expect } from 'vitest';
import type { Store } from '../../../src/store/port.js';
import type { TestGateway } from '../../support/start-gateway.js';

export interface HeldLocks {
  /** Keys whose lease was granted, and not given back. */
  readonly held: ReadonlySet<string>;
  readonly wrapStore: (store: Store) => Store;
}

/** Laid between a gateway and its store. */
export function watchLocks(): HeldLocks {
  const held = new Set<string>();
  const isLock = (key: string) => key.endsWith(':lease');
  return {
    held,
    wrapStore: (store) => ({
      ...store,
      leases: {
        renew: store.leases.renew.bind(store.leases),
        async claim(keys, owner, leaseMs) {
          const granted = await store.leases.claim(keys, owner, leaseMs);
          for (const [at, key] of keys.entries()) if (granted[at] && isLock(key)) held.add(key);
          return granted;
        },
        async release(keys, owner, news) {
          await store.leases.release(keys, owner, news);
          for (const key of keys) held.delete(key);
        },
      },
    }),
  };
}

/** Slots in use, callers in line for one, callers who wait for others, and locks. */
export function heldBy({ services }: TestGateway, { held }: HeldLocks): readonly number[] {
  const { budget } = services;
  return [budget.running, budget.queued, services.reporting.waiting(), held.size];
}

/** When all work behind answers is done nothing is held. */
export async function expectNothingHeld(gateway: TestGateway, locks: HeldLocks): Promise<void> {
  await gateway.services.settled();
  await expect.poll(() => heldBy(gateway, locks)).toEqual([0, 0, 0, 0]);
}
