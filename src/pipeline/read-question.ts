/**
 * A question as it is read from a call, the same whoever asks it: nothing in it is allowed to anybody yet. What is
 * relative in it means what it means on one day, so it is good for that day.
 */

import type { Moment } from '../history/revision.js';
import { type Coding, negotiateCoding, negotiateFormat, refusesIdentity } from '../http/negotiate.js';
import type { ReportCall } from '../http/report-call.js';
import type { AccessRequest } from '../policy/authorize.js';
import { accountsInPath } from '../report/accounts-in-path.js';
import {
  type CanonicalReport,
  type CanonicalRequest,
  type CanonicalRules,
  canonicalize,
} from '../report/canonicalize.js';
import { dayNumber } from '../report/days.js';
import { fileNameOf } from '../report/file-name.js';
import type { FinalRules } from '../report/final-days.js';
import type { JsonObject } from '../report/json.js';
import type { Format } from '../report/output-options.js';
import { seriesId, unsplit } from '../report/platform-call.js';
import { isLenient } from '../report/unknown-names.js';
import { FIRST_DAY } from '../report/values.js';
import type { ReportPolicy } from '../report-policy.js';
import { type AskedFinal, askedFinal, cutToFinal } from './asked-final.js';
import { momentOf } from './asked-moment.js';
import type { ReportQuestion } from './question.js';
import { finishedKey, type Shape, shapeOf } from './shape.js';

export interface ReadQuestion {
  readonly question: ReportQuestion;
  /** The unsplit report of the same period, where totals are wanted beside it. */
  readonly totals: ReportQuestion | null;
  /** Which of what was known of each day is asked for; null for what is so now. */
  readonly moment: Moment | null;
  /** Where nothing but final days will do; null where any will. */
  readonly final: AskedFinal | null;
  /** What policy decides on. */
  readonly access: AccessRequest;
  readonly shape: Shape;
  readonly coding: Coding;
  /** What a browser saves it as: a table is for a spreadsheet. Null for what is shown. */
  readonly fileName: string | null;
  /** Size from which on the answer is compressed, bytes. */
  readonly compressFrom: number;
  /** Of the finished answer, but for the generation of its kind. */
  readonly finishedKey: string;
  /** Known names that parameters passed on were probably meant for. */
  readonly meant: readonly string[];
  /**
   * When the question comes to mean another: `_period=last_month` is about other days tomorrow. Epoch milliseconds;
   * Infinity when it names its days.
   */
  readonly meansUntilMs: number;
  /** The day on which it was read, in its account's zone, epoch milliseconds: first, and first of the next. */
  readonly readOn: { readonly fromMs: number; readonly untilMs: number };
}

export interface ReadQuestionOptions {
  readonly canonical: CanonicalRules;
  readonly policy: Pick<ReportPolicy, 'identity'>;
  readonly compressMinBytes: number;
  readonly now: () => number;
  readonly rulesOf: (report: CanonicalReport) => FinalRules;
}

export type AskedFor = Pick<ReportCall, 'endpoint' | 'method' | 'query' | 'accept' | 'acceptEncoding'>;

/**
 * @param body of a POST, null for others
 * @param defaultFormat of the team that asks
 * @throws GatewayError 400 `invalid_query`; 406
 */
export type ReadQuestions = (asked: AskedFor, body: JsonObject | null, defaultFormat: Format) => ReadQuestion;

export function createReadQuestion(options: ReadQuestionOptions): ReadQuestions {
  const { canonical: rules, compressMinBytes } = options;
  const { account, baseUrl } = options.policy.identity;
  const ask = (report: CanonicalReport, form: ReportQuestion['form']): ReportQuestion => ({
    ...{ report, form },
    series: seriesId(report, account, baseUrl),
  });

  return ({ endpoint, method: sent, query, accept, acceptEncoding }, body, defaultFormat) => {
    const method = sent === 'POST' ? 'POST' : 'GET';
    const lenient = isLenient(defaultFormat);
    const canonical = canonicalize({ endpoint, method, query, body, lenient }, rules);
    const format = negotiateFormat(canonical.options.format, accept, defaultFormat);
    const { report: wanted, today } = canonical;
    const shape = shapeOf(format, canonical.options);
    const final = askedFinal(canonical, shape, options.rulesOf(wanted));
    const report = cutToFinal(wanted, final);
    const question = ask(report, shape.format === 'raw' ? 'bytes' : 'rows');
    const coding = negotiateCoding(acceptEncoding);
    const moment = momentOf(canonical, shape, options);
    const untilMs = rules.startOfDayOf(report.account, today + 1);
    return {
      question,
      moment,
      final,
      totals: shape.totals ? ask(unsplit(report), 'rows') : null,
      access: accessRequestOf(canonical, rules),
      shape,
      coding,
      fileName: shape.format === 'csv' ? fileNameOf(report, 'csv') : null,
      compressFrom: refusesIdentity(acceptEncoding) ? 0 : compressMinBytes,
      finishedKey: `${finishedKey(question.series, wanted, shape, coding)}|${keyOf(moment)}|${final?.key ?? ''}`,
      meant: [...new Set(report.passedOn.flatMap(({ meant }) => meant))],
      meansUntilMs:
        canonical.options.period === null && final?.filter !== 'only' ? Number.POSITIVE_INFINITY : untilMs,
      readOn: { fromMs: rules.startOfDayOf(report.account, today), untilMs },
    };
  };
}

function keyOf(moment: Moment | null): string {
  return moment === null ? '' : typeof moment === 'string' ? moment : String(moment.at);
}

function accessRequestOf(
  { report, today, lookalikes }: CanonicalRequest,
  { accountFields }: CanonicalRules,
): AccessRequest {
  return {
    namesAccount: report.namesAccount,
    accounts: [...accountsInPath(report.endpoint), ...report.accounts],
    // Depends on who asks, so it is looked for each time.
    lookalikes,
    accountFields,
    rangeDays: rangeDays(report, today),
    opensEarly: report.from.iso === null && report.to.iso !== null,
  };
}

/**
 * Leaving out an end must be no way around the longest range: a period without a last day is taken to run to today, and
 * one without a first day may begin on any, so it is taken to begin on the earliest. A report that names neither is the
 * platform's own choice, as the contract has it.
 */
function rangeDays({ from, to }: CanonicalReport, today: number): number | null {
  if (from.iso === null && to.iso === null) return null;
  const last = to.iso === null ? today : (dayNumber(to.iso) as number);
  const first = from.iso === null ? FIRST_DAY : (dayNumber(from.iso) as number);
  return last - first + 1;
}
