/**
 * Decides when a streamed body has stopped for too long, and whether the platform is silent or the caller is slow. While the
 * caller does not read, the platform does not count as silent.
 */

import type { Socket } from 'node:net';
import { startTicks, stopTicks, uptimeMs } from '../../lib/time.js';

export interface PatienceRules {
  /** Longest silence of the platform, milliseconds. */
  readonly silenceMs: number;
  /** Minimum speed of the caller, bytes per second; 0: none. */
  readonly minBytesPerSecond: number;
  /** Time over which that speed is measured, milliseconds. */
  readonly overMs: number;
}

export interface Progress {
  readonly arrived: number;
  /** Accepted by the caller's connection. */
  readonly taken: number;
  /** Whether the buffers are full, so that the platform is not read. */
  readonly full: boolean;
  /** Whether the whole has arrived. */
  readonly whole: boolean;
}

export type Standstill = 'platform-silent' | 'caller-slow' | null;

/**
 * The system buffers megabytes of a connection: then it accepts nothing until a large part was read. A caller that resumed
 * after such a pause may pause this many times as long again, because the buffers grow.
 */
const PAUSE_GROWTH = 4;
const LONGEST_PAUSE_MS = 600_000;

/** @returns a function to call regularly, with the time in milliseconds */
export function createPatience(rules: PatienceRules, startMs: number) {
  let heard = { arrived: 0, atMs: startMs };
  let began = { taken: 0, atMs: startMs };
  let longestPauseMs = 0;
  const enough = (rules.minBytesPerSecond * rules.overMs) / 1000;

  function isSilent({ arrived, full, whole }: Progress, nowMs: number): boolean {
    if (arrived !== heard.arrived || full || whole) heard = { arrived, atMs: nowMs };
    return nowMs - heard.atMs >= rules.silenceMs;
  }

  function isSlow({ arrived, taken }: Progress, nowMs: number): boolean {
    const waitedMs = nowMs - began.atMs;
    if (arrived === taken) {
      began = { taken, atMs: nowMs };
      return false;
    }
    if (taken - began.taken >= enough) {
      longestPauseMs = Math.max(longestPauseMs, waitedMs);
      began = { taken, atMs: nowMs };
      return false;
    }
    const patienceMs = Math.min(LONGEST_PAUSE_MS, PAUSE_GROWTH * longestPauseMs);
    return waitedMs >= Math.max(rules.overMs, patienceMs);
  }

  return function judge(progress: Progress, nowMs: number): Standstill {
    const silent = isSilent(progress, nowMs);
    if (isSlow(progress, nowMs)) return 'caller-slow';
    return silent ? 'platform-silent' : null;
  };
}

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
