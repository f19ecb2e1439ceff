/** What an answer would come from, and cost: `GET /gateway/v1/explain`. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { json, type Operation, shownToTeams } from '../../openapi/operation.js';
import { refuseForeignAccounts } from '../../policy/check-advertiser.js';
import type { Gateway } from '../../reports/gateway.js';
import { type AskCall, ask, readAskCall, THE_REPORT } from './ask.js';
import { explainQuery, TeamExplanation } from './explain-report.js';

export function registerExplain(app: FastifyInstance, g: Gateway): void {
  app.get(
    '/gateway/v1/explain',
    shownToTeams(
      'reports',
      'What is kept of a report, and which platform calls an answer would make',
      EXPLAIN,
    ),
    async (request, reply) =>
      reply
        .header('cache-control', 'private, no-store')
        .send(await showExplanation(g, readAskCall(request, reply))),
  );
}

/** @throws GatewayError as for the report itself */
export async function showExplanation(g: Gateway, call: AskCall): Promise<TeamExplanation> {
  const asked = await ask(g, call);
  const { explanation, accounts } = await explainQuery(g, asked, asked.named);
  // Number and age of rows are told only of what the team may see.
  refuseForeignAccounts(asked.caller, accounts);
  call.trace.mark('answer');
  // What was learned of the kind, and keys, tell of questions of others.
  const { series: _series, key: _key, policy, ...shown } = explanation;
  const { divisibility: _divisibility, ...own } = policy;
  return { ...shown, policy: own };
}

const EXPLAIN: Operation = {
  id: 'explainReport',
  query: Type.Object(THE_REPORT),
  answers: { 200: json(TeamExplanation, 'As of now; the platform is not asked.', ['cache-control']) },
  problems: [
    'invalid_query',
    'scope_missing',
    'advertiser_forbidden',
    'advertiser_required',
    'rate_limited',
    'upstream_invalid_response',
  ],
};
