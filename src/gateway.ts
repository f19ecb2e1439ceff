/**
 * The request's path, from the call to its reply.
 *
 *   admit → understand → authorize → (finished | report → render) → look at the accounts once more → reply
 *
 * `hit` is the same path where every step of it can be taken at once, see `routes/hit-answer.ts`.
 * `pipeline/report.ts` goes on with the report itself: look up, decide, wait, acquire, lock, fetch, keep.
 */
import type { Recognize } from './auth/identify.js';
import type { LastUse } from './auth/last-use.js';
import {
  ELSEWHERE,
  HIT_BYTES,
  type Hit,
  type HitCall,
  type ReportCall,
  type ReportReply,
} from './http/report-call.js';
import type { TeamLimits } from './limits/team-limits.js';
import type { Admit } from './pipeline/admit.js';
import type { FinishedAnswers } from './pipeline/finished.js';
import type { Recall } from './pipeline/recall.js';
import type { RenderAnswer } from './pipeline/render-answer.js';
import { plainCallsOf, type Reply, type ReplyAtOnce } from './pipeline/reply.js';
import type { Understand } from './pipeline/understand.js';
import { authorize, admit as checkEntrance } from './policy/authorize.js';
import { refuseForeignAccounts, withholdForeignAccounts } from './policy/check-advertiser.js';

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
  readonly recall: Recall;
  readonly admit: Admit;
  readonly understand: Understand;
  readonly finished: FinishedAnswers;
  readonly renderAnswer: RenderAnswer;
  readonly reply: Reply;
  readonly replyAtOnce: ReplyAtOnce;
}

export function createGateway(deps: GatewayDeps): Gateway {
  const { admit, understand, finished, renderAnswer, reply } = deps;
  return {
    async report(call) {
      // Who asks, may they, and how often: 401, 403, 429.
      const caller = await admit(call);
      // What is asked for: 400.
      const asked = await understand(call, caller);
      // Nothing that is kept is touched before a team may see what it asks for: 403.
      authorize(caller, asked.access);
      // A body that is ready to be sent, or the report's own way.
      const answer =
        finished.look(asked) ??
        (await renderAnswer(asked).catch((error: unknown) => {
          throw withholdForeignAccounts(caller, error);
        }));
      // Every answer passes here: this is where a limited team is kept from what it did not ask for by name.
      refuseForeignAccounts(caller, answer.shown.accounts);
      return reply(asked, answer);
    },

    hit(call, address) {
      const caller = deps.recognize(call.keys);
      checkEntrance({ caller, scope: 'report:read', address });
      const recalled = deps.recall(call, caller.team.defaultFormat);
      if (recalled === null) return null;
      const { asked, l1Key } = recalled;
      authorize(caller, asked.access);
      const body = finished.find(l1Key, asked.question.report);
      if (body === null) return ELSEWHERE;
      if (body.bytes > HIT_BYTES) return null;
      refuseForeignAccounts(caller, body.accounts);
      // What is charged comes last: whoever is sent on from here is charged there.
      const leave = deps.limits.enterAtOnce(caller.team);
      if (leave === null) return null;
      deps.lastUse.note(caller.key.id);
      finished.given(asked.question, body);
      return {
        reply: deps.replyAtOnce(asked, body, call.ifNoneMatch),
        team: caller.team.id,
        key: caller.key.id,
        endpoint: asked.question.report.endpoint,
        tier: 'l1',
        rows: body.rowCount,
        plainCalls: plainCallsOf(asked),
        leave,
      };
    },
  };
}
