/**
 * Calls that nobody asked for, so that finality is not learned from young days alone: once a month, of each endpoint, split and
 * advertiser that is in use, the last 90 days. Behind answers, where the platform has nothing better to do; what it brings is
 * kept, recorded and compared like any other answer.
 */
import type { Logger } from 'pino';
import type { Config } from '../config/load.js';
import type { Days, FetchDays } from '../divisibility/compare-days.js';
import type { Learner } from '../divisibility/learn.js';
import { scopeId, scopeOf } from '../finality/scope.js';
import { dayAt, daysBetween, isoDay } from '../report/days.js';
import type { ReportSeries } from '../report/platform-call.js';
import type { ReportPolicy } from '../report-policy.js';
import type { Documents } from '../store/port.js';
import { createExploredScopes, MONTH_MS } from './explored-scopes.js';

export interface ExplorerOptions {
  readonly config: Pick<Config, 'finality'>;
  readonly documents: Documents;
  readonly learner: Pick<Learner, 'status' | 'compare'>;
  readonly fetchDays: FetchDays;
  /** What is kept of these days now. */
  readonly readDays: (what: ReportSeries, dates: readonly string[]) => Promise<Days>;
  readonly policy: Pick<ReportPolicy, 'timezoneOf' | 'plan'>;
  /** Whether what is fetched of it is written down: else nothing is learned from it. */
  readonly isRecorded: (report: ReportSeries['report']) => boolean;
  /** Whether the platform has nothing better to do. */
  readonly isIdle: () => boolean;
  /** Platform calls of this process in the last day. */
  readonly recentCalls: { count(): number };
  readonly now: () => number;
  readonly background: (work: Promise<unknown>) => void;
  readonly onExplore: () => void;
  readonly logger: Logger;
}

export interface Explorer {
  /** A report is in use. Costs a look into a map, but for the first time an hour. */
  used(what: ReportSeries): void;
  /** None is begun from now on. */
  stop(): void;
}

const DAYS = 90;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Series that are remembered. */
const MAX_SERIES = 10_000;

export function createExplorer(options: ExplorerOptions): Explorer {
  const { now, learner, logger } = options;
  const { mode, exploreShare } = options.config.finality;
  const isOn = mode === 'learned' && exploreShare > 0;
  const scopes = createExploredScopes(options.documents);
  /** By series, when to look again. */
  const notBefore = new Map<string, number>();
  /** When this process made such calls, in the last day. */
  let made: readonly number[] = [];
  let isRunning = false;
  let isStopped = false;

  /** All there are, one more included, are so many of the calls that callers caused, and never more. */
  function mayCall(): boolean {
    made = made.filter((at) => Math.abs(now() - at) < DAY_MS);
    return options.isIdle() && made.length + 1 <= exploreShare * options.recentCalls.count();
  }

  async function explore(what: ReportSeries): Promise<void> {
    const today = dayAt(now(), options.policy.timezoneOf(what.report.account));
    const days = Math.min(DAYS, options.policy.plan.maxDaysPerCall);
    const [from, to] = [isoDay(today - days), isoDay(today - 1)];
    const known = await options.readDays(what, daysBetween(from, to));
    const fetch = (first: string, last: string) => {
      made = [...made, now()];
      return options.fetchDays({ ...what, known }, first, last);
    };
    options.onExplore();
    const fresh = await fetch(from, to);
    if (fresh !== null) await learner.compare({ ...what, known, fresh: [...fresh.values()] }, fetch);
  }

  async function look(what: ReportSeries): Promise<void> {
    const id = scopeId(scopeOf(what.report));
    const since = await scopes.sinceOf(id, now());
    if (since === null) return;
    const dueAt = since + MONTH_MS;
    if (now() < dueAt) {
      notBefore.set(what.series, Math.min(dueAt, now() + DAY_MS));
      return;
    }
    // Days of a kind that may not be cut are fetched with their ranges, and so are not kept one by one.
    if (isRunning || isStopped || learner.status(what.report).state !== 'proven' || !mayCall()) return;
    isRunning = true;
    try {
      // Replicas agree on who makes the call by who has written that it is made.
      if (!(await scopes.claim(id, now())) || isStopped) return;
      await explore(what);
    } catch (error) {
      logger.debug({ err: error }, 'days could not be asked for to learn from them; trying again in a day');
      await scopes.retry(id, now() - MONTH_MS + DAY_MS);
    } finally {
      isRunning = false;
    }
  }

  const isOfUse = ({ report }: ReportSeries) => report.split.includes('date') && options.isRecorded(report);

  return {
    used(what) {
      if (!isOn || isStopped || now() < (notBefore.get(what.series) ?? 0)) return;
      if (notBefore.size >= MAX_SERIES) notBefore.clear();
      notBefore.set(what.series, now() + HOUR_MS);
      if (isOfUse(what)) options.background(look(what));
    },
    stop() {
      isStopped = true;
    },
  };
}
