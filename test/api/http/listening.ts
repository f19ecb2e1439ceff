/** The HTTP server of both planes on a real socket, with routes of a test. */
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { onTestFinished } from 'vitest';
import { logRequest } from '../../../src/api/http/finish.js';
import { createServer, type ServerOptions } from '../../../src/api/http/server.js';
import { GatewayError } from '../../../src/errors.js';
import { createLog } from '../../../src/telemetry/logger.js';
import type { LogLine } from '../../support/start-gateway.js';

export interface Listening {
  readonly url: string;
  readonly server: FastifyInstance['server'];
  /** Bodies of `/stream`, which a test ends. */
  readonly streams: readonly PassThrough[];
  readonly log: readonly LogLine[];
  /** What the metrics would be told: method, status. */
  readonly done: readonly string[];
}

/** A server with the routes below. */
export async function listening(options: Partial<ServerOptions> = {}): Promise<Listening> {
  const lines: string[] = [];
  const done: string[] = [];
  const log = createLog({
    level: 'debug',
    stream: { write: (line) => void lines.push(line) },
    secrets: () => [],
  });
  const app = createServer({
    plane: 'data',
    logger: log.logger,
    gate: { maxUriBytes: 1000, wider: [] },
    problems: { invalidBodyStatus: 400 },
    maxHeaderBytes: 4096,
    maxBodyBytes: 100,
    requestTimeoutMs: 10_000,
    trustedProxies: [],
    onBroken: (status) => void done.push(`broken ${status}`),
    onDone(request, status, durationMs, complete) {
      logRequest(log, 'data', request, status, durationMs, complete);
      done.push(`${request.method} ${status}`);
    },
    ...options,
  });
  const streams: PassThrough[] = [];
  routes(app, streams);
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => {
    app.server.closeAllConnections();
    return app.close();
  });
  const { port } = app.server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    server: app.server,
    streams,
    get log() {
      return lines.map((line) => JSON.parse(line) as LogLine);
    },
    done,
  };
}

const BODY = {
  type: 'object',
  required: ['id'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', pattern: '^x' },
    kind: { enum: ['a', 'b'] },
    deep: { type: 'object', properties: { n: { type: 'integer' } } },
  },
};

function routes(app: FastifyInstance, streams: PassThrough[]): void {
  app.get('/ok', async (request) => ({ ip: request.ip, id: request.id }));
  app.post('/json', { schema: { body: BODY } }, async () => ({ ok: true }));
  app.get('/refused', async () => {
    throw new GatewayError('overloaded', {
      detail: 'for the caller',
      internal: 'for the log',
      retryAfterS: 3,
      headers: { 'x-more': '1' },
    });
  });
  app.get('/broken', async () => {
    throw new Error('a detail of the inside');
  });
  app.get('/stream', (_request, reply) => {
    const body = new PassThrough();
    streams.push(body);
    body.write('the first piece');
    return reply.send(body);
  });
}
