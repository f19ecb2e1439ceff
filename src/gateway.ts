/**
 * The request's path. A report takes these stages, in this order:
 *
 *   identify → admit → enter → canonicalize → authorize → look up (L1 → store) → ask the platform → keep → answer
 *
 * Each stage lives in a file of its own; this one says what comes when.
 */
import type { Caller } from './auth/authenticate.js';
import type { Identify } from './auth/identify.js';
import type { L1 } from './cache/l1.js';
import type { Purges } from './cache/purges.js';
import { readWish, type Wish } from './http/cache-directives.js';
import { type Coding, negotiateCoding, negotiateFormat, refusesIdentity } from './http/negotiate.js';
import type { ReportCall, ReportReply } from './http/report-call.js';
import { cacheHeaders, isNotModified } from './http/respond.js';
import type { TeamLimits } from './limits/team-limits.js';
import { type CacheStatus, dearest, type Outcome } from './outcome.js';
import { claimsOf, meansUntil } from './pipeline/access-request.js';
import type { Joined } from './pipeline/cross-check.js';
import type { Gather, Gathered } from './pipeline/gather.js';
import {
  type Finished,
  finish,
  finishedKey,
  isServable,
  type Shape,
  shapeAnswer,
  shapeOf,
} from './pipeline/render.js';
import { invalid } from './platform/interpret.js';
import type { CallReport } from './platform/slot.js';
import { admit, authorize } from './policy/authorize.js';
import { maySeeAccounts } from './policy/check-advertiser.js';
import type { Assembled } from './report/assemble.js';
import { type CanonicalReport, type CanonicalRules, canonicalize } from './report/canonicalize.js';
import type { FreshnessRules } from './report/freshness.js';
import type { JsonObject } from './report/json.js';
import { seriesId, unsplit } from './report/platform-call.js';
import { addCall, type Trace } from './telemetry/trace.js';
import type { Crew } from './workers/crew.js';

export interface Gateway {
  /** @throws GatewayError for everything that is not an answer */
  report(call: ReportCall): Promise<ReportReply>;
}

export interface GatewayOptions {
  readonly identify: Identify;
  readonly limits: TeamLimits;
  readonly canonical: CanonicalRules;
  readonly gather: Gather;
  readonly crew: Crew;
  readonly l1: L1<Finished>;
  readonly purges: Purges;
  readonly rules: FreshnessRules;
  /** What was joined from days that were cut under another generation is void. */
  readonly generationOf: (report: CanonicalReport) => string;
  /** Told of every answer from memory that is from days and worth a check. Must cost nearly nothing. */
  readonly onJoinedHit: (question: Joined) => void;
  readonly negativeMs: number;
  readonly compressMinBytes: number;
  /** Label of the platform account and base URL: part of every cache key. */
  readonly account: string;
  readonly baseUrl: string;
  readonly now: () => number;
}

/** A question after it was understood and allowed. */
interface Question {
  readonly caller: Caller;
  readonly report: CanonicalReport;
  readonly series: string;
  readonly shape: Shape;
  readonly coding: Coding;
  /** Size from which on it is compressed, bytes. */
  readonly compressFrom: number;
  readonly wish: Wish;
  readonly trace: Trace;
  /** Where its answer is kept in this process; decided before anything is looked up. */
  readonly l1Key: string;
  /**
   * When the question comes to mean another: `_period=last_month` is about other days tomorrow. Epoch milliseconds;
   * Infinity when it names its days.
   */
  readonly meansUntilMs: number;
}

/** The source of an answer. */
interface How {
  readonly outcome: Outcome;
  readonly tier?: 'l1' | 'store';
  readonly stored?: boolean;
  readonly degraded?: boolean;
  readonly keep?: boolean;
  readonly days?: CacheStatus['days'];
}

/** What of an answer its headers need. */
type Shown = Omit<Assembled, 'body'> & { readonly coding: Coding };

export function createGateway(options: GatewayOptions): Gateway {
  const { l1, purges, rules, now } = options;

  async function report(call: ReportCall): Promise<ReportReply> {
    const caller = await enter(call);
    const question = understand(call, caller, call.readBody === null ? null : await call.readBody());
    const kept = lookInL1(question);
    if (kept !== undefined) {
      if (kept.auditFromMs !== null && now() >= kept.auditFromMs) options.onJoinedHit(question);
      return reply(kept, question, call, { outcome: 'hit', tier: 'l1' });
    }
    const { answer, gathered } = await ask(question);
    const coding = answer.weight < question.compressFrom ? 'identity' : question.coding;
    if (holds(call, { ...answer, coding })) return notModified({ ...answer, coding }, question, gathered);
    const finished = await finish(answer, coding, options.crew);
    if (gathered.keep) keepInL1({ ...finished, auditFromMs: gathered.auditFromMs }, question);
    return reply(finished, question, call, gathered);
  }

  /** identify → admit → enter: who it is, and whether they may ask now. */
  async function enter({ keys, trace, address, whenOver }: ReportCall): Promise<Caller> {
    const caller = options.identify(keys, trace);
    admit({ caller, address, scope: 'report:read' });
    await options.limits.enter(caller.team, whenOver);
    return caller;
  }

  /** canonicalize → authorize: nothing cached is touched before both agree. */
  function understand(call: ReportCall, caller: Caller, body: JsonObject | null): Question {
    const method = call.method === 'POST' ? 'POST' : 'GET';
    const { endpoint, query } = call;
    const canonical = canonicalize({ endpoint, method, query, body }, options.canonical);
    authorize(caller, claimsOf(canonical, options.canonical));
    const format = negotiateFormat(canonical.options.format, call.accept, caller.team.defaultFormat);
    const { report } = canonical;
    const series = seriesId(report, options.account, options.baseUrl);
    const shape = shapeOf(format, canonical.options);
    const coding = negotiateCoding(call.acceptEncoding);
    const compressFrom = refusesIdentity(call.acceptEncoding) ? 0 : options.compressMinBytes;
    return {
      caller,
      report,
      series,
      shape,
      coding,
      compressFrom,
      wish: readWish(call.cacheControl, caller.team.scopes.includes('cache:refresh')),
      trace: call.trace,
      meansUntilMs: meansUntil(canonical, options.canonical),
      l1Key: `${finishedKey(series, report, shape, coding)}|${compressFrom}|${options.generationOf(report)}`,
    };
  }

  function lookInL1({ l1Key, report, wish }: Question): Finished | undefined {
    const finished = l1.get(l1Key);
    if (finished === undefined) return undefined;
    return isServable(finished, report, purges, wish.maxAgeMs, now()) ? finished : undefined;
  }

  function keepInL1(finished: Finished, { l1Key }: Question): void {
    if (finished.status === 200 && !finished.stale) l1.set(l1Key, finished);
  }

  /** Gathers the parts: the report, and beside it the unsplit report of the same period when totals are wanted. */
  async function ask(question: Question): Promise<{ answer: Assembled; gathered: Gathered }> {
    const { report, series, shape, wish, caller, trace } = question;
    const common = {
      wish,
      team: caller.team.id,
      onTry: (call: CallReport) => addCall(trace, call),
    };
    const whole = unsplit(report);
    const [main, totals] = await Promise.all([
      options.gather({ ...common, report, series, form: shape.format === 'raw' ? 'bytes' : 'rows' }),
      shape.totals
        ? options.gather({
            ...common,
            report: whole,
            series: seriesId(whole, options.account, options.baseUrl),
            form: 'rows',
          })
        : null,
    ]);
    const answer = shapeAnswer({
      report,
      shape,
      parts: main.parts,
      totals: totals?.parts[0] ?? null,
      rules,
      negativeMs: options.negativeMs,
      nowMs: now(),
    });
    return { answer, gathered: totals === null ? main : together(main, totals) };
  }

  function reply(finished: Finished, question: Question, call: ReportCall, how: How): ReportReply {
    if (holds(call, finished)) return notModified(finished, question, how);
    return {
      status: finished.status,
      headers: {
        ...answerHeaders(finished, question, how),
        'content-type': finished.contentType,
        ...(finished.coding === 'identity' ? {} : { 'content-encoding': finished.coding }),
      },
      body: finished.body,
    };
  }

  function notModified(answer: Shown, question: Question, how: How): ReportReply {
    return { status: 304, headers: answerHeaders(answer, question, how), body: null };
  }

  /** Every answer passes here, so this is where a limited team is kept from foreign accounts. */
  function answerHeaders(
    answer: Shown,
    { caller, trace, shape, meansUntilMs }: Question,
    { outcome, tier = 'store', stored = false, degraded = false, keep = true, days = null }: How,
  ): Record<string, string> {
    if (!maySeeAccounts(caller, answer.accounts))
      throw invalid('the answer holds an account the team may not see');
    trace.outcome = outcome;
    trace.rows = answer.rowCount;
    trace.plainCalls = shape.totals ? 2 : 1;
    return cacheHeaders(
      { ...answer, keep, meansUntilMs },
      answer.coding,
      { outcome, tier, stored, degraded, days },
      now(),
    );
  }

  return { report };
}

/** The source of a report and of its totals, as one. */
function together(main: Gathered, totals: Gathered): Gathered {
  return {
    ...main,
    outcome: dearest([main.outcome, totals.outcome]),
    stored: main.stored || totals.stored,
    degraded: main.degraded || totals.degraded,
    keep: main.keep && totals.keep,
  };
}

/** Whether the caller has this very answer already, in this coding (RFC 9110, section 13.1.2: for a 200 alone). */
function holds({ ifNoneMatch }: ReportCall, { status, tag, coding }: Shown): boolean {
  return status === 200 && isNotModified(ifNoneMatch, tag, coding);
}
