/**
 * A parsed query: equal for all callers, without permissions. Relative periods are resolved against one day, so it is valid
 * for that day only.
 */

import type { AccessRequest } from '../teams/policy/authorize.js';
import { cutToFinal, type FinalOption, finalOption } from './cache/final.js';
import type { Moment } from './history/revision.js';
import { momentOf, type Shape, shapeKey, shapeOf } from './options.js';
import { accountsInPath } from './query/asked-accounts.js';
import { canonicalize, type ParseRules, type Report } from './query/canonicalize.js';
import { dayNumber } from './query/days.js';
import { refuseMisspelt } from './query/endpoint-path.js';
import {
  type Coding,
  type Format,
  negotiateCoding,
  negotiateFormat,
  refusesIdentity,
} from './query/output-options.js';
import { FIRST_DAY } from './query/parameters.js';
import { seriesId, unsplit } from './query/platform-call.js';
import type { ReportQuestion } from './question.js';
import type { ReportCall } from './report-call.js';
import type { ReportPolicy } from './report-policy.js';
import type { FinalRules } from './rows/freshness.js';
import type { JsonObject } from './rows/json.js';

export interface Query {
  readonly question: ReportQuestion;
  /** The unsplit report of the same period, for `_totals`. */
  readonly totals: ReportQuestion | null;
  /** For `_asOf` and `_vintage`; null for current data. */
  readonly moment: Moment | null;
  /** For `_final`; null if provisional days are accepted. */
  readonly final: FinalOption | null;
  /** Input of the access policy. */
  readonly access: AccessRequest;
  readonly shape: Shape;
  readonly coding: Coding;
  /** For `content-disposition` of a table; null for other formats. */
  readonly fileName: string | null;
  /** Minimum size to compress, bytes. */
  readonly compressFrom: number;
  /** Key of the answer in memory, without the stamp of its kind. */
  readonly answerKey: string;
  /** Known names that unknown parameters probably stand for. */
  readonly meant: readonly string[];
  /** When a relative period changes its days, epoch milliseconds; Infinity for fixed dates. */
  readonly meansUntilMs: number;
  /** Start of the day of parsing and of the next day, in the account's zone, epoch milliseconds. */
  readonly readOn: { readonly fromMs: number; readonly untilMs: number };
  /** Last result of {@link memoryKeyOf}: looking up the same string object is faster. */
  lastKey?: { readonly stamps: Stamps; readonly key: string };
}

/** The state that an answer depends on: of its kind, of the window of its days, its row caps, and the platform's retention. */
export type Stamps = readonly [
  kind: string,
  window: string,
  caps: string,
  endedMs: number,
  edgeDays: number | null,
];

export type ParsedCall = Pick<ReportCall, 'endpoint' | 'method' | 'query' | 'accept' | 'acceptEncoding'>;

export type ParseQuery = ReturnType<typeof createQueryParser>;

export function createQueryParser(options: {
  readonly canonical: ParseRules;
  readonly policy: Pick<ReportPolicy, 'identity'>;
  readonly compressMinBytes: number;
  readonly now: () => number;
  readonly rulesOf: (report: Report) => FinalRules;
}) {
  const { canonical: rules, compressMinBytes } = options;
  const { account, baseUrl } = options.policy.identity;
  const questionOf = (report: Report, form: ReportQuestion['form']): ReportQuestion => ({
    report,
    form,
    series: seriesId(report, account, baseUrl),
  });

  /**
   * @param body of a POST, null for others
   * @param defaultFormat of the caller's team
   * @throws GatewayError 400 `invalid_query`; 404 for a misspelt endpoint; 406
   */
  return (call: ParsedCall, body: JsonObject | null, defaultFormat: Format): Query => {
    const { endpoint, query, accept, acceptEncoding } = call;
    const method = call.method === 'POST' ? 'POST' : 'GET';
    // Apps that use the platform's bytes were written for the platform, which has always accepted their parameters.
    const lenient = defaultFormat === 'raw';
    if (!lenient) refuseMisspelt(endpoint, rules.endpoints);
    const canonical = canonicalize({ endpoint, method, query, body, lenient }, rules);
    const { report: wanted, today, lookalikes } = canonical;
    const format = negotiateFormat(canonical.options.format, accept, defaultFormat);
    const shape = shapeOf(format, canonical.options);
    const final = finalOption(canonical, shape, options.rulesOf(wanted));
    const report = cutToFinal(wanted, final);
    const question = questionOf(report, format === 'raw' ? 'bytes' : 'rows');
    const coding = negotiateCoding(acceptEncoding);
    const moment = momentOf(canonical, shape, rules, options.now());
    const momentKey = moment === null ? '' : typeof moment === 'string' ? moment : moment.at;
    const untilMs = rules.startOfDayOf(report.account, today + 1);
    const isRelative = canonical.options.period !== null || final?.filter === 'only';
    return {
      question,
      moment,
      final,
      totals: shape.totals ? questionOf(unsplit(report), 'rows') : null,
      access: {
        namesAccount: wanted.namesAccount,
        accounts: [...accountsInPath(endpoint), ...wanted.accounts],
        // Evaluated per caller.
        lookalikes,
        accountFields: rules.accountFields,
        rangeDays: rangeDays(wanted, today),
        opensEarly: wanted.from === null && wanted.to !== null,
      },
      shape,
      coding,
      fileName: format === 'csv' ? fileNameOf(report, 'csv') : null,
      compressFrom: refusesIdentity(acceptEncoding) ? 0 : compressMinBytes,
      answerKey: `${shapeKey(question.series, wanted, shape, coding)}|${momentKey}|${final?.key ?? ''}`,
      meant: [...new Set(report.passedOn.flatMap(({ meant }) => meant))],
      meansUntilMs: isRelative ? untilMs : Number.POSITIVE_INFINITY,
      readOn: { fromMs: rules.startOfDayOf(report.account, today), untilMs },
    };
  };
}

export function memoryKeyOf(query: Query, stamps: Stamps): string {
  const { lastKey } = query;
  if (lastKey !== undefined && areEqual(lastKey.stamps, stamps)) return lastKey.key;
  // Joined, as V8 would keep each part of a concatenation.
  const key = [query.answerKey, query.compressFrom, ...stamps].join('|');
  query.lastKey = { stamps, key };
  return key;
}

/** Written out: it runs for each hit. */
function areEqual(a: Stamps, b: Stamps): boolean {
  return a[0] === b[0] && a[1] === b[1] && a[2] === b[2] && a[3] === b[3] && a[4] === b[4];
}

/**
 * An open end must not evade the range limit: without a last day the period ends today, without a first day it starts on
 * the earliest day. Without both the platform chooses the period (contract).
 */
function rangeDays({ from, to }: Report, today: number): number | null {
  if (from === null && to === null) return null;
  const last = to === null ? today : (dayNumber(to) as number);
  const first = from === null ? FIRST_DAY : (dayNumber(from) as number);
  return last - first + 1;
}

/** Limit of some file systems, minus the suffix that browsers add. */
const FILE_NAME_CHARS = 150;

/**
 * @param extension e.g. `csv`
 * @returns e.g. `campaigns_1_2026-11-01_2026-11-07.csv`: letters, digits, dots, hyphens and underscores, which need no
 *   quoting in a header (RFC 6266, section 4.3)
 */
export function fileNameOf({ endpoint, account, from, to }: Report, extension: string): string {
  const words = [endpoint.replace(/\/get$/, ''), account, from, to]
    .filter((word) => word !== null)
    .map((word) => word.replace(/[^A-Za-z0-9.-]+/g, '-').replace(/^[.-]+|-+$/g, ''))
    .filter((word) => word !== '');
  return `${words.join('_').slice(0, FILE_NAME_CHARS) || 'report'}.${extension}`;
}
