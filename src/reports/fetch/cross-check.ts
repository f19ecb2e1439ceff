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

import { daysFound } from '../cache/look-up.js';
import type { Gateway } from '../gateway.js';
import type { Days } from '../learn/compare-days.js';
import type { Report } from '../query/canonicalize.js';
import type { ReportSeries } from '../query/platform-call.js';
import { dayRefs } from '../question.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { fetchToLearn } from './call-platform.js';
import { type Checked, DAY_MS, WEEK_DAYS } from './check-schedule.js';

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
  g.truth.failed(what.report);
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
  g.truth.served(what.report, days.values());
  const fetch = (first: string, last: string) => fetchToLearn(g, { ...what, known: days }, first, last);
  const fresh = await fetch(from as string, to as string);
  if (fresh === null) return g.truth.failed(what.report);
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
    g.truth.failed(what.report);
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
