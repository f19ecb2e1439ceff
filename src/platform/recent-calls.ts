/** Counts the platform calls of this process: of the last day, and of the last five minutes with the failed ones. */
import { createRecent, createRecentMinutes } from '../lib/recent.js';
import {
  causeOf,
  describeCauses,
  type Failures,
  isSameIncident,
  NO_FAILURES,
  ROW_OF_FAILURES,
} from '../telemetry/failures.js';
import { type CallReport, isFailedCall, whyFailed } from '../telemetry/trace.js';

const [HOUR_MS, HOURS] = [3_600_000, 24];

/**
 * @param now wall time
 * @param answeredMs when the platform last answered another process, epoch milliseconds; 0: not known
 */
export function createRecentCalls(now: () => number, answeredMs: () => number = () => 0) {
  const ofDay = createRecent(now, HOUR_MS, HOURS);
  const ofMinutes = createRecentMinutes(now);
  let last: Failures = NO_FAILURES;
  /** The last answer, also if a call failed after it. */
  let answeredAtMs: number | null = null;
  /** Calls of the five minutes before the last failure, and later ones. */
  let [before, after] = [0, 0];

  function fail(why: string): void {
    const nowMs = now();
    const { mixed, ...rest } = last;
    const { calls, sinceMs } = last.row ?? { calls: 0, sinceMs: nowMs };
    [before, after] = [ofMinutes.sum().all, 0];
    const isSame = isSameIncident(last, nowMs);
    const causes = isSame ? (last.causes ?? {}) : {};
    const cause = causeOf(why);
    last = {
      ...rest,
      ...(isSame && (mixed || last.row === undefined) ? { mixed: true as const } : {}),
      fromMs: isSame ? (last.fromMs ?? nowMs) : nowMs,
      ...{ failedAtMs: nowMs, why, answeredAtMs: null, recoveredAtMs: null },
      row: { calls: calls + 1, sinceMs, afterMs: answeredAtMs },
      causes: { ...causes, [cause]: (causes[cause] ?? 0) + 1 },
    };
  }

  /** The platform has answered. */
  function answer(): void {
    const nowMs = now();
    const { row, why, recoveredAtMs, ...rest } = last;
    const ended =
      row && row.calls >= ROW_OF_FAILURES
        ? { lastRow: { fromMs: row.sinceMs, untilMs: nowMs, why: describeCauses(last.causes) } }
        : {};
    answeredAtMs = nowMs;
    last = { ...rest, ...ended, why, answeredAtMs: nowMs, recoveredAtMs: recoveredAtMs ?? nowMs };
  }

  // A process that makes calls finds out itself: it alone may not reach the platform.
  const isOver = () => ofMinutes.sum().failed === 0 && answeredMs() > (last.failedAtMs ?? 0);

  return {
    /** Whether the last failures are known to be over: five minutes without one, and another process was answered since. */
    isOver,
    /** An ended call. One whose caller disconnected has shown nothing about the platform. */
    add(call: CallReport): void {
      const { outcome } = call;
      const isFailed = isFailedCall(outcome);
      ofDay.add(isFailed);
      if (outcome === 'aborted') return;
      ofMinutes.add(isFailed);
      if (isFailed) fail(whyFailed(call));
      else after += 1;
      if (outcome === 'answer' || outcome === 'rejected') answer();
    },
    /** The last failed call, what was answered since, and the calls by which it is judged. */
    last(): Omit<Failures, 'teams'> {
      const { all, failed } = ofMinutes.sum();
      const judged = failed === 0 ? { calls: all, before: 0 } : { calls: before + after, before };
      const { row, ...rest } = last;
      return { ...rest, ...(row === undefined || isOver() ? {} : { row }), judged };
    },
    /** Calls within the last day. */
    count: (): number => ofDay.sum().all,
    /** Within the last five minutes. */
    lastMinutes(): { calls: number; failed: number } {
      const { all: calls, failed } = ofMinutes.sum();
      return { calls, failed };
    },
  };
}
