/**
 * The request's path, from the call to its reply.
 *
 *   admit → parse the query → check the query → (answer in memory | report → assemble) → check its accounts → reply
 *
 * `hit` is the same path where every step of it can be taken at once, see `api/data/hit-answer.ts`.
 * `reports/get-report.ts` has the steps of the report itself: look up, decide, wait, acquire, lock, fetch, keep.
 */
import type { Recognize } from './auth/authenticate.js';
import type { LastUse } from './auth/last-use.js';
import type { TeamLimits } from './limits/team-limits.js';
import { checkCaller, checkQuery } from './policy/authorize.js';
import { refuseForeignAccounts, withholdForeignAccounts } from './policy/check-advertiser.js';
import type { Admit } from './reports/admit.js';
import type { AnswerQuery } from './reports/cache/answer.js';
import type { AnswerMemory } from './reports/cache/finished.js';
import { noteFromMemory, plainCallsOf, type Reply, replyFromMemory } from './reports/cache/reply.js';
import type { Queries } from './reports/queries.js';
import {
  ELSEWHERE,
  HIT_BYTES,
  type Hit,
  type HitCall,
  type ReportCall,
  type ReportReply,
} from './reports/report-call.js';

export interface Gateway {
  /** @throws GatewayError for everything that is not an answer */
  report(call: ReportCall): Promise<ReportReply>;
  /**
   * The same for an answer that is at hand in this process, at once. Nothing is charged or noted unless it is given.
   * @param address of the caller, behind trusted proxies resolved
   * @returns `ELSEWHERE` where nothing but the answer itself is missing; null for whatever is not that simple: `report` has
   * the answer, or the reason why there is none
   * @throws GatewayError where `report` does
   */
  hit(call: HitCall, address: string): Hit | typeof ELSEWHERE | null;
}

/** The steps that need more than their input: each is made where its room says. */
export interface GatewayDeps {
  readonly recognize: Recognize;
  readonly lastUse: Pick<LastUse, 'note'>;
  readonly limits: Pick<TeamLimits, 'enterAtOnce'>;
  readonly admit: Admit;
  readonly queries: Queries;
  readonly memory: Pick<AnswerMemory, 'find' | 'used'>;
  readonly answerQuery: AnswerQuery;
  readonly reply: Reply;
  readonly now: () => number;
}

export function createGateway(deps: GatewayDeps): Gateway {
  const { admit, queries, memory, answerQuery, reply, now } = deps;
  return {
    async report(call) {
      // Who asks, may they, and how often: 401, 403, 429.
      const caller = await admit(call);
      // What is requested: 400.
      const { query, context, memoryKey } = await queries.read(call, caller.team);
      // Nothing cached is touched before a team may see what it requests: 403.
      checkQuery(caller, query.access);
      const finished = memory.find(memoryKey, query.question.report, context.directives.maxAgeMs);
      if (finished !== null) {
        memory.used(query.question, finished);
        refuseForeignAccounts(caller, finished.accounts);
        const remembered = replyFromMemory(query, finished, call.ifNoneMatch, now());
        noteFromMemory(call.trace, query, finished, remembered);
        return remembered;
      }
      const answer = await answerQuery(query, context, memoryKey).catch((error: unknown) => {
        throw withholdForeignAccounts(caller, error);
      });
      // A limited team must not get accounts that it did not name: each answer is checked, from memory too.
      refuseForeignAccounts(caller, answer.accounts);
      return reply(query, context, answer, call.ifNoneMatch);
    },

    hit(call, address) {
      const caller = deps.recognize(call.keys);
      checkCaller(caller, address, 'report:read');
      const recalled = queries.recall(call, caller.team.defaultFormat);
      if (recalled === null) return null;
      const { query, memoryKey } = recalled;
      checkQuery(caller, query.access);
      const body = memory.find(memoryKey, query.question.report, null);
      if (body === null) return ELSEWHERE;
      if (body.bytes > HIT_BYTES) return null;
      refuseForeignAccounts(caller, body.accounts);
      // What is charged comes last: whoever is sent on from here is charged there.
      const leave = deps.limits.enterAtOnce(caller.team);
      if (leave === null) return null;
      deps.lastUse.note(caller.key.id);
      memory.used(query.question, body);
      return {
        reply: replyFromMemory(query, body, call.ifNoneMatch, now()),
        team: caller.team.id,
        key: caller.key.id,
        endpoint: query.question.report.endpoint,
        tier: 'l1',
        rows: body.rowCount,
        plainCalls: plainCallsOf(query),
        leave,
      };
    },
  };
}
