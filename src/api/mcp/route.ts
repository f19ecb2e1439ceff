/** `POST /mcp`: reports for assistants, by the Model Context Protocol. Needs a team key with the scope `mcp`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import type { Admit } from '../../reports/admit.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import { readAskCall } from '../data/ask.js';
import { type BodyLimits, parseJsonBody } from '../http/json-body.js';
import { isOwnHost } from '../http/own-host.js';
import { noteProblem } from '../http/problem-reply.js';
import { readJsonBytes, withUnreadBodies } from '../http/request-body.js';
import { BODY_PROBLEMS, json, type Operation, shownToTeams } from '../openapi/operation.js';
import { callTool, type ToolBench } from './call-tool.js';
import type { RunTool } from './protocol.js';

/**
 * Refuses pages of foreign origins. DNS rebinding can point a foreign name at this server, but cannot take one of its
 * names. Programs send no origin.
 * @param allowed origins in full; `*` allows any
 * @throws GatewayError `origin_forbidden`
 */
function refuseForeignOrigin(
  { headers, host }: Pick<FastifyRequest, 'headers' | 'host'>,
  allowed: readonly string[],
): void {
  const { origin } = headers;
  if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return;
  const named = /^https?:\/\/([^/]+)$/.exec(origin.toLowerCase())?.[1];
  if (named === host.toLowerCase() && isOwnHost(host, [])) return;
  throw new GatewayError('origin_forbidden');
}

interface McpRoute {
  readonly bench: Omit<ToolBench, 'onError'>;
  readonly admit: Admit;
  /** The same without charging the team. */
  readonly identify: (request: FastifyRequest) => Caller;
  readonly allowedOrigins: readonly string[];
  readonly maxBodyBytes: number;
}

const MCP_PATH = '/mcp';

const BODY_LIMITS: BodyLimits = { maxMembers: 2000, maxItems: 5000 };

export function registerMcp(app: FastifyInstance, route: McpRoute): void {
  // The body is read only after authentication.
  withUnreadBodies(app, (scope) => {
    scope.post(MCP_PATH, shownToTeams('gateway', 'Tools for assistants (MCP)', OPERATION), (request, reply) =>
      answer(route, request, reply),
    );
  });
}

async function answer(route: McpRoute, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  request.trace.via = 'mcp';
  refuseForeignOrigin(request, route.allowedOrigins);
  const { query: _, ...arrival } = readAskCall(request, reply);
  // A rate limit becomes a result of the tool, which agents understand.
  let caller: Caller;
  let refusal: GatewayError | null = null;
  try {
    caller = await route.admit(arrival, 'mcp');
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'rate_limited') throw error;
    [caller, refusal] = [route.identify(request), error];
  }
  const message = await readMessage(request, route.maxBodyBytes);
  if (refusal !== null && message.method !== 'tools/call') throw refusal;
  const { answerMessage } = await import('./protocol.js');
  const bench: ToolBench = { ...route.bench, onError: ({ ask }, error) => noteProblem(ask.trace, error) };
  const run: RunTool = (name, given) => {
    request.trace.subject = `${MCP_PATH}/${name}`;
    const admitted = refusal === null ? Promise.resolve() : Promise.reject(refusal);
    return callTool(bench, { caller, ask: { ...arrival, isCharged: true } }, name, given, admitted);
  };
  return send(reply, await answerMessage(webRequest(request), message, run));
}

/** The rest of a message is for the protocol. */
interface Message {
  readonly method?: unknown;
}

async function readMessage(request: FastifyRequest, maxBodyBytes: number): Promise<Message> {
  const bytes = await readJsonBytes(request, maxBodyBytes);
  // Strict, so that the message has one meaning: no batches, no duplicate members, no deep nesting.
  parseJsonBody(bytes, BODY_LIMITS);
  return bytes.length === 0 ? {} : (JSON.parse(bytes.toString()) as Message);
}

/** Only the headers that the protocol reads; never the key. */
function webRequest({ headers }: FastifyRequest): Request {
  const passed = Object.entries(headers).filter(
    ([name]) => name === 'accept' || name === 'content-type' || name.startsWith('mcp-'),
  );
  return new Request(`http://gateway${MCP_PATH}`, {
    method: 'POST',
    headers: passed.map(([name, value]): [string, string] => [name, String(value)]),
  });
}

async function send(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  const body = Buffer.from(await response.arrayBuffer());
  reply.code(response.status).header('cache-control', 'no-store');
  const type = response.headers.get('content-type');
  if (type !== null) reply.header('content-type', type);
  return reply.send(body.length === 0 ? undefined : body);
}

const MESSAGE = Type.Object(
  { jsonrpc: Type.Literal('2.0') },
  { additionalProperties: true, title: 'McpMessage', description: 'One JSON-RPC message; no batches.' },
);

const OPERATION: Operation = {
  id: 'postMcp',
  body: { 'application/json': MESSAGE },
  answers: {
    200: json(MESSAGE, 'The answer to a request. Tool errors are results with isError.', ['cache-control']),
    202: { description: 'Notification accepted.', headers: ['cache-control'] },
    '4XX': json(
      MESSAGE,
      'Refused by the protocol: an unknown revision, or headers that contradict the message.',
      ['cache-control'],
    ),
  },
  problems: ['scope_missing', 'origin_forbidden', 'rate_limited', ...BODY_PROBLEMS],
};
