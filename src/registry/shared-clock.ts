/** The test clock of all replicas: an offset in the registry, followed by every process. */
import Type from 'typebox';
import type { MovableClock } from '../clock.js';
import { recordForm } from '../record.js';
import type { Registry } from './replica.js';
import { updateRecord } from './update-record.js';

const RECORD = 'clock';
const ClockRecord = recordForm(Type.Object({ offsetMs: Type.Number() }));

export interface SharedClock {
  /** @param audit a line stored with it */
  moveTo(offsetMs: number, audit: string): Promise<void>;
}

/** Follows the offset from now on; to be used only where `GATEWAY_TEST_CLOCK` allows it. */
export function followSharedClock(registry: Registry, clock: MovableClock): SharedClock {
  const follow = () => {
    const text = registry.get(RECORD)?.value;
    clock.moveTo(text === undefined ? 0 : ClockRecord.read(text, RECORD).offsetMs);
  };
  follow();
  registry.onChange(RECORD, follow);
  return {
    moveTo: (offsetMs, audit) =>
      updateRecord(registry, RECORD, (text) => {
        const before = text === null ? null : ClockRecord.read(text, RECORD);
        return { text: JSON.stringify({ ...before, offsetMs }), audit: [audit] };
      }),
  };
}
