/** What is known of how safe the changes are that one piece of work has made, carried along with it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Unconfirmed } from '../store/port.js';

export interface Durability {
  /** The change that fewest replicas of the store have confirmed; null while all have enough of them. */
  unconfirmed: Unconfirmed | null;
}

const durability = new AsyncLocalStorage<Durability>();

/** Runs `work`; commits made within it are noted in `noted`. */
export function noteDurability<T>(noted: Durability, work: () => T): T {
  return durability.run(noted, work);
}

/** Notes a commit that is made, and confirmed by too few. */
export function noteUnconfirmed(unconfirmed: Unconfirmed): void {
  const noted = durability.getStore();
  if (noted === undefined) return;
  if (noted.unconfirmed === null || unconfirmed.replicas < noted.unconfirmed.replicas)
    noted.unconfirmed = unconfirmed;
}
