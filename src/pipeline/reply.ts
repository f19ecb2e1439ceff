/** An answer as HTTP: a body with its headers, or a 304 for who has it already. */
import { HIT_BYTES, type ReportReply } from '../http/report-call.js';
import { cacheHeaders, isNotModified } from '../http/respond.js';
import { turn } from '../time.js';
import { type Answer, FROM_L1 } from './answer.js';
import type { ReadQuestion } from './read-question.js';
import type { Finished } from './render.js';
import type { Understood } from './understand.js';

export type Reply = (asked: Understood, answer: Answer) => Promise<ReportReply>;

export interface ReplyOptions {
  readonly now: () => number;
  readonly background: (work: Promise<unknown>) => void;
}

export function createReply({ now, background }: ReplyOptions): Reply {
  return async (asked, answer) => {
    noteAnswer(asked, answer);
    // The caller has this very answer, in this coding (RFC 9110, section 13.1.2: for a 200 alone).
    const { status, tag, coding } = answer.shown;
    if (status === 200 && isNotModified(asked.ifNoneMatch, tag, coding)) {
      if (isToBeKept(answer)) background(turn().then(answer.body));
      return { status: 304, headers: headersOf(asked, answer, now()), body: null };
    }
    const finished = await answer.body();
    asked.context.trace.mark('render');
    return withBody(asked, finished, headersOf(asked, answer, now()));
  };
}

/** Made though nobody is sent it: whoever asks whether it has changed asks again, and is told from memory then. */
function isToBeKept({ shown, source }: Answer): boolean {
  return source.tier === 'store' && source.storable && shown.weight <= HIT_BYTES;
}

/** An answer of this process that may be sent as it is. */
export type ReplyAtOnce = (
  asked: ReadQuestion,
  finished: Finished,
  ifNoneMatch: string | undefined,
) => ReportReply;

/** Both answers that a finished body can be given as, for the moments in which its age and lifetime stay the same. */
interface Replies {
  readonly asked: ReadQuestion;
  readonly fromMs: number;
  /** From then on a second more, or less, is to be told. */
  readonly untilMs: number;
  readonly whole: ReportReply;
  readonly notModified: ReportReply;
}

export function createReplyAtOnce(now: () => number): ReplyAtOnce {
  const made = new WeakMap<Finished, Replies>();
  return (asked, finished, ifNoneMatch) => {
    const nowMs = now();
    let replies = made.get(finished);
    if (replies?.asked !== asked || nowMs < replies.fromMs || nowMs >= replies.untilMs) {
      replies = makeReplies(asked, finished, nowMs);
      made.set(finished, replies);
    }
    const { tag, coding } = finished;
    return isNotModified(ifNoneMatch, tag, coding) ? replies.notModified : replies.whole;
  };
}

function makeReplies(asked: ReadQuestion, finished: Finished, nowMs: number): Replies {
  const answer = { shown: finished, source: FROM_L1 };
  const { asOfMs, freshUntilMs } = finished;
  return {
    asked,
    fromMs: nowMs,
    untilMs: Math.min(
      nextSecond(nowMs - asOfMs, nowMs),
      ...[freshUntilMs, asked.meansUntilMs].map((endMs) => secondLess(endMs - nowMs, nowMs)),
    ),
    whole: withBody(asked, finished, headersOf(asked, answer, nowMs)),
    notModified: { status: 304, headers: headersOf(asked, answer, nowMs), body: null },
  };
}

/** When a time that grows will be a whole second longer, rounded down. */
function nextSecond(ms: number, nowMs: number): number {
  return nowMs + 1000 - (ms - Math.floor(ms / 1000) * 1000);
}

/** When a time that shrinks will be a second less, rounded down; just after it is whole seconds. */
function secondLess(ms: number, nowMs: number): number {
  return ms === Number.POSITIVE_INFINITY ? ms : nowMs + (ms - Math.floor(ms / 1000) * 1000) + 1;
}

/** Platform calls that an answer would have cost without a cache. */
export function plainCallsOf({ totals }: ReadQuestion): number {
  return totals === null ? 1 : 2;
}

function withBody(
  { fileName }: ReadQuestion,
  { status, contentType, coding, body }: Finished,
  headers: Record<string, string>,
): ReportReply {
  headers['content-type'] = contentType;
  if (coding !== 'identity') headers['content-encoding'] = coding;
  if (fileName !== null) headers['content-disposition'] = `attachment; filename="${fileName}"`;
  return { status, headers, body };
}

function headersOf(
  { meansUntilMs }: ReadQuestion,
  { shown, source }: Pick<Answer, 'shown' | 'source'>,
  nowMs: number,
): Record<string, string> {
  const { tag, asOfMs, freshUntilMs, coding, revision, warnings } = shown;
  const validators = { tag, asOfMs, freshUntilMs, meansUntilMs, keep: source.storable };
  const headers = cacheHeaders(validators, coding, source, nowMs);
  if (revision !== null) headers['report-revision'] = revision;
  if (warnings.length > 0) headers['report-warnings'] = warnings.join(', ');
  return headers;
}

function noteAnswer(asked: Understood, { shown, source }: Answer): void {
  const { trace } = asked.context;
  trace.outcome = source.outcome;
  trace.tier = source.tier;
  trace.rows = shown.rowCount;
  trace.plainCalls = plainCallsOf(asked);
}
