/** `POST /mcp`: reports for assistants, by the Model Context Protocol. A team's key, and its scope `mcp`. */
import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import type { Admit } from '../../reports/admit.js';
import type { Caller } from '../../teams/auth/authenticate.js';
import { readAskCall } from '../data/ask.js';
import { type BodyLimits, parseJsonBody, requireJson } from '../http/json-body.js';
import { isOwnHost } from '../http/own-host.js';
import { noteProblem } from '../http/problem-reply.js';
import { readRequestBody } from '../http/request-body.js';
import { json, type Operation, shownToTeams } from '../openapi/operation.js';
import { callTool, type ToolBench } from './call-tool.js';
import type { RunTool } from './protocol.js';

// Whether a page in a browser may call: of a name that only this network has, or of an origin that an operator lists.

/**
 * A page can have its own name resolve to an address of ours; it cannot take another name. Programs send no origin.
 * @param allowed origins in full; `*` allows any
 * @throws GatewayError `origin_forbidden`
 */
function refuseForeignOrigin(
  { headers, host }: Pick<FastifyRequest, 'headers' | 'host'>,
  allowed: readonly string[],
): void {
  const { origin } = headers;
  if (origin === undefined || allowed.includes('*') || allowed.includes(origin)) return;
  if (hostOf(origin) === host.toLowerCase() && isOwnHost(host, [])) return;
  throw new GatewayError('origin_forbidden');
}

function hostOf(origin: string): string | null {
  return /^https?:\/\/([^/]+)$/.exec(origin.toLowerCase())?.[1] ?? null;
}

interface McpRoute {
  readonly bench: Omit<ToolBench, 'onError'>;
  readonly admit: Admit;
  /** The same without charging anybody. */
  readonly identify: (request: FastifyRequest) => Caller;
  readonly allowedOrigins: readonly string[];
  readonly maxBodyBytes: number;
}

const MCP_PATH = '/mcp';

/** Of one message. */
const BODY_LIMITS: BodyLimits = { maxMembers: 2000, maxItems: 5000 };

export function registerMcp(app: FastifyInstance, route: McpRoute): void {
  // In a scope of its own: a body is read when the caller is known, and not before.
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, stream, done) => done(null, stream));
    scope.post(MCP_PATH, shownToTeams('gateway', 'Tools for assistants (MCP)', OPERATION), (request, reply) =>
      answer(route, request, reply),
    );
  });
}

async function answer(route: McpRoute, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  request.trace.via = 'mcp';
  refuseForeignOrigin(request, route.allowedOrigins);
  const { query: _, ...arrival } = readAskCall(request, reply);
  // Whoever asks too often is told so as an answer of the tool, which an agent understands.
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

/** What a message is: what it holds is for the protocol. */
interface Message {
  readonly method?: unknown;
}

/** @throws GatewayError 400 `invalid_body`; 413; 415 */
async function readMessage({ headers, body }: FastifyRequest, maxBodyBytes: number): Promise<Message> {
  requireJson(headers['content-type'], headers['content-encoding']);
  const bytes =
    body === undefined ? Buffer.alloc(0) : await readRequestBody(body as Readable, headers, maxBodyBytes);
  // Strictly, so that nobody reads a message otherwise: no list of messages, no member twice, no deep nesting.
  parseJsonBody(bytes, BODY_LIMITS);
  return bytes.length === 0 ? {} : (JSON.parse(bytes.toString()) as Message);
}

/** What the protocol looks at of the head; never the key. */
function webRequest({ headers }: FastifyRequest): Request {
  const told = Object.entries(headers).filter(
    ([name]) => name === 'accept' || name === 'content-type' || name.startsWith('mcp-'),
  );
  return new Request(`http://gateway${MCP_PATH}`, {
    method: 'POST',
    headers: told.map(([name, value]): [string, string] => [name, String(value)]),
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
  { additionalProperties: true, title: 'McpMessage', description: 'One JSON-RPC message; no lists of them.' },
);

const OPERATION: Operation = {
  id: 'postMcp',
  body: { 'application/json': MESSAGE },
  answers: {
    200: json(MESSAGE, 'The answer to a request. Errors of tools are results with isError.', [
      'cache-control',
    ]),
    202: { description: 'A notification was taken.', headers: ['cache-control'] },
    '4XX': json(
      MESSAGE,
      'What the protocol refuses: an unknown revision, headers that disagree with the message.',
      ['cache-control'],
    ),
  },
  problems: [
    ...(['scope_missing', 'origin_forbidden', 'rate_limited', 'invalid_body'] as const),
    ...(['body_too_large', 'unsupported_media_type'] as const),
  ],
};
