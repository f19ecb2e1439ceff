/**
 * How long a body on its way from the platform to a caller may stand still, and whose fault that is: the platform's
 * silence, or the caller's slowness. What stands still because the caller does not read is no silence. Pure.
 */

export interface PatienceRules {
  /** Longest silence of the platform, milliseconds. */
  readonly silenceMs: number;
  /** Slowest caller that is waited for, bytes a second; 0: none is too slow. */
  readonly minBytesPerSecond: number;
  /** Time over which that is judged, milliseconds. */
  readonly overMs: number;
}

export interface Progress {
  readonly arrived: number;
  /** Accepted by the caller's connection. */
  readonly taken: number;
  /** Whether no more is asked of the platform until the caller has taken some. */
  readonly full: boolean;
  /** Whether the whole has arrived. */
  readonly whole: boolean;
}

export type Standstill = 'platform-silent' | 'caller-slow' | null;

/**
 * A system takes megabytes into the buffers of a connection before it shows that the other side does not read, and
 * then nothing until a good part of them is empty. Whoever came back from such a pause is given that time again, with
 * something on top, for the buffers grow.
 */
const PAUSE_GROWTH = 4;
const LONGEST_PAUSE_MS = 600_000;

/** @returns judges the progress; to be asked now and then, with the time in milliseconds */
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
