/** `GET /gateway/v1/explain`: what the cache holds of a report that a team may ask for, and what an answer would cost. */
import type { AskCall } from '../http/ask-call.js';
import { refuseForeignAccounts } from '../policy/check-advertiser.js';
import type { TeamExplanation } from '../report/explained.js';
import type { AskReport } from './asked-report.js';
import type { ExplainAsked } from './explain.js';

/** @throws GatewayError as for the report itself */
export type ShowExplanation = (call: AskCall) => Promise<TeamExplanation>;

export interface ShowExplanationOptions {
  readonly askReport: Pick<AskReport, 'ask'>;
  readonly explainAsked: ExplainAsked;
}

export function createShowExplanation({ askReport, explainAsked }: ShowExplanationOptions): ShowExplanation {
  return async (call) => {
    const asked = await askReport.ask(call);
    const { explanation, accounts } = await explainAsked(asked, asked.named);
    // How many rows there are, and when they were fetched, is told of what the team would be given alone.
    refuseForeignAccounts(asked.caller, accounts);
    call.trace.mark('answer');
    // What was learned of the kind, and keys, tell of questions of others.
    const { series: _series, key: _key, policy, ...shown } = explanation;
    const { divisibility: _divisibility, ...own } = policy;
    return { ...shown, policy: own };
  };
}
