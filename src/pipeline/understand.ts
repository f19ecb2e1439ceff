/** What is asked for: the question, what the caller's headers want of it, and where its answer is kept. */
import type { Caller } from '../auth/authenticate.js';
import { readCacheDirectives } from '../http/cache-directives.js';
import type { ReportCall } from '../http/report-call.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { KnownQuestions } from './known-questions.js';
import { newPatience, type RequestContext } from './question.js';
import type { ReadQuestion, ReadQuestions } from './read-question.js';

/** A caller's question after it was understood. */
export interface Understood extends ReadQuestion {
  readonly caller: Caller;
  readonly context: RequestContext;
  readonly ifNoneMatch: string | undefined;
  /** Where its answer is kept in this process; decided before anything is looked up. */
  readonly l1Key: string;
}

export interface UnderstandOptions {
  readonly read: ReadQuestions;
  readonly known: KnownQuestions;
  /** Finished answers that were made under another stamp are void. */
  readonly stampOf: (report: CanonicalReport) => string;
  readonly now: () => number;
}

/** @throws GatewayError 400 `invalid_query`, `invalid_body`; 406; 413; 415 */
export type Understand = (call: ReportCall, caller: Caller) => Promise<Understood>;

export function createUnderstand({ read, known, stampOf, now }: UnderstandOptions): Understand {
  return async (call, caller) => {
    const nowMs = now();
    const { defaultFormat } = caller.team;
    const body = call.readBody === null ? null : await call.readBody();
    const before = known.find(call, defaultFormat, nowMs);
    const asked = before ?? read(call, body, defaultFormat);
    if (before === undefined) known.remember(call, defaultFormat, asked);
    call.trace.meant = asked.meant;
    call.trace.mark('understand');
    const more = {
      caller,
      context: contextOf(call, caller, nowMs, asked),
      ifNoneMatch: call.ifNoneMatch,
      l1Key: l1KeyOf(asked, stampOf(asked.question.report)),
    };
    return Object.assign(more, asked);
  };
}

/** Of questions that are remembered: made once, for a text that was looked up before is looked up faster. */
const l1Keys = new WeakMap<ReadQuestion, { readonly stamp: string; readonly key: string }>();

/** Where the finished answer to a question is kept, under the stamp of its kind. */
export function l1KeyOf(question: ReadQuestion, stamp: string): string {
  const known = l1Keys.get(question);
  if (known?.stamp === stamp) return known.key;
  const key = `${question.finishedKey}|${question.compressFrom}|${stamp}`;
  l1Keys.set(question, { stamp, key });
  return key;
}

function contextOf(
  { id, cacheControl, trace }: ReportCall,
  { team }: Caller,
  nowMs: number,
  { final }: ReadQuestion,
): RequestContext {
  const mayRefresh = team.scopes.includes('cache:refresh');
  const directives = readCacheDirectives(cacheControl, mayRefresh);
  return {
    id,
    team: team.id,
    directives: final === null ? directives : { ...directives, finalOn: final.today },
    arrivedAtMs: nowMs,
    trace,
    patience: newPatience(),
  };
}
