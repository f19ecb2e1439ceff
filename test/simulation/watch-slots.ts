/** Slots are for calls: whoever waits for anybody else's holds none. */
import { DURABLE_MS } from './faulty-store.js';
import type { WorldOfSeed } from './world.js';

const EVERY_MS = 50;
/** Longest time that a slot is held beside a call of its own: for the store, to grant locks, to look, and to be charged. */
const LONGEST_MS = 1_000;
/** A guarded write is charged when it has its slot (decision 21): for so long the store may be late, of several writes in turn. */
const CHARGING_MS = 3 * DURABLE_MS;

/** @returns to be called in the end; it throws when a slot was held for nothing */
export function watchSlots({ scheduler, replicas, shape }: WorldOfSeed): () => void {
  /** Since when an owner holds more slots than it makes calls. */
  const since = new Map<string, number>();
  const longestMs = LONGEST_MS + (shape.writes ? CHARGING_MS : 0);
  let failure: string | null = null;
  let isOver = false;
  function look(): void {
    if (isOver) return;
    for (const { owner, services, agent } of replicas.values()) {
      const idle = services.budget.running - agent.underWay;
      if (idle <= 0) since.delete(owner);
      else if (!since.has(owner)) since.set(owner, scheduler.nowMs);
      const sinceMs = since.get(owner) ?? scheduler.nowMs;
      if (scheduler.nowMs - sinceMs > longestMs)
        failure ??= `${owner} holds a slot without a call since ${sinceMs}`;
    }
    scheduler.after(EVERY_MS, 'world', look);
  }
  look();
  return () => {
    isOver = true;
    if (failure !== null) throw new Error(failure);
  };
}
