import type { Socket } from 'node:net';
import { startTicks, stopTicks, uptimeMs } from '../../lib/time.js';
import { createPatience, type PatienceRules } from './read-patience.js';

/** Shortest and longest time between two checks, milliseconds. */
const [LOOK_MS, LOOK_MOST_MS] = [20, 1000];

/**
 * Closes the connection of a caller that does not read an answer written as a whole: the answer counts as a concurrent request
 * of its team.
 * @returns a function to call at the end of the answer
 */
export function watchReader(socket: Socket, rules: PatienceRules): () => void {
  const judge = createPatience(rules, uptimeMs());
  const look = startTicks(
    () => {
      const arrived = socket.bytesWritten;
      const progress = { arrived, taken: arrived - socket.writableLength, full: true, whole: true };
      if (judge(progress, uptimeMs()) === 'caller-slow') socket.destroy();
    },
    Math.max(LOOK_MS, Math.min(LOOK_MOST_MS, rules.overMs / 5)),
  ).unref();
  return () => stopTicks(look);
}
