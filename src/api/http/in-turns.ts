/** Sends a large body in pieces, over several turns of the event loop. */
import { turn } from '../../lib/time.js';
import { AT_ONCE_BYTES, HIT_BYTES } from '../../reports/report-call.js';

/** The kernel accepts megabytes at once, which would block other answers for milliseconds. */
const TURN_BYTES = HIT_BYTES;

/** Progress of the caller is measured per piece. */
export async function* inTurns(content: readonly Buffer[]): AsyncGenerator<Buffer> {
  let sent = 0;
  for (const piece of content)
    for (let at = 0; at < piece.length; at += AT_ONCE_BYTES) {
      const slice = piece.subarray(at, at + AT_ONCE_BYTES);
      sent += slice.length;
      if (sent > TURN_BYTES) {
        await turn();
        sent = slice.length;
      }
      yield slice;
    }
}
