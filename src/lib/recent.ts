/** Counts of the last while, and how many of them failed. */

interface Counts {
  all: number;
  failed: number;
}

/**
 * Counts by step; the current step is one of them.
 * @param now wall time, which may be set back
 */
export function createRecent(now: () => number, stepMs: number, steps: number) {
  const byStep = new Map<number, Counts>();
  const stepNow = () => Math.floor(now() / stepMs);
  function begin(step: number): Counts {
    const counts = { all: 0, failed: 0 };
    byStep.set(step, counts);
    // After the clock was set back there are steps in the future.
    for (const known of byStep.keys()) if (Math.abs(known - step) >= steps) byStep.delete(known);
    return counts;
  }
  return {
    add(isFailed: boolean): void {
      const step = stepNow();
      const counts = byStep.get(step) ?? begin(step);
      counts.all += 1;
      counts.failed += Number(isFailed);
    },
    sum(): Readonly<Counts> {
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

const MINUTE_MS = 60_000;

/**
 * Names noted within the last five minutes, each with its last run: first and last time of all that are less than a minute
 * apart, so that it was noted in each minute of the run. @param now wall time
 */
export function createRecentRuns(now: () => number) {
  const runs = new Map<string, { readonly fromMs: number; readonly atMs: number }>();
  return {
    note(name: string): void {
      const [atMs, last] = [now(), runs.get(name)];
      const isSame = last !== undefined && Math.abs(atMs - last.atMs) < MINUTE_MS;
      runs.set(name, { fromMs: isSame ? Math.min(last.fromMs, atMs) : atMs, atMs });
    },
    list() {
      for (const [name, { atMs }] of runs) if (Math.abs(now() - atMs) >= STEP_MS * STEPS) runs.delete(name);
      return [...runs].map(([name, run]) => ({ name, ...run }));
    },
  };
}
