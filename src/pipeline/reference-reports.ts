/** Stage: remembers reports that a token can be proven with: GETs of one final day, with some rows and not too many. */
import { digestBytes } from '../report/digest.js';
import { type FreshnessRules, isFinal } from '../report/freshness.js';
import { buildPlatformCall } from '../report/platform-call.js';
import type { ReportPolicy } from '../report-policy.js';
import type { FetchReport } from './fetch-report.js';
import type { FetchedAnswer } from './fetched.js';
import { rowsRuleOf } from './read-answer.js';

/** A report of one final day, and what it held. */
export interface ReferenceReport {
  readonly account: string;
  readonly target: string;
  readonly endpoint: string;
  readonly split: readonly string[];
  readonly day: string;
  readonly rows: number;
}

const MOST_ROWS = 1000;

/** @returns `fetchReport`, with `note` told of what it brought */
export function noteReferenceReports(
  fetchReport: FetchReport,
  { rulesFor }: Pick<ReportPolicy, 'rulesFor'>,
  note: (report: ReferenceReport) => void,
): FetchReport {
  return async (slot, ask) => {
    const fetched = await fetchReport(slot, ask);
    if (fetched.kind === 'answer' && fetched.doubt === null && ask.report.method === 'GET') {
      const day = cheapestFinalDay(fetched, rulesFor(ask.report));
      if (day !== null) {
        const { account, endpoint, split } = ask.report;
        const { target } = buildPlatformCall(ask.report, day.date, day.date);
        note({ account: account ?? '*', target, endpoint, split, day: day.date, rows: day.rows });
      }
    }
    return fetched;
  };
}

function cheapestFinalDay(
  { days, rows, range }: FetchedAnswer,
  rules: FreshnessRules,
): { date: string; rows: number } | null {
  const single = rows !== null && range.from === range.to ? [rows] : [];
  const fit = (days ?? single)
    .filter(({ header }) => isFinal(header, rules))
    .map(({ header }) => ({ date: header.lastDay as string, rows: header.rowCount }))
    .filter((day) => day.rows > 0 && day.rows <= MOST_ROWS);
  return fit.length === 0 ? null : fit.reduce((least, day) => (day.rows < least.rows ? day : least));
}

/** @returns the rows in an answer to such a report; null when they cannot be told */
export function countRowsOf(
  body: Buffer,
  { endpoint, split, day }: ReferenceReport,
  { endpoints, accountPattern }: ReportPolicy,
): number | null {
  const outcome = digestBytes(body, {
    rule: rowsRuleOf(endpoints.get(endpoint)),
    period: { from: day, to: day },
    byDate: split.includes('date'),
    splits: split.length > 0,
    accountPattern,
    whole: false,
  });
  return outcome.kind === 'digest' ? outcome.digest.rowCount : null;
}
