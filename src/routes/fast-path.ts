/**
 * Answers a plain request for a report that is finished and at hand, before the router sees it. The path is the same,
 * `gateway.ts`; what is left out is what Fastify does around it. Everything else goes on untouched: nothing was charged
 * or noted of it.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../errors.js';
import { rateLimitHeaders } from '../http/rate-limit-headers.js';
import type { Hit, HitCall, ReportReply } from '../http/report-call.js';
import type { AnswerAtOnce } from '../http/server.js';
import { readSimpleRequest } from '../http/simple-request.js';
import type { RateStanding } from '../limits/team-limits.js';
import { REPORT_PREFIX } from './reports.js';

/** A request that was answered here, for log, metrics and usage. */
export interface FastAnswer {
  readonly id: string;
  readonly method: string;
  readonly durationMs: number;
  /** Bytes of its body. */
  readonly bytes: number;
  /** False when the connection ended before the answer did. */
  readonly complete: boolean;
  readonly hit: Hit;
}

export interface FastPathOptions {
  /** @param address of the caller, behind trusted proxies resolved. @throws GatewayError what the router's way would */
  readonly hit: (call: HitCall, address: string) => Hit | null;
  /** Null when there is no such team any more. */
  readonly rate: (team: string) => RateStanding | null;
  readonly addressOf: (request: IncomingMessage) => string;
  /** What answers vary by beside what they say themselves: `origin`, where pages of other origins may ask. */
  readonly alsoVary: string;
  /** Further headers of every answer: names and values. */
  readonly headers: readonly string[];
  /** Told of an answer that the caller's connection has not taken all of. */
  readonly onWaiting: (response: ServerResponse) => void;
  readonly onDone: (answer: FastAnswer) => void;
}

export function createFastPath(options: FastPathOptions): AnswerAtOnce {
  return (request, response) => {
    const startedMs = performance.now();
    if (request.url?.startsWith(REPORT_PREFIX) !== true) return false;
    const simple = readSimpleRequest(request);
    if (simple === null) return false;
    const hit = hitOf(options, simple, options.addressOf(request));
    if (hit === null) return false;
    const id = randomUUID();
    const bytes = send(response, simple.method, headOf(options, id, hit), hit.reply);
    const done = (complete: boolean) => {
      hit.leave();
      const durationMs = performance.now() - startedMs;
      options.onDone({ id, method: simple.method, durationMs, bytes, complete, hit });
    };
    // The system has taken all of it: what `finish` would tell in the next turn.
    if (response.writableLength === 0) done(!request.socket.destroyed);
    else {
      options.onWaiting(response);
      response.once('close', () => done(response.writableFinished));
    }
    return true;
  };
}

/** Whoever is refused anything is told so on the way on. */
function hitOf({ hit }: FastPathOptions, call: HitCall, address: string): Hit | null {
  try {
    return hit(call, address);
  } catch (error) {
    if (error instanceof GatewayError) return null;
    throw error;
  }
}

/** Header names and values, as `writeHead` takes them. */
function headOf({ headers: further, alsoVary, rate }: FastPathOptions, id: string, hit: Hit): string[] {
  const { headers, body } = hit.reply;
  const head = ['x-request-id', id, ...further];
  for (const name in headers) head.push(name, headers[name] as string);
  if (alsoVary !== '') head[head.indexOf('vary') + 1] += alsoVary;
  const standing = rate(hit.team);
  const limits = standing === null ? {} : rateLimitHeaders(standing);
  for (const name in limits) head.push(name, limits[name] as string);
  if (body !== null) head.push('content-length', String(lengthOf(body)));
  return head;
}

function lengthOf(body: readonly Buffer[]): number {
  let length = 0;
  for (const piece of body) length += piece.length;
  return length;
}

/** @returns bytes of the body that were sent */
function send(
  response: ServerResponse,
  method: 'GET' | 'HEAD',
  head: string[],
  { status, body }: ReportReply,
): number {
  response.writeHead(status, head);
  if (body === null || method === 'HEAD') {
    response.end();
    return 0;
  }
  const whole = body.length === 1 ? (body[0] as Buffer) : Buffer.concat(body);
  response.end(whole);
  return whole.length;
}
