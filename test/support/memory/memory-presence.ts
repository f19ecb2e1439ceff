import type { Clock } from '../../../src/clock.js';
import { wholeMs } from '../../../src/store/check-input.js';
import type { Presence } from '../../../src/store/port.js';
import { byId } from '../../../src/store/present.js';
import { createLapsingMap } from './lapsing-map.js';

/** This process alone, as a rule. */
export function createMemoryPresence(clock: Clock, present = createLapsingMap<string>(clock)): Presence {
  return {
    async beat(id, info, ttlMs) {
      present.set(id, info, wholeMs(ttlMs, 1));
    },
    async leave(id) {
      present.delete(id);
    },
    async list() {
      return present
        .entries()
        .map(([id, info]) => ({ id, info }))
        .sort(byId);
    },
  };
}
