/** Writes of what was fetched, after the answer. */
import type { Patience } from '../question.js';

/** Limit of pending bytes; beyond it answers wait for their write. */
const MAX_BEHIND_BYTES = 33_554_432;

interface WriteUnderWay {
  readonly bytes: number;
  /** Not before it. */
  readonly begin: Promise<unknown>;
  /** Whether all of it was stored. Never rejects. */
  readonly written: Promise<boolean>;
}

/** After a failed write, answers wait for their own write until one succeeds. */
export function createWriteBehind(background: (work: Promise<unknown>) => void) {
  let behindBytes = 0;
  let isTaking = true;
  return async (
    { bytes, begin, written }: WriteUnderWay,
    patience: Patience,
  ): Promise<{ stored: boolean; kept: Promise<unknown> }> => {
    behindBytes += bytes;
    const kept = written.then((isStored) => {
      behindBytes -= bytes;
      isTaking = isStored;
      return isStored;
    });
    background(kept);
    if (patience.isSpent) return { stored: false, kept };
    if (isTaking && behindBytes <= MAX_BEHIND_BYTES) return { stored: true, kept };
    await begin;
    // Meanwhile the store was found to be unavailable.
    if (patience.isSpent) return { stored: false, kept };
    const stored = await kept;
    patience.isSpent = !stored;
    return { stored, kept };
  };
}
