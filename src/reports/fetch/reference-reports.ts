/** Reports to verify a token with: GETs of one final day, with some rows and not too many; else guesses. */

import type { Gateway, ReferenceReport } from '../gateway.js';
import type { Report } from '../query/canonicalize.js';
import { dayAt, isoDay } from '../query/days.js';
import { buildPlatformCall } from '../query/platform-call.js';
import type { ReportPolicy } from '../report-policy.js';
import { digestBytes } from '../rows/digest.js';
import { type FreshnessRules, isFinal } from '../rows/freshness.js';
import type { Fetched, FetchedAnswer } from './fetched.js';
import { rowsRuleOf } from './read-answer.js';

const MAX_ROWS = 1000;

export function noteReference(g: Gateway, report: Report, fetched: Fetched): void {
  if (fetched.kind !== 'answer' || fetched.doubt !== null || report.method !== 'GET') return;
  const day = cheapestFinalDay(fetched, g.policy.rulesFor(report));
  if (day === null) return;
  const { account, endpoint, split } = report;
  const { target } = buildPlatformCall(report, day.date, day.date);
  g.onReport({ account: account ?? '*', target, endpoint, split, day: day.date, rows: day.rows });
}

function cheapestFinalDay(
  { days, rows, range }: FetchedAnswer,
  rules: FreshnessRules,
): { date: string; rows: number } | null {
  const single = rows !== null && range.from === range.to ? [rows] : [];
  const fit = (days ?? single)
    // Not from history: a token is verified with the platform's answers.
    .filter(({ header }) => isFinal(header, rules) && header.forgotten === undefined)
    .map(({ header }) => ({ date: header.lastDay as string, rows: header.rowCount }))
    .filter((day) => day.rows > 0 && day.rows <= MAX_ROWS);
  return fit.length === 0 ? null : fit.reduce((least, day) => (day.rows < least.rows ? day : least));
}

/** @returns null if the rows cannot be identified */
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

/** Several, as an advertiser may be deleted. */
const MAX_ADVERTISERS = 2;

/**
 * Reports of yesterday that a valid token can probably read, if none was fetched yet.
 * @param advertisers that teams may see, most promising first
 * @returns paths with queries; the last one names no advertiser
 */
export function guessReports(
  advertisers: readonly number[],
  { endpoints, timezoneOf, accountFields }: ReportPolicy,
  nowMs: number,
): readonly string[] {
  const [endpoint] = endpoints.keys();
  if (endpoint === undefined) return [];
  const targetOf = (account: string | null) => {
    const yesterday = isoDay(dayAt(nowMs, timezoneOf(account)) - 1);
    const named = account === null ? '' : `${accountFields[0]}=${account}&`;
    return `/api/v1/report/${endpoint}?${named}dateFrom=${yesterday}&dateTo=${yesterday}`;
  };
  const accounts = [...new Set(advertisers)].slice(0, MAX_ADVERTISERS).map(String);
  return [...accounts, null].map(targetOf);
}
