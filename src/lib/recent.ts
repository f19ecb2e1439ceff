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

/** Names noted within the last five minutes. @param now wall time */
export function createRecentNames(now: () => number) {
  const notedAt = new Map<string, number>();
  return {
    note: (name: string): void => void notedAt.set(name, now()),
    names(): readonly string[] {
      for (const [name, atMs] of notedAt) if (Math.abs(now() - atMs) >= STEP_MS * STEPS) notedAt.delete(name);
      return [...notedAt.keys()];
    },
  };
}
