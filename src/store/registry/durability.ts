/** How safe the changes of one piece of work are, carried along with it. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Unconfirmed } from '../port.js';

export interface Durability {
  /** The change that fewest replicas of the store have confirmed; null while all have enough of them. */
  unconfirmed: Unconfirmed | null;
}

const durability = new AsyncLocalStorage<Durability>();
let underWay = 0;

/**
 * Runs `work`; commits made within it are noted in `noted`.
 * @returns to be called once, when no more are to be noted. On Node 20 every asynchronous step of the process costs
 *   more while this is under way, whoever takes it, so it is turned off in between
 */
export function noteDurability(noted: Durability, work: () => void): () => void {
  underWay += 1;
  durability.run(noted, work);
  return () => {
    underWay -= 1;
    if (underWay === 0) durability.disable();
  };
}

/** Notes a commit that is made, and confirmed by too few. */
export function noteUnconfirmed(unconfirmed: Unconfirmed): void {
  const noted = durability.getStore();
  if (noted === undefined) return;
  if (noted.unconfirmed === null || unconfirmed.replicas < noted.unconfirmed.replicas)
    noted.unconfirmed = unconfirmed;
}
