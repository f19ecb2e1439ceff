/**
 * The request's path, from the call to its reply.
 *
 *   admit → understand → authorize → (finished | report → render) → look at the accounts once more → reply
 *
 * `pipeline/report.ts` goes on with the report itself: look up, decide, wait, acquire, lock, fetch, keep.
 */
import type { ReportCall, ReportReply } from './http/report-call.js';
import type { Admit } from './pipeline/admit.js';
import type { FinishedAnswers } from './pipeline/finished.js';
import type { RenderAnswer } from './pipeline/render-answer.js';
import type { Reply } from './pipeline/reply.js';
import type { Understand } from './pipeline/understand.js';
import { authorize } from './policy/authorize.js';
import { refuseForeignAccounts, withholdForeignAccounts } from './policy/check-advertiser.js';

export interface Gateway {
  /** @throws GatewayError for everything that is not an answer */
  report(call: ReportCall): Promise<ReportReply>;
}

/** The steps that need more than their input: each is made where its room says. */
export interface GatewayDeps {
  readonly admit: Admit;
  readonly understand: Understand;
  readonly finished: FinishedAnswers;
  readonly renderAnswer: RenderAnswer;
  readonly reply: Reply;
}

export function createGateway({ admit, understand, finished, renderAnswer, reply }: GatewayDeps): Gateway {
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
  };
}
