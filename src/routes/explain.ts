/** What an answer would come from, and cost: `GET /gateway/v1/explain`. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type AskCall, readAskCall } from '../http/ask-call.js';
import { json, type Operation, shownToTeams } from '../openapi/operation.js';
import { TeamExplanation } from '../report/explained.js';
import { THE_REPORT } from './history.js';

export interface ExplainRoutes {
  readonly showExplanation: (call: AskCall) => Promise<object>;
}

export function registerExplain(app: FastifyInstance, { showExplanation }: ExplainRoutes): void {
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
        .send(await showExplanation(readAskCall(request, reply))),
  );
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
