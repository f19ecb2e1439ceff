/** Has the platform asked now whether a kind of report can be cached by day: `POST /gateway/v1/learn`. */

import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors.js';
import type { Reports } from '../../reports/reports.js';
import type { JsonObject } from '../../reports/rows/json.js';
import { type BodyLimits, parseJsonBody } from '../http/json-body.js';
import { readJsonBytes, withUnreadBodies } from '../http/request-body.js';
import { learnReport } from '../operations/own.js';
import { type AskCall, notByDate, questionAbout } from './ask.js';
import { serveTeam } from './serve.js';

const BODY_LIMITS: BodyLimits = { maxMembers: 2, maxItems: 0 };
const MAX_BODY_BYTES = 65_536;

export function registerLearnReport(app: FastifyInstance, g: Reports): void {
  // The body is read only after authentication.
  withUnreadBodies(app, (scope) => {
    serveTeam(scope, learnReport, async (call, request, reply) => {
      const readBody = async () => parseJsonBody(await readJsonBytes(request, MAX_BODY_BYTES), BODY_LIMITS);
      reply.code(202);
      return await learn(g, call, readBody);
    });
  });
}

async function learn(g: Reports, call: AskCall, readBody: () => Promise<JsonObject>): Promise<object> {
  const caller = await g.admit(call);
  const { names, values } = await readBody();
  const { endpoint, query, ...others } = Object.fromEntries(names.map((name, at) => [name, values[at]]));
  if (typeof endpoint !== 'string' || typeof query !== 'string' || Object.keys(others).length > 0)
    throw new GatewayError('invalid_body', {
      detail: 'The body must be an object with endpoint and query, both texts, and nothing else.',
    });
  const { question } = questionAbout(g, caller, { endpoint, query });
  const { report } = question;
  if (!report.split.includes('date') || report.from === null || report.to === null)
    throw notByDate('are cached by day');
  const started = g.learner.mayProve(report, true);
  if (started) g.background(g.prover.asked(question));
  return { state: started ? 'proving' : g.learner.status(report).state, started };
}
