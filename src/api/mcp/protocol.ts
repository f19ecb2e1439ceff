/**
 * The protocol, by its own library. Loaded with the first call, because it costs time and memory. Stateless: each message
 * has a server of its own.
 */
import {
  createMcpHandler,
  isLegacyRequest,
  isSpecType,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  specTypeSchemas,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { VERSION } from '../../lib/package-root.js';
import type { ToolResult } from './call-tool.js';
import { INSTRUCTIONS, isToolName, TOOLS, type ToolName } from './tools.js';

/** Supported revisions with a handshake by `initialize`. */
const WITH_HANDSHAKE = ['2025-11-25'];

/** Runs one tool. Never rejects. */
export type RunTool = (name: ToolName, given: unknown) => Promise<ToolResult>;

/** @param message the parsed body of the request */
export async function answerMessage(request: Request, message: unknown, run: RunTool): Promise<Response> {
  const fault = await faultOf(message);
  if (fault !== null) return fault;
  // The arguments as received: the library drops members it considers harmful, but unknown ones must be refused.
  const { params } = message as { readonly params?: { readonly arguments?: unknown } };
  const runAsWritten: RunTool = (name, given) => run(name, params?.arguments ?? given);
  if (await isLegacyRequest(request, message)) return answerWithHandshake(request, message, runAsWritten);
  const handler = createMcpHandler(() => serverOf(runAsWritten), { legacy: 'reject', keepAliveMs: 0 });
  return handler.fetch(request, { parsedBody: message });
}

/** For wrong parameters of these methods the library answers with an internal error (-32603). */
const CHECKED = new Map<unknown, 'InitializeRequest' | 'ListToolsRequest'>([
  ['initialize', 'InitializeRequest'],
  ['tools/list', 'ListToolsRequest'],
]);

/** @returns -32602 for wrong parameters of such a method; null for valid ones, and for messages that are no request */
async function faultOf(message: unknown): Promise<Response | null> {
  if (!isSpecType.JSONRPCRequest(message)) return null;
  const { id, method } = message;
  const form = CHECKED.get(method);
  if (form === undefined) return null;
  const { issues } = await specTypeSchemas[form]['~standard'].validate(message);
  if (issues === undefined) return null;
  const faults = issues.map(({ path = [], message: fault }) => `${path.map(String).join('.')}: ${fault}`);
  const error = {
    code: ProtocolErrorCode.InvalidParams,
    message: `Invalid ${method} request: ${faults.slice(0, 5).join('; ')}`,
  };
  return Response.json({ jsonrpc: '2.0', id, error });
}

async function answerWithHandshake(request: Request, message: unknown, run: RunTool): Promise<Response> {
  const server = serverOf(run, WITH_HANDSHAKE);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: message });
  } finally {
    await server.close();
  }
}

function serverOf(run: RunTool, supportedProtocolVersions?: string[]): Server {
  const server = new Server(
    { name: 'dsp-gateway', version: VERSION },
    {
      capabilities: { tools: {} },
      instructions: INSTRUCTIONS,
      ...(supportedProtocolVersions === undefined ? {} : { supportedProtocolVersions }),
    },
  );
  server.setRequestHandler('tools/list', () => ({ tools: [...TOOLS] }));
  server.setRequestHandler('tools/call', ({ params }) => {
    if (isToolName(params.name)) return run(params.name, params.arguments);
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Unknown tool; the tools are ${TOOLS.map(({ name }) => name).join(', ')}`,
    );
  });
  return server;
}
