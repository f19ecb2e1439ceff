/** Memory for small pass-through answers, so that the platform's part of a call is over before the caller's is. */

/** A larger answer is a stream: it would not be whole in there anyway. */
const MOST_EACH = 1_048_576;
const MOST_TOGETHER = 64 * MOST_EACH;
/** What a stream holds by itself. */
const HELD_ANYWAY = 65_536;

export interface AnswerBuffers {
  /**
   * @param length of the answer, bytes; null when it is not known
   * @returns how much of it may wait for the caller, 0 for no more than any stream holds; and what gives it back, to
   *   be called once
   */
  take(length: number | null): { readonly bytes: number; readonly giveBack: () => void };
  /** Bytes that are taken now. */
  readonly taken: number;
}

export function createAnswerBuffers(totalBytes = MOST_TOGETHER): AnswerBuffers {
  let taken = 0;
  return {
    take(length) {
      const wanted = length ?? MOST_EACH;
      if (wanted <= HELD_ANYWAY || wanted > MOST_EACH || taken + wanted > totalBytes)
        return { bytes: 0, giveBack: () => {} };
      taken += wanted;
      // One piece more than the whole: a stream that is full to the brim does not end.
      return { bytes: wanted + HELD_ANYWAY, giveBack: () => (taken -= wanted) };
    },
    get taken() {
      return taken;
    },
  };
}
