/** The test clock of all replicas: an offset in the registry, followed by every process. */
import type { MovableClock } from '../clock.js';
import type { Registry } from './mirror.js';
import { updateRecord } from './update-record.js';

const RECORD = 'clock';

export interface SharedClock {
  /** @param audit a line stored with it */
  moveTo(offsetMs: number, audit: string): Promise<void>;
}

/** Follows the offset from now on; to be used only where `GATEWAY_TEST_CLOCK` allows it. */
export function followSharedClock(registry: Registry, clock: MovableClock): SharedClock {
  const follow = () => {
    const text = registry.get(RECORD)?.value;
    clock.moveTo(text === undefined ? 0 : (JSON.parse(text) as { offsetMs: number }).offsetMs);
  };
  follow();
  registry.onChange(RECORD, follow);
  return {
    moveTo: (offsetMs, audit) =>
      updateRecord(registry, RECORD, () => ({ text: JSON.stringify({ offsetMs }), audit: [audit] })),
  };
}
