/** When joins of a series are compared with whole answers, and what this process has compared; see `cross-check.ts`. */
import { createLastUsed } from '../../lib/last-used.js';
import { type ComparedShapes, comparedName, shapesOf } from '../learn/compared.js';
import type { Learner } from '../learn/learn.js';
import type { Report } from '../query/canonicalize.js';
import { dayAt, dayNumber } from '../query/days.js';
import type { ReportSeries } from '../query/platform-call.js';
import type { ReportPolicy } from '../report-policy.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { isFinal, isFinalDay } from '../rows/freshness.js';

/** LRU limit of series per process. */
const SERIES = 10_000;
/** Joins of each series that are compared before once a day suffices. */
const FIRST_JOINS = 2;
const DAY_MS = 86_400_000;
const WEEK_DAYS = 7;
/** What this process has compared of a series. */
interface Checked {
  readonly generation: string;
  first: number;
  day: number;
  notBefore: number;
  count: number;
  /** The longest range of the week, in days. */
  longest: number;
}

interface ScheduleOptions {
  readonly policy: Pick<ReportPolicy, 'rulesFor' | 'timezoneOf'>;
  readonly now: () => number;
  readonly learner: Pick<Learner, 'status'>;
  readonly compared: Pick<ComparedShapes, 'agree'>;
}

/** @param every compares one join in so many; 0: no comparison at all */
export function createCheckSchedule(every: number, { learner, policy, now, compared }: ScheduleOptions) {
  const seen = createLastUsed<Checked>(SERIES);
  /** When a shape of an account may be compared again that could not be, epoch milliseconds. */
  const pauses = createLastUsed<number>(SERIES);
  const dayNow = () => Math.floor(now() / DAY_MS);

  /** @returns null if the series is not watched */
  function stateOf({ report, series }: ReportSeries): Checked | null {
    const { pinned, state, generation } = learner.status(report);
    if (every === 0 || pinned || state !== 'proven' || !hasFinalDay(report)) return null;
    const before = seen.get(series);
    if (before?.generation === generation) return before;
    const fresh: Checked = { generation, first: 0, day: -1, notBefore: 0, count: 0, longest: 0 };
    seen.set(series, fresh);
    return fresh;
  }

  /** Only final days can be compared. */
  function hasFinalDay(report: Report): boolean {
    const { restatementDays } = policy.rulesFor(report);
    return isFinalDay(dayNumber(report.from as string) as number, todayOf(report), restatementDays);
  }

  const todayOf = ({ account }: Report) => dayAt(now(), policy.timezoneOf(account));

  function shapesOfRange(report: Report): readonly string[] {
    const { restatementDays } = policy.rulesFor(report);
    return shapesOf(report.from as string, report.to as string, todayOf(report) - restatementDays);
  }

  function nameOf(report: Report): string {
    const { id, generation } = learner.status(report);
    return comparedName(id, generation, report.account);
  }

  return {
    stateOf,
    nameOf,
    pauses,
    /** By series and range: comparisons that callers of this process wait for. */
    underWay: new Map<string, Promise<boolean>>(),
    /** Whether the next call of a series should fetch its whole range, for comparison. */
    callIsDue(what: ReportSeries): boolean {
      const state = stateOf(what);
      if (state === null || now() < state.notBefore) return false;
      if (state.first < FIRST_JOINS || state.day !== dayNow() || lengthOf(what.report) > state.longest)
        return true;
      return !compared.agree(nameOf(what.report), shapesOfRange(what.report));
    },
    note(state: Checked, report: Report): void {
      const isNewWeek = Math.floor(state.day / WEEK_DAYS) !== Math.floor(dayNow() / WEEK_DAYS);
      state.longest = Math.max(isNewWeek ? 0 : state.longest, lengthOf(report));
      state.day = dayNow();
      state.first += 1;
    },
    /** Whether this join is one in {@link every}. */
    isSample(state: Checked): boolean {
      state.count = (state.count + 1) % every;
      return state.count === 0;
    },
    /** Of the range, and of the answers that its final days with rows are from. */
    shapesIn({ report }: ReportSeries, days: readonly Entry<RowsHeader>[]): readonly string[] {
      const rules = policy.rulesFor(report);
      const shapes = new Set(shapesOfRange(report));
      let last = '';
      for (const { header } of days) {
        const { splitFrom, fetchedOn, rowCount } = header;
        const name = `${splitFrom?.from}/${splitFrom?.to} ${fetchedOn}`;
        if (splitFrom === null || rowCount === 0 || name === last || !isFinal(header, rules)) continue;
        last = name;
        for (const shape of shapesOf(splitFrom.from, splitFrom.to, fetchedOn - rules.restatementDays))
          shapes.add(shape);
      }
      return [...shapes];
    },
  };
}

/** In days; both ends are set. */
function lengthOf({ from, to }: Report): number {
  return (dayNumber(to as string) as number) - (dayNumber(from as string) as number) + 1;
}
