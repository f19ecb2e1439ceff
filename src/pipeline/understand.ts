/** What is asked for: the canonical report, the form of the answer, and what the caller's headers want of it. */
import type { Caller } from '../auth/authenticate.js';
import { readCacheDirectives } from '../http/cache-directives.js';
import { type Coding, negotiateCoding, negotiateFormat, refusesIdentity } from '../http/negotiate.js';
import type { ReportCall } from '../http/report-call.js';
import type { AccessRequest } from '../policy/authorize.js';
import { type CanonicalReport, type CanonicalRules, canonicalize } from '../report/canonicalize.js';
import { seriesId, unsplit } from '../report/platform-call.js';
import type { ReportPolicy } from '../report-policy.js';
import { accessRequestOf, meansUntil } from './access-request.js';
import type { ReportQuestion, RequestContext } from './question.js';
import { newPatience } from './question.js';
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
    const canonical = canonicalize({ endpoint, method, query, body }, rules);
    const format = negotiateFormat(canonical.options.format, call.accept, caller.team.defaultFormat);
    const { report } = canonical;
    const shape = shapeOf(format, canonical.options);
    const question = ask(report, shape.format === 'raw' ? 'bytes' : 'rows');
    const coding = negotiateCoding(call.acceptEncoding);
    const compressFrom = refusesIdentity(call.acceptEncoding) ? 0 : compressMinBytes;
    const l1Key = finishedKey(question.series, report, shape, coding);
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
