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
  const forget = (names: readonly string[] = []) => {
    for (const name of names) held.delete(name);
  };
  return {
    held,
    wrapStore: (store) => ({
      ...store,
      days: {
        ...store.days,
        async claim(series, claim) {
          const claimed = await store.days.claim(series, claim);
          for (const [at, name] of claim.names.entries()) if (claimed.held[at]) held.add(name);
          return claimed;
        },
        async release(series, release) {
          await store.days.release(series, release);
          forget(release.names);
        },
        async write(writes) {
          const written = await store.days.write(writes);
          for (const [at, { release }] of writes.entries()) if (written[at] === null) forget(release?.names);
          return written;
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
