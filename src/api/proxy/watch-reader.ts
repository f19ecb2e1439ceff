import type { Socket } from 'node:net';
import { startTicks, stopTicks, uptimeMs } from '../../lib/time.js';
import { createPatience, type PatienceRules } from './read-patience.js';

/** Least and longest time between two looks, milliseconds. */
const [LOOK_MS, LOOK_MOST_MS] = [20, 1000];

/**
 * Breaks off the connection of a caller who does not read an answer that was handed to it whole: until it has, its team
 * has one place less. The time in which the answer waits for its turn, behind others on its connection, is not the caller's.
 * @param socketOf null while the answer is queued
 * @returns to be called when the answer is over
 */
export function watchReader(socketOf: () => Socket | null, rules: PatienceRules): () => void {
  let judge = createPatience(rules, uptimeMs());
  const look = startTicks(
    () => {
      const socket = socketOf();
      const nowMs = uptimeMs();
      if (socket === null) {
        judge = createPatience(rules, nowMs);
        return;
      }
      const arrived = socket.bytesWritten;
      const progress = { arrived, taken: arrived - socket.writableLength, full: true, whole: true };
      if (judge(progress, nowMs) === 'caller-slow') socket.destroy();
    },
    Math.max(LOOK_MS, Math.min(LOOK_MOST_MS, rules.overMs / 5)),
  ).unref();
  return () => stopTicks(look);
}
