/** Counts the platform calls of this process: of the last day, and of the last five minutes with the failed ones. */
import { type CallReport, isFailedCall } from '../telemetry/trace.js';

const [HOUR_MS, HOURS] = [3_600_000, 24];
const [STEP_MS, STEPS] = [10_000, 30];

export interface CallCounts {
  readonly calls: number;
  readonly failed: number;
}

/** Counts by step; the current step is one of them. By wall time, which may be set back. */
function createWindow(now: () => number, stepMs: number, steps: number) {
  const byStep = new Map<number, CallCounts>();
  const stepNow = () => Math.floor(now() / stepMs);
  return {
    add(isFailed: boolean): void {
      const step = stepNow();
      const { calls, failed } = byStep.get(step) ?? { calls: 0, failed: 0 };
      byStep.set(step, { calls: calls + 1, failed: failed + Number(isFailed) });
      // After the clock was set back there are steps in the future.
      for (const known of byStep.keys()) if (Math.abs(known - step) >= steps) byStep.delete(known);
    },
    sum(): CallCounts {
      const step = stepNow();
      let [calls, failed] = [0, 0];
      for (const [known, counts] of byStep) {
        if (known > step || known <= step - steps) continue;
        calls += counts.calls;
        failed += counts.failed;
      }
      return { calls, failed };
    },
  };
}

/** @param now wall time */
export function createRecentCalls(now: () => number) {
  const ofDay = createWindow(now, HOUR_MS, HOURS);
  const ofMinutes = createWindow(now, STEP_MS, STEPS);
  return {
    /** An ended call. One whose caller disconnected has shown nothing about the platform. */
    add(outcome: CallReport['outcome']): void {
      ofDay.add(isFailedCall(outcome));
      if (outcome !== 'aborted') ofMinutes.add(isFailedCall(outcome));
    },
    /** Calls within the last day. */
    count: (): number => ofDay.sum().calls,
    /** Within the last five minutes. */
    lastMinutes: (): CallCounts => ofMinutes.sum(),
  };
}
