/** Registers the data plane's own operations as routes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ReportReply } from '../../reports/report-call.js';
import type { Caller, Identify } from '../../teams/auth/authenticate.js';
import { checkAddress, checkTeam } from '../../teams/policy/authorize.js';
import { readKeyHeaders } from '../http/caller.js';
import { describeTeamOperation, type TeamOperation } from '../operations/operation.js';
import { type AskCall, readAskCall } from './ask.js';
import { OWN_HEAD } from './reports.js';

const SECURITY = { key: [{ bearer: [] }, { apiKey: [] }], session: [{ session: [] }], anybody: [] };

type Handler = (call: AskCall, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

/**
 * Registers the route of an operation. Handlers authenticate the caller: by `ask` and `admit`, which charge the team, or by
 * {@link enter}, which does not.
 * @param handle returns the answer; it is sent with `no-store` unless the handler sets `cache-control`
 */
export function serveTeam(app: FastifyInstance, operation: TeamOperation, handle: Handler): void {
  const [method = '', url = ''] = operation.call.split(' ');
  const { tag, summary, by, isFree = false } = operation;
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const call = readAskCall(request, reply);
    // Counts as a request of the team; logged without ids.
    request.trace.subject = isFree ? null : url;
    reply.header('cache-control', 'private, no-store');
    return await handle(call, request, reply);
  };
  const config = { operation: describeTeamOperation(operation) };
  if (method === 'GET') app.head(url, OWN_HEAD, handler);
  app.route({ method, url, schema: { summary, tags: [tag], security: SECURITY[by] }, config, handler });
}

/** Authenticates without charging the team. @throws GatewayError as for every call */
export function enter(
  identify: Identify,
  request: FastifyRequest,
  keys = readKeyHeaders(request.raw),
): Caller {
  const caller = identify(keys, request.trace);
  checkTeam(caller);
  checkAddress(caller, request.ip);
  return caller;
}

export function sendReply(reply: FastifyReply, { status, headers, body }: ReportReply): FastifyReply {
  reply.code(status).headers(headers);
  if (body === null) return reply.send(undefined);
  const whole = Buffer.concat(body);
  const isHead = reply.request.method === 'HEAD';
  return reply.header('content-length', whole.length).send(isHead ? undefined : whole);
}
