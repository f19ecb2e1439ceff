/**
 * The path of a request for a report, from the call to its reply.
 *
 *   admit → parse the query → check the query → (answer in memory | report → assemble) → check its accounts → reply
 *
 * `reports/get-report.ts` has the steps of the report itself: look up, decide, wait, acquire, lock, fetch, keep.
 */

import type { Admit } from './reports/admit.js';
import type { createAnswerQuery } from './reports/cache/answer.js';
import type { AnswerMemory } from './reports/cache/finished.js';
import { type createReply, noteFromMemory, replyFromMemory, tellIgnored } from './reports/cache/reply.js';
import type { createQueries, Query } from './reports/query.js';
import type { RequestContext } from './reports/question.js';
import type { ReportCall, ReportReply } from './reports/report-call.js';
import type { JsonObject } from './reports/rows/json.js';
import type { Caller } from './teams/auth/authenticate.js';
import { checkQuery, refuseForeignAccounts, withholdForeignAccounts } from './teams/policy/authorize.js';

export function createGateway({
  admit,
  queries,
  memory,
  answerQuery,
  reply,
}: {
  readonly admit: Admit;
  readonly queries: ReturnType<typeof createQueries>;
  readonly memory: Pick<AnswerMemory, 'find' | 'used'>;
  readonly answerQuery: ReturnType<typeof createAnswerQuery>;
  readonly reply: ReturnType<typeof createReply>;
}) {
  /** @returns the reply itself where its body is in memory */
  function answer(
    call: ReportCall,
    caller: Caller,
    body: JsonObject | null,
  ): ReportReply | Promise<ReportReply> {
    // What is requested: 400.
    const { query, context, memoryKey } = queries.read(call, body, caller.team);
    const { arrivedAtMs: nowMs } = context;
    // Nothing cached is touched before a team may see what it requests: 403.
    call.trace.asked = query.question.report;
    checkQuery(caller, query.access);
    call.trace.isLookedUp = true;
    const finished = memory.find(memoryKey, query.question.report, context.directives.maxAgeMs, nowMs);
    if (finished === null) return fetchAnswer(call, caller, query, context, memoryKey);
    memory.used(query.question, finished, nowMs);
    refuseForeignAccounts(caller, finished.accounts);
    const remembered = replyFromMemory(query, finished, call.ifNoneMatch, nowMs);
    noteFromMemory(call.trace, query, finished, remembered);
    return tellIgnored(remembered, context.directives);
  }

  async function fetchAnswer(
    call: ReportCall,
    caller: Caller,
    query: Query,
    context: RequestContext,
    memoryKey: string,
  ): Promise<ReportReply> {
    const answer = await answerQuery(query, context, memoryKey).catch((error: unknown) => {
      throw withholdForeignAccounts(caller, error);
    });
    // A limited team must not get accounts that it did not name: each answer is checked, from memory too.
    refuseForeignAccounts(caller, answer.accounts);
    return tellIgnored(await reply(query, context, answer, call.ifNoneMatch), context.directives);
  }

  async function answerLater(call: ReportCall, admitted: Caller | Promise<Caller>): Promise<ReportReply> {
    try {
      const caller = await admitted;
      return await answer(call, caller, call.readBody === null ? null : await call.readBody());
    } catch (error) {
      noteAsked(call);
      throw error;
    }
  }

  /** What was asked for by a team that was refused before its query was read; operators are told. */
  function noteAsked(call: ReportCall): void {
    const { trace } = call;
    if (trace.team !== null && trace.asked === null) trace.asked = queries.askedBy(call);
  }

  return {
    /** See {@link ReportHandler}. */
    report(call: ReportCall): ReportReply | Promise<ReportReply> {
      try {
        // Who asks, may they, and how often: 401, 403, 429.
        const admitted = admit(call);
        if (admitted instanceof Promise || call.readBody !== null) return answerLater(call, admitted);
        return answer(call, admitted, null);
      } catch (error) {
        noteAsked(call);
        throw error;
      }
    },
  };
}
