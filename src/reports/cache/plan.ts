/**
 * Which platform calls bring which days. Pure: day numbers in, ranges out.
 */

export interface PlanRules {
  /** Two runs of wanted days become one call when at most this many days lie between them. */
  readonly mergeGapDays: number;
  /** Longest call. */
  readonly maxDaysPerCall: number;
}

/** As day numbers, both ends included. */
export interface DayRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Ranges that together hold every needed day, none of them longer than a call may be.
 * @param needed day numbers, ascending, each once
 * @returns newest first: the days people look at most are asked for first
 */
export function planCalls(needed: readonly number[], rules: PlanRules): DayRange[] {
  const runs: DayRange[] = [];
  for (const day of needed) {
    const last = runs.at(-1);
    const near = last !== undefined && day - last.to - 1 <= rules.mergeGapDays;
    if (near && day - last.from + 1 <= rules.maxDaysPerCall)
      runs[runs.length - 1] = { from: last.from, to: day };
    else runs.push({ from: day, to: day });
  }
  return runs.reverse();
}

/**
 * Stretches calls over days that ride along: not needed now, but soon, and free when a call passes anyway.
 * @param calls from {@link planCalls}
 * @param prefetched day numbers within the asked period, ascending
 */
export function stretchCalls(
  calls: readonly DayRange[],
  prefetched: readonly number[],
  rules: PlanRules,
): DayRange[] {
  const taken = new Set(calls.flatMap(({ from, to }) => [from, to]));
  return calls.map((call) => {
    let { from, to } = call;
    const fits = (low: number, high: number) => high - low + 1 <= rules.maxDaysPerCall;
    for (const day of prefetched) {
      if (day > to && day - to - 1 <= rules.mergeGapDays && fits(from, day) && !between(taken, to + 1, day))
        to = day;
    }
    for (const day of [...prefetched].reverse()) {
      if (
        day < from &&
        from - day - 1 <= rules.mergeGapDays &&
        fits(day, to) &&
        !between(taken, day, from - 1)
      )
        from = day;
    }
    // The call on the other side of a gap must not bring the same prefetched again.
    taken.add(from).add(to);
    return { from, to };
  });
}

function between(days: ReadonlySet<number>, low: number, high: number): boolean {
  for (let day = low; day <= high; day++) if (days.has(day)) return true;
  return false;
}
