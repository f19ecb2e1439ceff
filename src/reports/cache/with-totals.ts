/** Rows with the totals of their period, in one state: neither is older than a known change of days of the other. */
import { createLastUsed } from '../../lib/last-used.js';
import type { Gateway } from '../gateway.js';
import { getReport } from '../get-report.js';
import { digest } from '../query/platform-call.js';
import type { ReportQuestion, RequestContext } from '../question.js';
import type { ReportAnswer } from '../report-answer.js';
import type { Entry } from '../rows/entry.js';
import { isNewest } from './replacements.js';

/** Totals whose rows are remembered. */
const MAX_PAIRS = 10_000;

export function createWithTotals(g: Gateway) {
  /** By rows and totals: digest of the rows for which the totals were right. */
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

  /** One answer may have waited for a call while days of the other were replaced. */
  async function renewed(question: ReportQuestion, context: RequestContext, answer: ReportAnswer) {
    if (answer.madeOf === null || isNewest(answer.madeOf.basis, answer.madeOf.held)) return answer;
    const again = await getReport(g, question, withMaxAge(context, null));
    const { outcome, days, stored } = answer;
    return { ...again, outcome, days, stored, storable: answer.storable && again.storable };
  }

  /**
   * @returns `areTotalsOld`: the rows have changed since the totals were fetched, and there are no newer totals
   * @throws GatewayError as {@link getReport}
   */
  return async (question: ReportQuestion, totalsQuestion: ReportQuestion, context: RequestContext) => {
    const both = await Promise.all([getReport(g, question, context), getReport(g, totalsQuestion, context)]);
    const main = await renewed(question, context, both[0]);
    const totals = await renewed(totalsQuestion, context, both[1]);
    if (!areOld(question, main, totals, context.arrivedAtMs)) return { main, totals, areTotalsOld: false };
    if (context.directives.onlyIfCached) return { main, totals, areTotalsOld: true };
    const newer = await getReport(
      g,
      totalsQuestion,
      withMaxAge(context, Math.max(0, g.now() - newestOf(main))),
    );
    return { main, totals: newer, areTotalsOld: areOld(question, main, newer, context.arrivedAtMs) };
  };
}

function withMaxAge(context: RequestContext, maxAgeMs: number | null): RequestContext {
  return { ...context, directives: { ...context.directives, maxAgeMs } };
}

function newestOf({ parts }: ReportAnswer): number {
  return Math.max(...parts.map(({ header }) => header.fetchStartedAt));
}

/** Without regard to the order of the rows. */
function rowsHash(header: Entry['header']): string {
  return (header.form === 'rows' ? header.splitFrom?.sortedHash : null) ?? header.hash;
}
