/** A report with its totals, both in one state: neither is older than a known change of the other's days. */
import { createLastUsed } from '../../lib/last-used.js';
import type { Gateway } from '../gateway.js';
import { getReport } from '../get-report.js';
import { addUp } from '../history/read.js';
import { digest } from '../query/platform-call.js';
import type { ReportQuestion, RequestContext } from '../question.js';
import { isExcused, type ReportAnswer } from '../report-answer.js';
import type { AssembleInput } from '../rows/answer.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { type Apart, apartFrom, joinSums, type Sums } from '../rows/sums.js';
import { whyNoTotals } from '../rows/warnings.js';
import { isNewest } from './replacements.js';

/** Totals whose rows are remembered. */
const MAX_PAIRS = 10_000;

export const NO_TOTALS = { totals: null, areTotalsOld: false, totalsFailure: null };

export function createWithTotals(g: Gateway) {
  /** By rows and totals: digest of the rows that matched the totals. */
  const pairs = createLastUsed<string>(MAX_PAIRS);

  function areOld(question: ReportQuestion, rows: ReportAnswer, totals: ReportAnswer, sinceMs: number) {
    const { fetchedAt, fetchStartedAt } = (totals.parts[0] as Entry).header;
    const { from, to } = question.report;
    const name = `${question.series}|${from}|${to}|${fetchStartedAt}`;
    const shown = digest(rows.parts.map(({ header }) => rowsHash(header)));
    if (newestOf(rows) > fetchedAt && fetchStartedAt < sinceMs) return pairs.get(name) !== shown;
    pairs.set(name, shown);
    return false;
  }

  /** Rereads an answer whose days were replaced while the other one waited for a call. */
  async function renewed(question: ReportQuestion, context: RequestContext, answer: ReportAnswer) {
    if (answer.madeOf === null || isNewest(answer.madeOf.basis, answer.madeOf.held)) return answer;
    const again = await getReport(g, question, withMaxAge(context, null));
    const { outcome, days, stored } = answer;
    return { ...again, outcome, days, stored, storable: answer.storable && again.storable };
  }

  /** @throws GatewayError why there are no totals */
  async function matching(
    question: ReportQuestion,
    main: ReportAnswer,
    totalsQuestion: ReportQuestion,
    found: PromiseSettledResult<ReportAnswer>,
    context: RequestContext,
  ) {
    if (found.status === 'rejected') throw found.reason;
    const totals = await renewed(totalsQuestion, context, found.value);
    if (!areOld(question, main, totals, context.arrivedAtMs)) return { totals, areTotalsOld: false };
    if (context.directives.onlyIfCached) return { totals, areTotalsOld: true };
    const maxAgeMs = Math.max(0, g.now() - newestOf(main));
    const newer = await getReport(g, totalsQuestion, withMaxAge(context, maxAgeMs));
    return { totals: newer, areTotalsOld: areOld(question, main, newer, context.arrivedAtMs) };
  }

  /**
   * @returns `areTotalsOld`: the rows have changed since the totals were fetched, and there are no newer totals.
   *   `totalsFailure`: the platform did not give the totals, so there are only rows
   * @throws GatewayError as {@link getReport}; of both failures that of the rows
   */
  return async (question: ReportQuestion, totalsQuestion: ReportQuestion, context: RequestContext) => {
    const rows = getReport(g, question, context);
    const settling = Promise.allSettled([getReport(g, totalsQuestion, context)]);
    const first = await rows;
    const [found] = await settling;
    const main = await renewed(question, context, first);
    try {
      const totals = await matching(question, main, totalsQuestion, found, context);
      return { main, ...totals, totalsFailure: null };
    } catch (error) {
      if (!isExcused(error)) throw error;
      return { ...NO_TOTALS, main, totalsFailure: error.code };
    }
  };
}

function withMaxAge(context: RequestContext, maxAgeMs: number | null): RequestContext {
  return { ...context, directives: { ...context.directives, maxAgeMs } };
}

function newestOf({ parts }: ReportAnswer): number {
  return Math.max(...parts.map(({ header }) => header.fetchStartedAt));
}

/** Independent of row order. */
function rowsHash(header: Entry['header']): string {
  return (header.form === 'rows' ? header.splitFrom?.sortedHash : null) ?? header.hash;
}

/** Rows of an answer that are added up, in about 20 ms; more are not compared with their totals. */
const MAX_ROWS = 10_000;
/** Bodies whose sums are remembered. */
const MAX_SUMS = 5000;

type Compared = Pick<AssembleInput, 'report' | 'rules'> & {
  readonly parts: readonly Entry[];
  readonly totals: Entry;
};

/** Each body is added up once. */
export function createCompareTotals() {
  /** By the digest of the body. */
  const known = createLastUsed<Sums>(MAX_SUMS);

  async function sumsOf(entries: readonly Entry[]): Promise<Sums[]> {
    const found = new Map(entries.map(({ header }) => [header.hash, known.get(header.hash)]));
    const missing = entries.filter(({ header }) => found.get(header.hash) === undefined);
    const added = missing.length === 0 ? [] : await addUp(missing.map(({ body }) => body));
    for (const [at, { header }] of missing.entries()) {
      found.set(header.hash, added[at]);
      known.set(header.hash, added[at] as Sums);
    }
    return entries.map(({ header }) => found.get(header.hash) as Sums);
  }

  /** @returns columns whose total is not the sum of the rows; none where rows may be missing or too many */
  return async ({ report, parts, totals, rules }: Compared): Promise<readonly Apart[]> => {
    if (report.split.length === 0 || whyNoTotals(totals, parts, rules) !== null) return [];
    const all = [...parts, totals];
    if (!all.every(isWhole) || all.reduce((count, { header }) => count + header.rowCount, 0) > MAX_ROWS)
      return [];
    const sums = await sumsOf(all);
    return apartFrom(joinSums(sums.slice(0, -1)), sums.at(-1) as Sums);
  };
}

/** Whether the platform gave all of its rows, and no others: other warnings say otherwise. */
function isWhole(entry: Entry): entry is Entry<RowsHeader> {
  const { header } = entry;
  return header.form === 'rows' && (header.flaws ?? header.doubt ?? header.forgotten) === undefined;
}
