/**
 * The watch over proven kinds: joined answers are compared with the platform's whole answer for the same range.
 *
 * - Free: when days are missing anyway, the call fetches the whole range for the first two joins of a series, once a day after, for
 *   ranges longer than those before in the week, and for shapes (`learn/compared.ts`) that were not compared yet. The answer is then
 *   the platform's own, and all its final days are compared.
 * - First: a join is served only if the shapes of its range and of the answers its days are from were compared for its account. If
 *   not, the range is fetched whole before the answer.
 * - Sampled: one in `report.crossCheckEvery` joins, behind its answer; and one range a week of each kind and account (`weekly.ts`).
 *
 * Not watched: reports with configured divisibility, and ranges without a final day.
 */
import { GatewayError } from '../../errors.js';
import type { Outcome } from '../../outcome.js';
import { whenAway } from '../../store/port.js';
import { daysFound } from '../cache/look-up.js';
import type { Gateway } from '../gateway.js';
import { type Days, daysByDate } from '../learn/compare-days.js';
import { shapesOf } from '../learn/compared.js';
import type { Comparison, ComparisonResult } from '../learn/learn.js';
import type { Report } from '../query/canonicalize.js';
import type { ReportSeries } from '../query/platform-call.js';
import { dayRefs, type RequestContext } from '../question.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { isFinal } from '../rows/freshness.js';
import { fetchToLearn } from './call-platform.js';

const DAY_MS = 86_400_000;
/** Pause after a failed comparison. */
const RETRY_MS = 300_000;

/** The whole range was fetched by a call that was needed anyway. */
export function noteCompared(g: Gateway, what: ReportSeries): void {
  const state = g.watch.checks.stateOf(what);
  if (state === null) return;
  g.count('audits', {});
  g.watch.checks.note(state, what.report);
}

/** The call for a due comparison had no comparable answer: pauses them. */
export function checkCouldNotRun(g: Gateway, what: ReportSeries): void {
  const state = g.watch.checks.stateOf(what);
  if (state === null) return;
  state.notBefore = g.now() + RETRY_MS;
  g.evidence.failed(what);
}

/** Days of a caller's answer that agreed with those of an earlier one connect the shapes of both. Never rejects. */
export async function noteAgreed(
  g: Gateway,
  { report }: Comparison,
  { agreed }: ComparisonResult,
): Promise<void> {
  if (g.learner.status(report).pinned) return;
  const { restatementDays } = g.policy.rulesFor(report);
  const counts = new Map<string, number>();
  const shapes = ({ header: { splitFrom, fetchedOn } }: Entry<RowsHeader>) =>
    splitFrom === null ? [] : shapesOf(splitFrom.from, splitFrom.to, fetchedOn - restatementDays);
  for (const { older, newer } of agreed) {
    const both = [...shapes(older), ...shapes(newer)].join(' ');
    counts.set(both, (counts.get(both) ?? 0) + 1);
  }
  for (const [both, days] of counts)
    if (days >= LEAST_AGREED) await addShapes(g, g.watch.checks.nameOf(report), both.split(' '));
}

/** Fewer days may agree by chance. */
const LEAST_AGREED = 3;

async function addShapes(g: Gateway, name: string, shapes: readonly string[]): Promise<void> {
  await g.watch.compared.add(name, shapes).catch(whenAway(() => {}));
}

/** Call for every joined answer: compares one in so many behind it. */
export async function checkJoin(
  g: Gateway,
  what: ReportSeries,
  parts: readonly Entry<RowsHeader>[],
): Promise<void> {
  g.watch.weekly.used(what);
  const state = g.watch.checks.stateOf(what);
  if (state !== null && g.watch.checks.isSample(state)) await check(g, what, daysByDate(parts));
}

/** Compares a range with the platform's whole answer, from what is cached of it. */
export async function checkRange(g: Gateway, what: ReportSeries): Promise<void> {
  const refs = dayRefs(what);
  await check(g, what, daysFound(refs, (await g.lookUp.read(what.report, refs)).found));
}

/** Compares a range with the platform's whole answer. @returns null: it has none that can be compared */
async function check(
  g: Gateway,
  what: ReportSeries,
  known: Days,
  team?: string,
): Promise<(ComparisonResult & { readonly hasRows: boolean }) | null> {
  const { report } = what;
  g.count('audits', {});
  g.evidence.served(what, known.values());
  const fetch = (first: string, last: string) => fetchToLearn(g, { ...what, known }, first, last, team);
  const fresh = await fetch(report.from as string, report.to as string);
  if (fresh === null) {
    g.evidence.failed(what);
    return null;
  }
  const days = [...fresh.values()];
  const rules = g.policy.rulesFor(report);
  const hasRows = days.some(({ header }) => header.rowCount > 0 && isFinal(header, rules));
  return { ...(await g.learner.compare({ ...what, fresh: days, known }, fetch)), hasRows };
}

/** An answer about to be served; see `report-answer.ts`. */
interface Answered {
  readonly parts: readonly Entry[];
  readonly outcome: Outcome;
  readonly checkFromMs: number | null;
}

/**
 * Compares a join before it is served, unless its shapes were compared.
 * @returns false: it must be made again, because its range was fetched just now or its kind is refuted
 * @throws GatewayError `not_cached` if the platform must not be called
 */
export async function mayServe(
  g: Gateway,
  what: ReportSeries,
  { parts, outcome, checkFromMs }: Answered,
  context: RequestContext,
): Promise<boolean> {
  // 0: a join. What stands in for an answer that the platform failed to give is not compared: it fails.
  if (checkFromMs !== 0 || outcome === 'stale-if-error' || g.watch.checks.stateOf(what) === null) return true;
  const days = parts as readonly Entry<RowsHeader>[];
  const [name, shapes] = [g.watch.checks.nameOf(what.report), g.watch.checks.shapesIn(what, days)];
  if (g.watch.compared.agree(name, shapes)) return true;
  const pause = `${name} ${shapes.join(' ')}`;
  if (g.now() < (g.watch.checks.pauses.get(pause) ?? 0)) return true;
  if (await g.watch.compared.look(name, shapes).catch(whenAway(() => false))) return true;
  if (context.directives.onlyIfCached) throw new GatewayError('not_cached');
  const { underWay } = g.watch.checks;
  const range = `${what.series} ${what.report.from} ${what.report.to}`;
  const comparing =
    underWay.get(range) ??
    compareFirst(g, what, { days, name, shapes, pause }, context.team).finally(() => underWay.delete(range));
  underWay.set(range, comparing);
  // Meanwhile another answer may have refuted the kind: then nothing was compared.
  return (await comparing) && g.watch.checks.nameOf(what.report) === name;
}

async function compareFirst(
  g: Gateway,
  what: ReportSeries,
  {
    days,
    name,
    shapes,
    pause,
  }: {
    readonly days: readonly Entry<RowsHeader>[];
    readonly name: string;
    readonly shapes: readonly string[];
    readonly pause: string;
  },
  team: string,
): Promise<boolean> {
  const rest = (ms: number) => void g.watch.checks.pauses.set(pause, g.now() + ms);
  try {
    const compared = await check(g, what, daysByDate(days), team);
    if (compared !== null && compared.verdict !== 'same') return false;
    // Nothing to compare, today at least: neither rows, nor an answer for so long a range.
    if (compared?.hasRows !== true) rest(DAY_MS);
    else await addShapes(g, name, shapes);
    // The platform's answer for this range is in the cache now. Days that are not final were not compared: the join may have
    // them from a period of another shape.
    return compared === null;
  } catch (error) {
    // A platform that fails leaves the join: it is of a proven kind.
    g.logger.debug(
      { err: error },
      'a join was served without being compared first; retrying in five minutes',
    );
    g.evidence.failed(what);
    rest(RETRY_MS);
  }
  return true;
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
