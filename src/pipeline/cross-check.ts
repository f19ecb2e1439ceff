/**
 * Stage behind the answer: answers joined from days are held against the platform's whole answer for the same range, so
 * that a platform that changes its ways is noticed: the first joins of each series, then one a day of each series that
 * is in use, also when it is answered from memory, and one in so many. A series is asked for in several lengths, and a
 * platform may sample long ranges only: so each week the first join of about a length, and each that is longer, is
 * checked too. Not where the configuration has decided, nor a range without a final day, of which nothing can be told.
 *
 * A check costs a call, unless one is made anyway: where days are missing and a check is due, the whole range is asked
 * for instead of the missing days alone ({@link Auditor.isDue}).
 */
import { LRUCache } from 'lru-cache';
import type { Days, FetchDays } from '../divisibility/compare-days.js';
import type { Learner } from '../divisibility/learn.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { dayNumber } from '../report/days.js';
import { isFinalDay } from '../report/freshness.js';
import type { Part, RowsHeader } from '../report/part.js';
import type { ReportPolicy } from '../report-policy.js';
import type { Leases } from '../store/port.js';

/** A report of which an answer was joined. */
export interface Joined {
  readonly report: CanonicalReport;
  readonly series: string;
}

export interface AuditorOptions {
  /** One join of a series in so many, beside the first and the daily ones; 0: none at all. */
  readonly every: number;
  readonly fetchDays: FetchDays;
  readonly learner: Learner;
  readonly policy: Pick<ReportPolicy, 'freshness'>;
  /** Replicas agree by leases on who checks; never given back. */
  readonly leases: Pick<Leases, 'claim' | 'release'>;
  /** This process. */
  readonly owner: string;
  /** What is kept of the report's days now. */
  readonly readDays: (what: Joined) => Promise<Days>;
  readonly now: () => number;
  readonly onAudit: () => void;
}

export interface Auditor {
  /** Whether the next call for days of a series should bring its whole range, for comparison. */
  isDue(what: Joined): boolean;
  /** Such a call was made, and what it brought was compared. */
  wasCompared(what: Joined): void;
  /** To be called for every answer from days that is worth a check ({@link auditFrom}). */
  joined(what: Joined, parts: readonly Part<RowsHeader>[]): Promise<void>;
  /** The same, of an answer that was given from memory. Costs a look into a map, but for the first one a day. */
  hit(what: Joined): Promise<void> | null;
}

/** Series of one process that are remembered; of one that is not the check is made anew, once among all replicas. */
const SERIES = 10_000;
/** Joins of each series that are checked before it is left to the daily check. */
const FIRST_JOINS = 2;
const DAY_MS = 86_400_000;
/** A check that failed is tried again after this time, not at each answer. */
const RETRY_MS = 300_000;
const WEEK_DAYS = 7;
/** A lease is in real time; its name holds the day or the week, so it may last longer. */
const LEASE_MS = (WEEK_DAYS + 1) * DAY_MS;

/** How far a series was checked in this process. */
interface Checked {
  readonly generation: string;
  first: number;
  day: number;
  notBefore: number;
  count: number;
  /** The longest range that was checked, for each {@link lengthClass}, in the week it was checked in. */
  lengths: ReadonlyMap<number, { readonly week: number; readonly days: number }>;
}

const UNCHECKED: Checked = {
  ...{ generation: '', first: 0, day: -1, notBefore: 0, count: 0 },
  lengths: new Map(),
};

export function createAuditor(options: AuditorOptions): Auditor {
  const { every, fetchDays, learner, policy, leases, owner, now, onAudit } = options;
  const seen = new LRUCache<string, Checked>({ max: SERIES });
  const today = () => Math.floor(now() / DAY_MS);
  const week = () => Math.floor(today() / WEEK_DAYS);

  /** Only final days are compared: a check of other ones would tell nothing, and stand for one that does. */
  function isComparable({ from }: CanonicalReport): boolean {
    return isFinalDay(dayNumber(from.iso as string) as number, today(), policy.freshness.restatementDays);
  }

  /** @returns null where nothing is to be checked */
  function stateOf({ report, series }: Joined): Checked | null {
    const { pinned, state, generation } = learner.standing(report);
    if (every === 0 || pinned || state !== 'proven' || !isComparable(report)) return null;
    const before = seen.get(series);
    if (before?.generation === generation) return before;
    const fresh: Checked = { ...UNCHECKED, generation };
    seen.set(series, fresh);
    return fresh;
  }

  function isNewLength({ lengths }: Checked, days: number): boolean {
    const longest = lengths.get(lengthClass(days));
    return longest?.week !== week() || days > longest.days;
  }

  const isDueNow = (state: Checked, { report }: Joined) =>
    now() >= state.notBefore &&
    (state.first < FIRST_JOINS || state.day !== today() || isNewLength(state, lengthOf(report)));

  /** Notes a check as made. @returns the name of the lease that stands for it */
  function note({ series, report }: Joined, state: Checked): string {
    const days = lengthOf(report);
    const isNew = isNewLength(state, days);
    const isFirst = state.first < FIRST_JOINS;
    const prefix = `audit:{${series}}:${state.generation}:`;
    state.day = today();
    if (isFirst) state.first += 1;
    if (!isNew) return prefix + (isFirst ? `first-${state.first}` : state.day);
    state.lengths = new Map([...state.lengths, [lengthClass(days), { week: week(), days }]]);
    return `${prefix}${week()}:length-${days}`;
  }

  /** @returns whether no other replica has made, or is making, this check. Without the store there is nobody to ask. */
  async function isMine(name: string): Promise<boolean> {
    const [mine = false] = await leases.claim([name], owner, LEASE_MS);
    return mine;
  }

  async function check(what: Joined, known: () => Promise<Days>): Promise<void> {
    const { from, to } = what.report;
    onAudit();
    const days = await known();
    const fresh = await fetchDays({ ...what, known: days }, from.iso as string, to.iso as string);
    if (fresh === null) return;
    const news = { ...what, fresh: [...fresh.values()], known: days };
    await learner.compare(news, (first, last) => fetchDays({ ...what, known: days }, first, last));
  }

  async function checkOnce(what: Joined, state: Checked, known: () => Promise<Days>): Promise<void> {
    const before = { ...state };
    const name = note(what, state);
    try {
      if (await isMine(name)) await check(what, known);
    } catch (error) {
      const { first, day, lengths } = before;
      Object.assign(state, { first, day, lengths, notBefore: now() + RETRY_MS });
      await leases.release([name], owner).catch(() => {});
      throw error;
    }
  }

  return {
    isDue(what) {
      const state = stateOf(what);
      return state !== null && isDueNow(state, what);
    },
    wasCompared(what) {
      const state = stateOf(what);
      if (state === null) return;
      onAudit();
      // That other replicas need not is only thrift.
      isMine(note(what, state)).catch(() => {});
    },
    async joined(what, parts) {
      const state = stateOf(what);
      if (state === null) return;
      const known = async () => new Map(parts.map((part) => [part.header.lastDay as string, part]));
      state.count = (state.count + 1) % every;
      if (isDueNow(state, what)) await checkOnce(what, state, known);
      else if (state.count === 0) await check(what, known);
    },
    hit(what) {
      const before = seen.get(what.series);
      if (before?.day === today() || now() < (before?.notBefore ?? 0) || !isComparable(what.report))
        return null;
      const state = stateOf(what);
      // Nothing to check: not to be found out at each hit.
      if (state === null) seen.set(what.series, { ...UNCHECKED, day: today() });
      if (state === null || !isDueNow(state, what)) return null;
      return checkOnce(what, state, () => options.readDays(what));
    },
  };
}

/**
 * From when on an answer is worth a check: at once when it is more, or less, than one answer of the platform for the
 * very range; else from the day after it was fetched.
 * @returns epoch milliseconds
 */
export function auditFrom(parts: readonly Part<RowsHeader>[], { from, to }: CanonicalReport): number {
  const [first] = parts;
  const isJoin = parts.some(
    ({ header }) =>
      header.cut?.from !== from.iso ||
      header.cut.to !== to.iso ||
      header.fetchStartedAt !== first?.header.fetchStartedAt,
  );
  return isJoin ? 0 : (Math.floor((first?.header.fetchedAt ?? 0) / DAY_MS) + 1) * DAY_MS;
}

/** Only reports with both ends are answered from days. */
function lengthOf({ from, to }: CanonicalReport): number {
  return (dayNumber(to.iso as string) as number) - (dayNumber(from.iso as string) as number) + 1;
}

/** Ranges of about a length: 1, 2 to 3, 4 to 7, 8 to 15 days, and so on. */
function lengthClass(days: number): number {
  return Math.floor(Math.log2(days));
}
