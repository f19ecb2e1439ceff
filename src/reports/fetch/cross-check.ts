/**
 * Compares joined answers in the background with the platform's whole answer for the same range, to detect changes of its
 * behaviour. Checked are the first joins of each series, one a day of each series in use, also from memory, and one in N.
 * Because a platform may sample long ranges only, each week the first join of each length class, and each longer one, is checked
 * too. Not checked: reports with configured divisibility, and ranges without a final day. A check costs a call, unless days are
 * missing anyway: then the call fetches the whole range.
 */
import { createLastUsed } from '../../lib/last-used.js';
import { daysFound } from '../cache/look-up.js';
import type { Gateway } from '../gateway.js';
import { type Days, daysByDate } from '../learn/compare-days.js';
import type { Learner } from '../learn/learn.js';
import type { Report } from '../query/canonicalize.js';
import { dayNumber } from '../query/days.js';
import type { ReportSeries } from '../query/platform-call.js';
import { dayRefs } from '../question.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { isFinalDay } from '../rows/freshness.js';
import { fetchToLearn } from './call-platform.js';

// The schedule. Each process remembers its checks; replicas agree on a check by its lease name.

/** LRU limit of series per process. */
const SERIES = 10_000;
/** Joins of each series that are checked before daily checks suffice. */
const FIRST_JOINS = 2;
const DAY_MS = 86_400_000;
const WEEK_DAYS = 7;
/** Longest wait of a check for a call that is made anyway: several freshness periods of a provisional day. */
const WAIT_MS = DAY_MS / 4;

/** Check state of a series in this process. */
interface Checked {
  readonly generation: string;
  first: number;
  day: number;
  notBefore: number;
  count: number;
  /** When a due check began to wait for another call, epoch milliseconds. */
  waitsFrom: number | null;
  /** The longest checked range of each {@link lengthClass}, with its week. */
  lengths: ReadonlyMap<number, { readonly week: number; readonly days: number }>;
}

const UNCHECKED: Checked = {
  ...{ generation: '', first: 0, day: -1, notBefore: 0, count: 0, waitsFrom: null },
  lengths: new Map(),
};

/** @param every checks one join in so many, besides the first and daily ones; 0: no checks */
export function createCheckSchedule(
  every: number,
  { learner, policy, now }: Pick<Gateway, 'policy' | 'now'> & { readonly learner: Pick<Learner, 'status'> },
) {
  const seen = createLastUsed<Checked>(SERIES);
  const today = () => Math.floor(now() / DAY_MS);
  const week = () => Math.floor(today() / WEEK_DAYS);

  /** Only final days can be compared. */
  const isComparable = (report: Report) => isFinalNow(report, report.from as string);
  const isFinalNow = (report: Report, date: string) =>
    isFinalDay(dayNumber(date) as number, today(), policy.rulesFor(report).restatementDays);

  /** @returns null if the series is not checked */
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
    /** Whether the next call of a series should fetch its whole range, for comparison. */
    callIsDue(what: ReportSeries): boolean {
      const state = stateOf(what);
      return state !== null && isDue(state, what);
    },
    /**
     * Whether a due check waits for another call: a range with a provisional day has one soon. Not for the first checks of a
     * series.
     */
    isWaiting(state: Checked, { report }: ReportSeries): boolean {
      if (state.first < FIRST_JOINS || isFinalNow(report, report.to as string)) return false;
      const nowMs = now();
      // A clock set back must not prolong the wait.
      if (state.waitsFrom === null || state.waitsFrom > nowMs) state.waitsFrom = nowMs;
      return nowMs - state.waitsFrom < WAIT_MS;
    },
    /** Records a check. @returns its lease name */
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
    /** State of a series that may be due; null if not. Costs one map lookup. */
    afterHit(what: ReportSeries): Checked | null {
      const before = seen.get(what.series);
      if (before?.day === today() || now() < (before?.notBefore ?? 0) || !isComparable(what.report))
        return null;
      const state = stateOf(what);
      // Remembered, so that not each hit finds out.
      if (state === null) seen.set(what.series, { ...UNCHECKED, day: today() });
      return state;
    },
  };
}

/** Whether a range is longer than those checked this week in its length class. */
function isLongest({ lengths }: Checked, days: number, week: number): boolean {
  const longest = lengths.get(lengthClass(days));
  return longest?.week !== week || days > longest.days;
}

/** In days; both ends are set. */
function lengthOf({ from, to }: Report): number {
  return (dayNumber(to as string) as number) - (dayNumber(from as string) as number) + 1;
}

/** Ranges of about a length: 1, 2 to 3, 4 to 7, 8 to 15 days, and so on. */
function lengthClass(days: number): number {
  return Math.floor(Math.log2(days));
}

/** Pause after a failed check. */
const RETRY_MS = 300_000;

/** The lease name contains the day or week, so the lease may last longer. */
const LEASE_MS = (WEEK_DAYS + 1) * DAY_MS;

/** A due check was made by another call. */
export function noteCompared(g: Gateway, what: ReportSeries): void {
  const state = g.checks.stateOf(what);
  if (state === null) return;
  g.metrics.crossCheck();
  // Best effort: spares other replicas the check.
  isMine(g, g.checks.note(what, state)).catch(() => {});
}

/** The call for a due check had no comparable answer: pauses checks. */
export function checkCouldNotRun(g: Gateway, what: ReportSeries): void {
  const state = g.checks.stateOf(what);
  if (state === null) return;
  state.notBefore = g.now() + RETRY_MS;
  g.evidence.failed(what.report);
}

/** Call for every joined answer after its {@link checkFrom}. */
export async function checkJoin(
  g: Gateway,
  what: ReportSeries,
  parts: readonly Entry<RowsHeader>[],
): Promise<void> {
  const { checks } = g;
  g.explorer.used(g, what);
  const state = checks.stateOf(what);
  if (state === null) return;
  const known = async () => daysByDate(parts);
  state.count = (state.count + 1) % g.config.report.crossCheckEvery;
  if (checks.isDue(state, what) && !checks.isWaiting(state, what)) await checkOnce(g, what, state, known);
  else if (state.count === 0) await check(g, what, known);
}

/** {@link checkJoin} for an answer from memory. Usually costs one map lookup. */
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

/** @returns whether this replica may make the check. @throws StoreUnavailable */
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
 * When a joined answer is due for a check: at once, unless it is one platform answer for exactly this range; then on the day
 * after its fetch.
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
