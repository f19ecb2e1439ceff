/**
 * A parsed query: the same for every caller, and granting nothing. Relative periods are resolved against one day, so it is
 * valid for that day.
 */

import type { AccessRequest } from '../teams/policy/authorize.js';
import { cutToFinal, type FinalOption, finalOption } from './cache/final.js';
import type { Moment } from './history/revision.js';
import { momentOf, type Shape, shapeKey, shapeOf } from './options.js';
import { accountsInPath } from './query/asked-accounts.js';
import { canonicalize, type ParseRules, type Report } from './query/canonicalize.js';
import { dayNumber } from './query/days.js';
import {
  type Coding,
  type Format,
  negotiateCoding,
  negotiateFormat,
  refusesIdentity,
} from './query/output-options.js';
import { FIRST_DAY, isLenient } from './query/parameters.js';
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
  /** For `_final`; null where provisional days are accepted. */
  readonly final: FinalOption | null;
  /** What policy decides on. */
  readonly access: AccessRequest;
  readonly shape: Shape;
  readonly coding: Coding;
  /** For `content-disposition` of a table; null for other formats. */
  readonly fileName: string | null;
  /** Smallest size that is compressed, bytes. */
  readonly compressFrom: number;
  /** Key of the answer in memory, without the stamp of its kind. */
  readonly answerKey: string;
  /** Known names that unknown parameters were probably meant for. */
  readonly meant: readonly string[];
  /** When a relative period starts to mean other days, epoch milliseconds; Infinity for fixed dates. */
  readonly meansUntilMs: number;
  /** The day it was parsed on, in the account's zone, epoch milliseconds: its start, and the start of the next. */
  readonly readOn: { readonly fromMs: number; readonly untilMs: number };
  /** The last key that {@link memoryKeyOf} made: a string that was looked up before is looked up faster. */
  lastKey?: { readonly stamp: string; readonly key: string };
}

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
   * @throws GatewayError 400 `invalid_query`; 406
   */
  return (call: ParsedCall, body: JsonObject | null, defaultFormat: Format): Query => {
    const { endpoint, query, accept, acceptEncoding } = call;
    const method = call.method === 'POST' ? 'POST' : 'GET';
    const lenient = isLenient(defaultFormat);
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
        // Depends on the caller, so it is evaluated for each.
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

/** Key of the answer in memory. @param stamp of the report's kind: answers made under another one are void */
export function memoryKeyOf(query: Query, stamp: string): string {
  if (query.lastKey?.stamp !== stamp)
    query.lastKey = { stamp, key: `${query.answerKey}|${query.compressFrom}|${stamp}` };
  return query.lastKey.key;
}

/**
 * An open end must not evade the longest range: a period without a last day runs to today, and one without a first day
 * starts on the earliest. A report that names neither is the platform's choice, as the contract has it.
 */
function rangeDays({ from, to }: Report, today: number): number | null {
  if (from === null && to === null) return null;
  const last = to === null ? today : (dayNumber(to) as number);
  const first = from === null ? FIRST_DAY : (dayNumber(from) as number);
  return last - first + 1;
}

/** Some file systems refuse longer names, with the suffix that a browser adds. */
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
