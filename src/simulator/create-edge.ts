import { once, setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { sleep } from '../lib/time.js';
import { type Answer, htmlAnswer } from './answer.js';
import { answerCall } from './answer-call.js';
import type { Calls } from './calls.js';
import type { ControlCall } from './control.js';
import type { Faults } from './faults.js';
import { parseForm } from './php-input.js';
import type { Platform } from './platform.js';
import { playFault, type Stage } from './play-fault.js';
import { plainPath, readBody, readCall, splitTarget } from './read-request.js';
import { send, toWire } from './send-answer.js';

interface EdgeOptions {
  readonly platform: Platform;
  readonly calls: Calls;
  readonly faults: Faults;
  /** '' or a prefix such as `/dsp`. */
  readonly basePath: string;
  readonly answerControl: (call: ControlCall) => Answer;
}

// Responses of the web server.
const NOT_FOUND = htmlAnswer(404, '404 Not Found');
const TOO_LARGE = htmlAnswer(413, '413 Request Entity Too Large');
const CONTROL_PATH = /^\/_sim(\/|$)/;
/** As nginx; longer than clients keep idle connections, so that reuse does not race with the server's close. */
const KEEP_ALIVE_MS = 75_000;

/** The platform's HTTP server. */
export function createEdge(options: EdgeOptions) {
  const closing = new AbortController();
  setMaxListeners(0, closing.signal);
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    handle(options, closing.signal, request, response).catch((error: unknown) => {
      const isGone = closing.signal.aborted || request.socket.destroyed;
      if (!isGone) reportDefect(error, response);
    });
  });
  let url = '';
  return {
    /** With the base path; '' until it listens. */
    get url() {
      return url;
    },
    /** Rejects with the system's error. */
    async listen(host: string, port: number): Promise<void> {
      server.listen(port, host);
      await once(server, 'listening');
      url = `${originOf(server, host)}${options.basePath}`;
    },
    /** Ends pauses, connections and the listener. */
    close(): Promise<void> {
      closing.abort();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

function originOf(server: Server, host: string): string {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  return `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`;
}

/** Reports a defect of the simulator on standard error, with a 500 like the framework's. */
function reportDefect(error: unknown, response: ServerResponse): void {
  process.emitWarning(error instanceof Error ? error : String(error));
  if (response.headersSent) response.destroy();
  else response.writeHead(500, { 'content-type': 'application/json' }).end('{"message":"Server Error"}');
}

/** Answers a control; records any other call, then plays its fault or answers. */
async function handle(
  { platform, calls, faults, basePath, answerControl }: EdgeOptions,
  closing: AbortSignal,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = 'GET', url = '/', headers } = request;
  const { path: rawPath, query } = splitTarget(url);
  // Undefined: too large.
  const body = await readBody(request);
  const below = rawPath.startsWith(basePath) ? rawPath.slice(basePath.length) : '';
  // The path as sent, so that a smuggled control path is recorded as a platform call.
  if (CONTROL_PATH.test(below))
    return sendControl(answerControl({ method, path: below, query, body: body ?? '' }), response);
  const path = plainPath(rawPath, basePath);
  const call =
    path === undefined || body === undefined ? undefined : readCall(request, path, query, body, basePath);
  const noteStatus = calls.record({
    at: platform.now(),
    method,
    path: rawPath,
    url,
    query: query === '' ? {} : Object.fromEntries(parseForm(query)),
    headers,
    body: body ?? '',
  });
  const session = calls.total;
  // By the simulator's clock.
  response.sendDate = false;
  response.setHeader('date', new Date(platform.now()).toUTCString());
  const stage: Stage = {
    response,
    noteStatus,
    pause: (ms) => sleep(ms, { signal: closing }),
    toWire: (planned) => toWire(planned, { ...platform.switches, contentEncoding: 'none' }, '', session),
    trueAnswer() {
      const answer = call ? answerCall(platform, call) : body === undefined ? TOO_LARGE : NOT_FOUND;
      return toWire(answer, platform.switches, String(headers['accept-encoding'] ?? ''), session);
    },
  };
  const [from, to] = [call?.input.get('dateFrom'), call?.input.get('dateTo')];
  const fault = faults.take({ method, path: rawPath, from, to });
  if (fault) return playFault(fault, stage);
  const given = stage.trueAnswer();
  if (platform.switches.latencyMs > 0) await stage.pause(platform.switches.latencyMs);
  noteStatus(given.status);
  send(response, given);
}

function sendControl({ status, type, body }: Answer, response: ServerResponse): void {
  send(response, { status, headers: { 'content-type': type }, body: Buffer.from(body) });
}
