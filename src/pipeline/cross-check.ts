/**
 * Stage behind the answer: answers joined from days are held against the platform's whole answer for the same range, so
 * that a platform that changes its ways is noticed: the first joins of each series, then one a day of each series that
 * is in use, also when it is answered from memory, and one in so many. A series is asked for in several lengths, and a
 * platform may sample long ranges only: so each week the first join of about a length, and each that is longer, is
 * checked too. Not where the configuration has decided, nor a range without a final day, of which nothing can be told.
 *
 * A check costs a call, unless one is made anyway: where days are missing and a check is due, the whole range is asked
 * for instead of the missing days alone ({@link CrossChecks.isDue}).
 */
import type { Days, FetchDays } from '../divisibility/compare-days.js';
import type { Learner } from '../divisibility/learn.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { Entry, RowsHeader } from '../report/entry.js';
import type { ReportSeries } from '../report/platform-call.js';
import type { Leases } from '../store/port.js';
import {
  type Checked,
  type CheckScheduleOptions,
  createCheckSchedule,
  DAY_MS,
  WEEK_DAYS,
} from './check-schedule.js';

export interface CrossCheckOptions extends CheckScheduleOptions {
  readonly fetchDays: FetchDays;
  readonly learner: Learner;
  /** Replicas agree by leases on who checks; never given back. */
  readonly leases: Pick<Leases, 'claim' | 'release'>;
  /** This process. */
  readonly owner: string;
  /** What is kept of the report's days now. */
  readonly readDays: (what: ReportSeries) => Promise<Days>;
  readonly onCrossCheck: () => void;
  /** Told of every answer from days, whether it is checked or not. Must cost nearly nothing. */
  readonly onUse: (what: ReportSeries) => void;
  /** Told of days that were served, or are kept to be served, before they are held against the platform's. */
  readonly onServed: (report: CanonicalReport, days: Iterable<Entry<RowsHeader>>) => void;
  /** Told of a check that was due, and could not be made. */
  readonly onFailed: (report: CanonicalReport) => void;
}

export interface CrossChecks {
  /** Whether the next call for days of a series should bring its whole range, for comparison. */
  isDue(what: ReportSeries): boolean;
  /** Such a call was made, and what it brought was compared. */
  wasCompared(what: ReportSeries): void;
  /** Such a call came to nothing that could be compared: for a moment calls bring no more than they must. */
  couldNotCompare(what: ReportSeries): void;
  /** To be called for every answer from days that is worth a check ({@link checkFrom}). */
  joined(what: ReportSeries, parts: readonly Entry<RowsHeader>[]): Promise<void>;
  /** The same, of an answer that was given from memory. Costs a look into a map, but for the first one a day. */
  hit(what: ReportSeries): Promise<void> | null;
}

/** A check that failed is tried again after this time, not at each answer. */
const RETRY_MS = 300_000;

/** A lease is in real time; its name holds the day or the week, so it may last longer. */
const LEASE_MS = (WEEK_DAYS + 1) * DAY_MS;

export function createCrossChecks(options: CrossCheckOptions): CrossChecks {
  const { every, learner, fetchDays, leases, owner, now, onCrossCheck } = options;
  const schedule = createCheckSchedule(options);

  /** @returns whether no other replica has made, or is making, this check. Without the store there is nobody to ask. */
  async function isMine(name: string): Promise<boolean> {
    const [mine = false] = await leases.claim([name], owner, LEASE_MS);
    return mine;
  }

  async function check(what: ReportSeries, known: () => Promise<Days>): Promise<void> {
    const { from, to } = what.report;
    onCrossCheck();
    const days = await known();
    options.onServed(what.report, days.values());
    const fresh = await fetchDays({ ...what, known: days }, from.iso as string, to.iso as string);
    if (fresh === null) return options.onFailed(what.report);
    const news = { ...what, fresh: [...fresh.values()], known: days };
    await learner.compare(news, (first, last) => fetchDays({ ...what, known: days }, first, last));
  }

  async function checkOnce(what: ReportSeries, state: Checked, known: () => Promise<Days>): Promise<void> {
    const { first, day, lengths } = state;
    const name = schedule.note(what, state);
    try {
      if (await isMine(name)) await check(what, known);
    } catch (error) {
      Object.assign(state, { first, day, lengths, notBefore: now() + RETRY_MS });
      await leases.release([name], owner).catch(() => {});
      options.onFailed(what.report);
      throw error;
    }
  }

  return {
    isDue(what) {
      const state = schedule.stateOf(what);
      return state !== null && schedule.isDue(state, what);
    },
    wasCompared(what) {
      const state = schedule.stateOf(what);
      if (state === null) return;
      onCrossCheck();
      // That other replicas need not is only thrift.
      isMine(schedule.note(what, state)).catch(() => {});
    },
    couldNotCompare(what) {
      const state = schedule.stateOf(what);
      if (state === null) return;
      state.notBefore = now() + RETRY_MS;
      options.onFailed(what.report);
    },
    async joined(what, parts) {
      options.onUse(what);
      const state = schedule.stateOf(what);
      if (state === null) return;
      const known = async () => new Map(parts.map((entry) => [entry.header.lastDay as string, entry]));
      state.count = (state.count + 1) % every;
      if (schedule.isDue(state, what) && !schedule.isWaiting(state, what))
        await checkOnce(what, state, known);
      else if (state.count === 0) await check(what, known);
    },
    hit(what) {
      options.onUse(what);
      const state = schedule.afterHit(what);
      if (state === null || !schedule.isDue(state, what) || schedule.isWaiting(state, what)) return null;
      return checkOnce(what, state, () => options.readDays(what));
    },
  };
}

/**
 * From when on an answer is worth a check: at once when it is more, or less, than one answer of the platform for the
 * very range; else from the day after it was fetched.
 * @returns epoch milliseconds
 */
export function checkFrom(parts: readonly Entry<RowsHeader>[], { from, to }: CanonicalReport): number {
  const [first] = parts;
  const isJoin = parts.some(
    ({ header }) =>
      header.splitFrom?.from !== from.iso ||
      header.splitFrom.to !== to.iso ||
      header.fetchStartedAt !== first?.header.fetchStartedAt,
  );
  return isJoin ? 0 : (Math.floor((first?.header.fetchedAt ?? 0) / DAY_MS) + 1) * DAY_MS;
}
