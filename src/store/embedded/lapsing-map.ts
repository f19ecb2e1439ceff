import type { Clock } from '../../clock.js';

export interface Slot<V> {
  readonly value: V;
  readonly endsAtMs: number;
}

/** With more values than this, those that have lapsed are looked for and dropped. */
const SWEEP_AT_LEAST_ABOVE = 1_024;

/** Values that lapse, by time that never jumps. */
export interface LapsingMap<V> {
  get(key: string): V | undefined;
  set(key: string, value: V, ttlMs: number): void;
  /** Leaves the time at which it lapses; does nothing where there is none. */
  replace(key: string, value: V): void;
  delete(key: string): void;
  /** Those not lapsed. */
  entries(): [key: string, value: V][];
}

export function createLapsingMap<V>(
  clock: Pick<Clock, 'monotonicMs'>,
  slots = new Map<string, Slot<V>>(),
): LapsingMap<V> {
  let sweepAbove = SWEEP_AT_LEAST_ABOVE;

  const live = (slot: Slot<V> | undefined) =>
    slot !== undefined && clock.monotonicMs() < slot.endsAtMs ? slot : undefined;

  function sweep(): void {
    if (slots.size <= sweepAbove) return;
    for (const [key, slot] of slots) if (live(slot) === undefined) slots.delete(key);
    sweepAbove = Math.max(SWEEP_AT_LEAST_ABOVE, 2 * slots.size);
  }

  return {
    get: (key) => live(slots.get(key))?.value,
    set(key, value, ttlMs) {
      slots.set(key, { value, endsAtMs: clock.monotonicMs() + ttlMs });
      sweep();
    },
    replace(key, value) {
      const slot = live(slots.get(key));
      if (slot !== undefined) slots.set(key, { ...slot, value });
    },
    delete: (key) => void slots.delete(key),
    entries: () =>
      [...slots].flatMap(([key, slot]) => (live(slot) ? [[key, slot.value] as [string, V]] : [])),
  };
}
