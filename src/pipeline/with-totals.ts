/** Rows and the totals of their period, of one state: neither is older than a change of the other's days that is known. */

import { createLastUsed } from '../last-used.js';
import type { Entry } from '../report/entry.js';
import { digest } from '../report/platform-call.js';
import type { ReportQuestion, RequestContext } from './question.js';
import { isNewest } from './replacements.js';
import type { Report, ReportAnswer } from './report.js';

export interface WithTotals {
  readonly main: ReportAnswer;
  readonly totals: ReportAnswer;
  /** The rows have changed since the totals were fetched, and there are no newer ones to be had. */
  readonly areTotalsOld: boolean;
}

/** @throws GatewayError as {@link Report} */
export type AskWithTotals = (
  question: ReportQuestion,
  totals: ReportQuestion,
  context: RequestContext,
) => Promise<WithTotals>;

/** Totals of which it is remembered beside which rows they were given. */
const MAX_PAIRS = 10_000;

export function createWithTotals(report: Report, now: () => number): AskWithTotals {
  /** By rows and totals: the rows beside which the totals were right. */
  const pairs = createLastUsed<string>(MAX_PAIRS);

  function areOld(question: ReportQuestion, rows: ReportAnswer, totals: ReportAnswer, sinceMs: number) {
    const { fetchedAt, fetchStartedAt } = (totals.parts[0] as Entry).header;
    const { from, to } = question.report;
    const name = `${question.series}|${from.iso}|${to.iso}|${fetchStartedAt}`;
    const shown = digest(rows.parts.map(({ header }) => rowsHash(header)));
    if (newestOf(rows) > fetchedAt && fetchStartedAt < sinceMs) return pairs.get(name) !== shown;
    pairs.set(name, shown);
    return false;
  }

  /** The answer to one question may have waited for a call while the days of the other were replaced. */
  async function renewed(question: ReportQuestion, context: RequestContext, answer: ReportAnswer) {
    if (answer.madeOf === null || isNewest(answer.madeOf.basis, answer.madeOf.held)) return answer;
    const again = await report(question, within(context, null));
    const { outcome, days, stored } = answer;
    return { ...again, outcome, days, stored, storable: answer.storable && again.storable };
  }

  return async (question, totalsQuestion, context) => {
    const asked = await Promise.all([report(question, context), report(totalsQuestion, context)]);
    const main = await renewed(question, context, asked[0]);
    const totals = await renewed(totalsQuestion, context, asked[1]);
    if (!areOld(question, main, totals, context.arrivedAtMs)) return { main, totals, areTotalsOld: false };
    if (context.directives.onlyIfCached) return { main, totals, areTotalsOld: true };
    const newer = await report(totalsQuestion, within(context, Math.max(0, now() - newestOf(main))));
    return { main, totals: newer, areTotalsOld: areOld(question, main, newer, context.arrivedAtMs) };
  };
}

/** The same request, for what is no older. */
function within(context: RequestContext, maxAgeMs: number | null): RequestContext {
  return { ...context, directives: { ...context.directives, maxAgeMs } };
}

function newestOf({ parts }: ReportAnswer): number {
  return Math.max(...parts.map(({ header }) => header.fetchStartedAt));
}

/** The same rows in another order are the same. */
function rowsHash(header: Entry['header']): string {
  return (header.form === 'rows' ? header.splitFrom?.sortedHash : null) ?? header.hash;
}
