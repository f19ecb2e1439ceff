/**
 * Stage behind the answer: answers joined from days are held against the platform's whole answer for the same range, so
 * that a platform that changes its ways is noticed: the first joins of each series, then one a day of each series that
 * is in use, also when it is answered from memory, and one in so many. A series is asked for in several lengths, and a
 * platform may sample long ranges only: so each week the first join of about a length, and each that is longer, is
 * checked too. Not where the configuration has decided, nor a range without a final day, of which nothing can be told.
 *
 * A check costs a call, unless one is made anyway: where days are missing and a check is due, the whole range is asked
 * for instead of the missing days alone.
 */
import { createLastUsed } from '../../lib/last-used.js';
import { daysFound } from '../cache/look-up.js';
import type { Gateway } from '../gateway.js';
import type { Days } from '../learn/compare-days.js';
import type { Learner } from '../learn/learn.js';
import type { Report } from '../query/canonicalize.js';
import { dayNumber } from '../query/days.js';
import type { ReportSeries } from '../query/platform-call.js';
import { dayRefs } from '../question.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { isFinalDay } from '../rows/freshness.js';
import { fetchToLearn } from './call-platform.js';

// When a series is to be checked: its first joins, one a day, and each week the first of about a length and each that is
// longer. What was checked is remembered by this process; replicas agree on who makes a check by the names given here.

/** Series of one process that are remembered; of one that is not the check is made anew, once among all replicas. */
const SERIES = 10_000;

/** Joins of each series that are checked before it is left to the daily check. */
const FIRST_JOINS = 2;

const DAY_MS = 86_400_000;

const WEEK_DAYS = 7;

/** Longest time a check waits for a call that is made anyway: a few times as long as a day that may change is fresh. */
const WAIT_MS = DAY_MS / 4;

/** How far a series was checked in this process. */
interface Checked {
  readonly generation: string;
  first: number;
  day: number;
  notBefore: number;
  count: number;
  /** When a check that is due began to wait for a call that is made anyway, epoch milliseconds. */
  waitsFrom: number | null;
  /** The longest range that was checked, for each {@link lengthClass}, in the week it was checked in. */
  lengths: ReadonlyMap<number, { readonly week: number; readonly days: number }>;
}

const UNCHECKED: Checked = {
  ...{ generation: '', first: 0, day: -1, notBefore: 0, count: 0, waitsFrom: null },
  lengths: new Map(),
};

export type CheckSchedule = ReturnType<typeof createCheckSchedule>;

/** @param every one join of a series in so many, beside the first and the daily ones; 0: none at all */
export function createCheckSchedule(
  every: number,
  { learner, policy, now }: Pick<Gateway, 'policy' | 'now'> & { readonly learner: Pick<Learner, 'status'> },
) {
  const seen = createLastUsed<Checked>(SERIES);
  const today = () => Math.floor(now() / DAY_MS);
  const week = () => Math.floor(today() / WEEK_DAYS);

  /** Only final days are compared: a check of other ones would tell nothing, and stand for one that does. */
  const isComparable = (report: Report) => isFinalNow(report, report.from as string);
  const isFinalNow = (report: Report, date: string) =>
    isFinalDay(dayNumber(date) as number, today(), policy.rulesFor(report).restatementDays);

  /** @returns how far a series was checked; null where nothing is to be checked */
  function stateOf({ report, series }: ReportSeries): Checked | null {
    const { pinned, state, generation } = learner.status(report);
    if (every === 0 || pinned || state !== 'proven' || !isComparable(report)) return null;
    const before = seen.get(series);
    if (before?.generation === generation) return before;
    const fresh: Checked = { ...UNCHECKED, generation };
    seen.set(series, fresh);
    return fresh;
  }

  const isNewLength = (state: Checked, report: Report) => isLongest(state, lengthOf(report), week());

  const isDue = (state: Checked, { report }: ReportSeries) =>
    now() >= state.notBefore &&
    (state.first < FIRST_JOINS || state.day !== today() || isNewLength(state, report));

  return {
    stateOf,
    isDue,
    /** Whether the next call for days of a series should bring its whole range, for comparison. */
    callIsDue(what: ReportSeries): boolean {
      const state = stateOf(what);
      return state !== null && isDue(state, what);
    },
    /**
     * Whether a check that is due is left to a call that is made anyway, which brings the whole range: there is one soon
     * where a day may still change. Not the first checks of a series.
     */
    isWaiting(state: Checked, { report }: ReportSeries): boolean {
      if (state.first < FIRST_JOINS || isFinalNow(report, report.to as string)) return false;
      const nowMs = now();
      // A clock that was set back must not make it wait until the time from which it was.
      if (state.waitsFrom === null || state.waitsFrom > nowMs) state.waitsFrom = nowMs;
      return nowMs - state.waitsFrom < WAIT_MS;
    },
    /** Notes a check as made. @returns its name among all replicas */
    note({ series, report }: ReportSeries, state: Checked): string {
      state.waitsFrom = null;
      const isNew = isNewLength(state, report);
      const isFirst = state.first < FIRST_JOINS;
      const prefix = `cross-check:{${series}}:${state.generation}:`;
      state.day = today();
      if (isFirst) state.first += 1;
      if (!isNew) return prefix + (isFirst ? `first-${state.first}` : state.day);
      const days = lengthOf(report);
      state.lengths = new Map([...state.lengths, [lengthClass(days), { week: week(), days }]]);
      return `${prefix}${week()}:length-${days}`;
    },
    /** The state of a series that may be due; null where a look into a map tells that it is not. */
    afterHit(what: ReportSeries): Checked | null {
      const before = seen.get(what.series);
      if (before?.day === today() || now() < (before?.notBefore ?? 0) || !isComparable(what.report))
        return null;
      const state = stateOf(what);
      // Nothing to check: not to be found out at each hit.
      if (state === null) seen.set(what.series, { ...UNCHECKED, day: today() });
      return state;
    },
  };
}

/** Whether a range is longer than what was checked this week of about its length. */
function isLongest({ lengths }: Checked, days: number, week: number): boolean {
  const longest = lengths.get(lengthClass(days));
  return longest?.week !== week || days > longest.days;
}

/** Only reports with both ends are answered from days. */
function lengthOf({ from, to }: Report): number {
  return (dayNumber(to as string) as number) - (dayNumber(from as string) as number) + 1;
}

/** Ranges of about a length: 1, 2 to 3, 4 to 7, 8 to 15 days, and so on. */
function lengthClass(days: number): number {
  return Math.floor(Math.log2(days));
}

/** A check that failed is tried again after this time, not at each answer. */
const RETRY_MS = 300_000;

/** A lease is in real time; its name holds the day or the week, so it may last longer. */
const LEASE_MS = (WEEK_DAYS + 1) * DAY_MS;

/** A call that a check was due for was made, and its answer was compared. */
export function noteCompared(g: Gateway, what: ReportSeries): void {
  const state = g.checks.stateOf(what);
  if (state === null) return;
  g.metrics.crossCheck();
  // That other replicas need not is only thrift.
  isMine(g, g.checks.note(what, state)).catch(() => {});
}

/** Such a call had no answer that could be compared: for a moment calls bring no more than they must. */
export function checkCouldNotRun(g: Gateway, what: ReportSeries): void {
  const state = g.checks.stateOf(what);
  if (state === null) return;
  state.notBefore = g.now() + RETRY_MS;
  g.evidence.failed(what.report);
}

/** To be called for every answer from days that is worth a check ({@link checkFrom}). */
export async function checkJoin(
  g: Gateway,
  what: ReportSeries,
  parts: readonly Entry<RowsHeader>[],
): Promise<void> {
  const { checks } = g;
  g.explorer.used(g, what);
  const state = checks.stateOf(what);
  if (state === null) return;
  const known = async () => new Map(parts.map((entry) => [entry.header.lastDay as string, entry]));
  state.count = (state.count + 1) % g.config.report.crossCheckEvery;
  if (checks.isDue(state, what) && !checks.isWaiting(state, what)) await checkOnce(g, what, state, known);
  else if (state.count === 0) await check(g, what, known);
}

/** The same, of an answer from memory. Costs a look into a map, but for the first one a day. */
export function checkAfterHit(g: Gateway, what: ReportSeries): Promise<void> | null {
  const { checks } = g;
  g.explorer.used(g, what);
  const state = checks.afterHit(what);
  if (state === null || !checks.isDue(state, what) || checks.isWaiting(state, what)) return null;
  return checkOnce(g, what, state, async () => {
    const refs = dayRefs(what);
    return daysFound(refs, (await g.lookUp.read(what.report, refs)).found);
  });
}

/** @returns whether no other replica has made, or is making, this check. While the store is away there is none to ask. */
async function isMine({ store, self }: Gateway, name: string): Promise<boolean> {
  const [mine = false] = await store.leases.claim([name], self, LEASE_MS);
  return mine;
}

async function check(g: Gateway, what: ReportSeries, known: () => Promise<Days>): Promise<void> {
  const { from, to } = what.report;
  g.metrics.crossCheck();
  const days = await known();
  g.evidence.served(what.report, days.values());
  const fetch = (first: string, last: string) => fetchToLearn(g, { ...what, known: days }, first, last);
  const fresh = await fetch(from as string, to as string);
  if (fresh === null) return g.evidence.failed(what.report);
  await g.learner.compare({ ...what, fresh: [...fresh.values()], known: days }, fetch);
}

async function checkOnce(
  g: Gateway,
  what: ReportSeries,
  state: Checked,
  known: () => Promise<Days>,
): Promise<void> {
  const { first, day, lengths } = state;
  const name = g.checks.note(what, state);
  try {
    if (await isMine(g, name)) await check(g, what, known);
  } catch (error) {
    Object.assign(state, { first, day, lengths, notBefore: g.now() + RETRY_MS });
    await g.store.leases.release([name], g.self).catch(() => {});
    g.evidence.failed(what.report);
    throw error;
  }
}

/**
 * From when on an answer is worth a check: at once when it is more, or less, than one answer of the platform for the
 * very range; else from the day after it was fetched.
 * @returns epoch milliseconds
 */
export function checkFrom(parts: readonly Entry<RowsHeader>[], { from, to }: Report): number {
  const [first] = parts;
  const isJoin = parts.some(
    ({ header }) =>
      header.splitFrom?.from !== from ||
      header.splitFrom.to !== to ||
      header.fetchStartedAt !== first?.header.fetchStartedAt,
  );
  return isJoin ? 0 : (Math.floor((first?.header.fetchedAt ?? 0) / DAY_MS) + 1) * DAY_MS;
}
