/**
 * One paid comparison a week for each kind and account in use, of a range that a caller has asked for: the length classes in use
 * take turns, the largest first. Where finality is learned, the last days take a turn before them: a change of days that nobody
 * requests would go unnoticed. All replicas share it. It runs when the platform is idle, within 1 % of the day's calls.
 */
import { createLastUsed } from '../../lib/last-used.js';
import type { Base } from '../base.js';
import { type ComparedShapes, lengthClass } from '../learn/compared.js';
import { isCounted } from '../learn/scope.js';
import type { Report } from '../query/canonicalize.js';
import { dayAt, dayNumber, isoDay } from '../query/days.js';
import type { ReportSeries } from '../query/platform-call.js';
import type { createCheckSchedule } from './check-schedule.js';

const [HOUR_MS, DAY_MS] = [3_600_000, 86_400_000];
const WEEK_DAYS = 7;
/** Of the calls of the last day. */
const SHARE = 0.01;
/** Length of the last days. */
const LAST_DAYS = 92;
/** Kinds and accounts that a process remembers. */
const MAX_ACCOUNTS = 2000;

interface InUse {
  /** When this process first saw it: a day later it knows the ranges in use. */
  readonly since: number;
  /** By length class, the latest. */
  readonly ranges: Map<number, ReportSeries>;
  week: number;
}

interface WeeklyOptions extends Pick<Base, 'config' | 'policy' | 'now' | 'background'> {
  readonly checks: Pick<ReturnType<typeof createCheckSchedule>, 'stateOf' | 'nameOf'>;
  readonly compared: Pick<ComparedShapes, 'claimWeek'>;
  readonly isRecorded: (report: Report) => boolean;
  readonly isIdle: () => boolean;
  /** Platform calls of this process in the last day. */
  readonly recentCalls: { count(): number };
  /** Compares a range with the platform's whole answer. */
  readonly compare: (what: ReportSeries) => Promise<unknown>;
}

/** @returns the last days of the counted series, as far back as one call and the platform reach; none where nothing is learned */
function lastDays(
  { config, policy, isRecorded, now }: WeeklyOptions,
  asked: readonly ReportSeries[],
): ReportSeries[] {
  const counted = asked.find(({ report }) => isCounted(report));
  if (config.finality.mode !== 'learned' || counted === undefined) return [];
  const { series, report } = counted;
  if (!isRecorded(report)) return [];
  const { edgeDays = Number.POSITIVE_INFINITY } = policy.rulesFor(report);
  const days = Math.max(1, Math.min(LAST_DAYS, policy.plan.maxDaysPerCall, edgeDays - 1));
  const today = dayAt(now(), policy.timezoneOf(report.account));
  return [{ series, report: { ...report, from: isoDay(today - days), to: isoDay(today - 1) } }];
}

export function createWeekly(options: WeeklyOptions) {
  const { checks, compared, now, isIdle, recentCalls, compare, background } = options;
  const accounts = createLastUsed<InUse>(MAX_ACCOUNTS);
  /** By range: when it is noted again. */
  const notBefore = new WeakMap<ReportSeries, number>();
  /** Times of the calls in the last day. */
  let made: readonly number[] = [];
  let isRunning = false;
  let isStopped = false;

  function mayCall(): boolean {
    made = made.filter((at) => Math.abs(now() - at) < DAY_MS);
    return isIdle() && made.length + 1 <= SHARE * recentCalls.count();
  }

  async function look(name: string, one: InUse, week: number): Promise<void> {
    if (isRunning || isStopped || !mayCall()) return;
    isRunning = true;
    try {
      const before = await compared.claimWeek(name, week);
      one.week = week;
      if (before === null || isStopped) return;
      const asked = [...one.ranges].sort(([a], [b]) => b - a).map(([, range]) => range);
      const ranges = [...lastDays(options, asked), ...asked];
      made = [...made, now()];
      await compare(ranges[before % ranges.length] as ReportSeries);
    } finally {
      isRunning = false;
    }
  }

  return {
    /** Notes that a range is in use. Usually costs one map lookup. */
    used(what: ReportSeries): void {
      if (isStopped || now() < (notBefore.get(what) ?? 0)) return;
      notBefore.set(what, now() + HOUR_MS);
      if (checks.stateOf(what) === null) return;
      const { from, to } = what.report;
      const name = checks.nameOf(what.report);
      const one = accounts.get(name) ?? { since: now(), ranges: new Map(), week: -1 };
      accounts.set(name, one);
      one.ranges.set(
        lengthClass((dayNumber(to as string) as number) - (dayNumber(from as string) as number) + 1),
        what,
      );
      const week = Math.floor(now() / DAY_MS / WEEK_DAYS);
      if (one.week !== week && now() >= one.since + DAY_MS) background(look(name, one, week));
    },
    /** Starts no further comparison. */
    stop(): void {
      isStopped = true;
    },
  };
}
