import type { Clock } from '../../../src/clock.js';

interface Slot<V> {
  value: V;
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
  /** @returns puts back what is there now */
  save(): () => void;
}

export function createLapsingMap<V>(clock: Pick<Clock, 'monotonicMs'>): LapsingMap<V> {
  const slots = new Map<string, Slot<V>>();
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
      if (slot !== undefined) slot.value = value;
    },
    delete: (key) => void slots.delete(key),
    entries: () =>
      [...slots].flatMap(([key, slot]): [string, V][] =>
        live(slot) === undefined ? [] : [[key, slot.value]],
      ),
    save() {
      const saved = [...slots].map(([key, slot]) => [key, { ...slot }] as const);
      return () => {
        slots.clear();
        for (const [key, slot] of saved) slots.set(key, { ...slot });
      };
    },
  };
}
