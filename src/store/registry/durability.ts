/** Records how durable the commits made during some work are. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Unconfirmed } from '../port.js';

export interface Durability {
  /** The commit with the fewest confirmations; null while all have enough. */
  unconfirmed: Unconfirmed | null;
}

const durability = new AsyncLocalStorage<Durability>();
let underWay = 0;

/**
 * Runs `work`, and records its commits in `noted`.
 * @returns ends the recording; to be called once. On Node 20 every asynchronous step of the process costs more until then
 */
export function noteDurability(noted: Durability, work: () => void): () => void {
  underWay += 1;
  durability.run(noted, work);
  return () => {
    underWay -= 1;
    if (underWay === 0) durability.disable();
  };
}

export function noteUnconfirmed(unconfirmed: Unconfirmed): void {
  const noted = durability.getStore();
  if (noted === undefined) return;
  if (noted.unconfirmed === null || unconfirmed.replicas < noted.unconfirmed.replicas)
    noted.unconfirmed = unconfirmed;
}
