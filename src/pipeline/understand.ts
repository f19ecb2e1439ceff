/** What is asked for: the canonical report, the form of the answer, and what the caller's headers want of it. */
import type { Caller } from '../auth/authenticate.js';
import { readCacheDirectives } from '../http/cache-directives.js';
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
import { seriesId, unsplit } from '../report/platform-call.js';
import { FIRST_DAY } from '../report/values.js';
import type { ReportPolicy } from '../report-policy.js';
import { newPatience, type ReportQuestion, type RequestContext } from './question.js';
import { finishedKey, type Shape, shapeOf } from './render.js';

/** A caller's question after it was understood. */
export interface Understood {
  readonly caller: Caller;
  readonly context: RequestContext;
  readonly question: ReportQuestion;
  /** The unsplit report of the same period, where totals are wanted beside it. */
  readonly totals: ReportQuestion | null;
  /** What policy decides on. */
  readonly access: AccessRequest;
  readonly shape: Shape;
  readonly coding: Coding;
  /** Size from which on the answer is compressed, bytes. */
  readonly compressFrom: number;
  readonly ifNoneMatch: string | undefined;
  /** Where its answer is kept in this process; decided before anything is looked up. */
  readonly l1Key: string;
  /**
   * When the question comes to mean another: `_period=last_month` is about other days tomorrow. Epoch milliseconds;
   * Infinity when it names its days.
   */
  readonly meansUntilMs: number;
}

export interface UnderstandOptions {
  readonly canonical: CanonicalRules;
  readonly policy: Pick<ReportPolicy, 'identity'>;
  /** What was joined from days that were split under another generation is void. */
  readonly generationOf: (report: CanonicalReport) => string;
  readonly compressMinBytes: number;
  readonly now: () => number;
}

/** @throws GatewayError 400 `invalid_query`, `invalid_body`; 406; 413; 415 */
export type Understand = (call: ReportCall, caller: Caller) => Promise<Understood>;

export function createUnderstand(options: UnderstandOptions): Understand {
  const { canonical: rules, compressMinBytes } = options;
  const { account, baseUrl } = options.policy.identity;
  const ask = (report: CanonicalReport, form: ReportQuestion['form']): ReportQuestion => ({
    ...{ report, form },
    series: seriesId(report, account, baseUrl),
  });

  return async (call, caller) => {
    const body = call.readBody === null ? null : await call.readBody();
    const method = call.method === 'POST' ? 'POST' : 'GET';
    const { endpoint, query } = call;
    const { defaultFormat } = caller.team;
    // Such an app was written for the platform: what it sends has always been answered somehow.
    const lenient = defaultFormat === 'raw';
    const canonical = canonicalize({ endpoint, method, query, body, lenient }, rules);
    const format = negotiateFormat(canonical.options.format, call.accept, defaultFormat);
    const { report } = canonical;
    const shape = shapeOf(format, canonical.options);
    const question = ask(report, shape.format === 'raw' ? 'bytes' : 'rows');
    const coding = negotiateCoding(call.acceptEncoding);
    const compressFrom = refusesIdentity(call.acceptEncoding) ? 0 : compressMinBytes;
    const l1Key = finishedKey(question.series, report, shape, coding);
    call.trace.meant = [...new Set(report.passedOn.flatMap(({ meant }) => meant))];
    call.trace.mark('understand');
    return {
      caller,
      context: contextOf(call, caller, options.now()),
      question,
      totals: shape.totals ? ask(unsplit(report), 'rows') : null,
      access: accessRequestOf(canonical, rules),
      shape,
      coding,
      compressFrom,
      ifNoneMatch: call.ifNoneMatch,
      l1Key: `${l1Key}|${compressFrom}|${options.generationOf(report)}`,
      meansUntilMs: meansUntil(canonical, rules),
    };
  };
}

function contextOf({ id, cacheControl, trace }: ReportCall, { team }: Caller, nowMs: number): RequestContext {
  const mayRefresh = team.scopes.includes('cache:refresh');
  return {
    ...{ id, team: team.id, trace, patience: newPatience() },
    directives: readCacheDirectives(cacheControl, mayRefresh),
    arrivedAtMs: nowMs,
  };
}

function accessRequestOf(
  { report, today, lookalikes }: CanonicalRequest,
  { accountFields }: CanonicalRules,
): AccessRequest {
  return {
    namesAccount: report.namesAccount,
    // Asked for by limited teams alone: the path is not searched on every hit.
    get accounts() {
      return [...accountsInPath(report.endpoint), ...report.accounts];
    },
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

/** @returns when a relative period comes to be about other days, epoch milliseconds; Infinity for days by their names */
function meansUntil({ report, options, today }: CanonicalRequest, { startOfDayOf }: CanonicalRules): number {
  return options.period === null ? Number.POSITIVE_INFINITY : startOfDayOf(report.account, today + 1);
}
