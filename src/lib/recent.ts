/** Counts of the last while, and how many of them failed. */

interface Counts {
  readonly all: number;
  readonly failed: number;
}

/**
 * Counts by step; the current step is one of them.
 * @param now wall time, which may be set back
 */
export function createRecent(now: () => number, stepMs: number, steps: number) {
  const byStep = new Map<number, Counts>();
  const stepNow = () => Math.floor(now() / stepMs);
  return {
    add(isFailed: boolean): void {
      const step = stepNow();
      const { all, failed } = byStep.get(step) ?? { all: 0, failed: 0 };
      byStep.set(step, { all: all + 1, failed: failed + Number(isFailed) });
      // After the clock was set back there are steps in the future.
      for (const known of byStep.keys()) if (Math.abs(known - step) >= steps) byStep.delete(known);
    },
    sum(): Counts {
      const step = stepNow();
      let [all, failed] = [0, 0];
      for (const [known, counts] of byStep) {
        if (known > step || known <= step - steps) continue;
        all += counts.all;
        failed += counts.failed;
      }
      return { all, failed };
    },
  };
}

const [STEP_MS, STEPS] = [10_000, 30];

/** Of the last five minutes. */
export const createRecentMinutes = (now: () => number) => createRecent(now, STEP_MS, STEPS);
