/** Tallies of processes. */
import { onTestFinished } from 'vitest';
import { createTally, type Tally } from '../../../src/teams/tally/tally.js';
import { createRecordedLog } from '../../support/recorded-log.js';

export const NO_TRAFFIC = { budget: { queued: 0 }, pace: { status: () => null } };

/** Flushed by the test alone, and closed at its end, unless it says otherwise. */
export function openTally(
  options: Omit<Parameters<typeof createTally>[0], 'logger' | 'traffic'> &
    Partial<Parameters<typeof createTally>[0]>,
): Tally {
  const tally = createTally({
    logger: createRecordedLog().logger,
    traffic: NO_TRAFFIC,
    everyMs: null,
    ...options,
  });
  onTestFinished(() => tally.close());
  return tally;
}
