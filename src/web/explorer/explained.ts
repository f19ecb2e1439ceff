/** What is kept of a report, day by day: neighbours of one state are told together. Pure. */

/** As `GET /gateway/v1/explain` has it of a day, or of a report that is kept as a whole. */
export interface Kept {
  readonly state: 'fresh' | 'final' | 'stale' | 'missing';
  /** When it was fetched; null: never. */
  readonly asOf: string | null;
  /** Freshness that is left; negative when it is over. */
  readonly ttlSeconds: number | null;
  readonly rows: number | null;
}

export interface KeptDay extends Kept {
  readonly date: string;
}

export interface KeptRun {
  readonly from: string;
  readonly to: string;
  readonly days: number;
  readonly state: Kept['state'];
  /** The oldest fetch among them. */
  readonly asOf: string | null;
  /** Of the one that is asked for again first. */
  readonly ttlSeconds: number | null;
  /** null: it is not known, or of the report as a whole alone. */
  readonly rows: number | null;
}

/** @param days in date order */
export function runsOf(days: readonly KeptDay[]): KeptRun[] {
  const runs: KeptRun[] = [];
  for (const day of days) {
    const last = runs.at(-1);
    if (last?.state === day.state) runs[runs.length - 1] = joined(last, day);
    else runs.push({ ...day, from: day.date, to: day.date, days: 1 });
  }
  return runs;
}

function joined(run: KeptRun, day: KeptDay): KeptRun {
  return {
    ...{ from: run.from, to: day.date, days: run.days + 1, state: run.state },
    asOf: lesser(run.asOf, day.asOf),
    ttlSeconds: lesser(run.ttlSeconds, day.ttlSeconds),
    rows: run.rows === null || day.rows === null ? null : run.rows + day.rows,
  };
}

function lesser<T extends string | number>(one: T | null, other: T | null): T | null {
  if (one === null || other === null) return one ?? other;
  return one < other ? one : other;
}
