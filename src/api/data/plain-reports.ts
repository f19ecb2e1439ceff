/**
 * Reports by plain GET or HEAD: no body, one host, one key, at most one of each relevant header. They are answered before
 * Fastify's router, which with its hooks costs more than a hit; `reports.ts` has the route of all others.
 */
import { type IncomingMessage, type ServerResponse, validateHeaderValue } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline, Readable, type Transform } from 'node:stream';
import { asGatewayError } from '../../errors.js';
import { randomId } from '../../lib/chance.js';
import { uptimeMs } from '../../lib/time.js';
import { GONE } from '../../outcome.js';
import {
  HIT_BYTES,
  type ReplyHead,
  type ReportHandler,
  type ReportReply,
} from '../../reports/report-call.js';
import type { KeyHeaders } from '../../teams/auth/authenticate.js';
import { Trace } from '../../telemetry/trace.js';
import { type Finish, measured } from '../http/finish.js';
import { noteProblem, problemAnswer } from '../http/problem-reply.js';
import { endEmpty, headText, inTurns, sendAtOnce } from '../http/send.js';
import { REPORT_PREFIX } from './reports.js';

export interface PlainReportsOptions {
  readonly report: ReportHandler;
  readonly finish: Finish;
  /** Whether log, header or spans use the steps of a request. */
  readonly keepsSteps: boolean;
  /** The router's pattern of a path, for spans. */
  readonly routeOf: (path: string) => string;
  /** The caller's address, behind trusted proxies. */
  readonly addressOf: (request: IncomingMessage) => string;
  /** Headers of all answers: names and values alternate. */
  readonly headers: readonly string[];
  /** Appended to `vary`: `, origin` if CORS is on. */
  readonly alsoVary: string;
  /** Last stage of a large answer: aborts if the caller does not read. */
  readonly outlet: () => Transform;
  /** The same for a body sent in one piece. @returns to be called at the end of the answer */
  readonly watch: (socket: Socket) => () => void;
}

/** @returns whether the request is handled here; if not, it is untouched */
export function createPlainReports(options: PlainReportsOptions) {
  const { report, addressOf, keepsSteps } = options;

  return (raw: IncomingMessage, response: ServerResponse): boolean => {
    const plain = readPlainRequest(raw);
    if (plain === null || !plain.target.startsWith(REPORT_PREFIX)) return false;
    const { method, target } = plain;
    endEmpty(raw);
    const cut = target.indexOf('?');
    const path = cut < 0 ? target : target.slice(0, cut);
    const trace = new Trace(uptimeMs, keepsSteps);
    trace.subject = path;
    const exchange = new Exchange(options, randomId(), method, raw, response, trace);
    const address = addressOf(raw);
    try {
      const reply = report({
        id: exchange.id,
        method,
        target,
        endpoint: path.slice(REPORT_PREFIX.length),
        query: cut < 0 ? '' : target.slice(cut + 1),
        readBody: null,
        keys: plain.keys,
        address,
        accept: plain.accept,
        acceptEncoding: plain.acceptEncoding,
        cacheControl: undefined,
        ifNoneMatch: plain.ifNoneMatch,
        trace,
        onResponseClosed(leave) {
          if (response.destroyed) leave();
          else exchange.leave = leave;
        },
      });
      if (reply instanceof Promise) void exchange.sendLater(reply, address);
      else exchange.send(reply);
    } catch (error) {
      void exchange.refuse(error, address);
    }
    // A hit in memory has already ended.
    if (!exchange.isOver) {
      response.once('finish', () => exchange.end(true));
      response.once('close', () => exchange.end(false));
    }
    return true;
  };
}

class Exchange {
  isOver = false;
  /** Releases the request's place in its team's concurrency limit. */
  leave = () => {};

  constructor(
    readonly options: PlainReportsOptions,
    readonly id: string,
    readonly method: string,
    readonly raw: IncomingMessage,
    readonly response: ServerResponse,
    readonly trace: Trace,
  ) {}

  async sendLater(reply: Promise<ReportReply>, address: string): Promise<void> {
    try {
      this.send(await reply);
    } catch (error) {
      await this.refuse(error, address);
    }
  }

  send(reply: ReportReply): void {
    const { method, response, trace, options } = this;
    if (response.destroyed) return;
    const { status, body } = reply;
    const length = body === null || method === 'HEAD' ? 0 : lengthOf(body);
    const own = this.ownHead();
    reply.head ??= replyHead(reply, options);
    const shared = reply.head;
    if (body !== null && length > HIT_BYTES) {
      response.writeHead(status, own.concat(shared.list));
      const out = options.outlet();
      pipeline(Readable.from(inTurns(body)), out, () => {});
      pipeline(measured(out, trace), response, () => {});
      return;
    }
    trace.bytesOut = length;
    const whole =
      body === null || length === 0
        ? null
        : body.length === 1
          ? (body[0] as Buffer)
          : Buffer.concat(body, length);
    if (!sendAtOnce(response, status, headText(own), shared.text, whole)) {
      response.writeHead(status, own.concat(shared.list));
      response.end(whole);
    }
    if (response.writableLength > 0 && length > 0) response.once('close', options.watch(this.raw.socket));
    this.endIfTaken();
  }

  async refuse(thrown: unknown, address: string): Promise<void> {
    const { id, method, raw, response, trace, options } = this;
    if (response.headersSent) return void response.destroy();
    const error = asGatewayError(thrown);
    noteProblem(trace, error);
    await options.finish.delay(trace, address);
    if (response.destroyed) return;
    const { status, headers, body } = problemAnswer(error, id, raw);
    const head = [...this.ownHead(), ...options.headers, 'content-length', String(body.length)];
    for (const [name, value] of Object.entries(headers))
      head.push(name, name === 'vary' ? value + options.alsoVary : value);
    response.writeHead(status, head);
    if (method !== 'HEAD') trace.bytesOut = body.length;
    response.end(method === 'HEAD' ? undefined : body);
    this.endIfTaken();
  }

  ownHead(): string[] {
    const head = ['x-request-id', this.id];
    const headers = this.options.finish.headersOf(this.trace);
    for (const name in headers) head.push(name, headers[name] as string);
    return head;
  }

  /** Ends without waiting for an event if the socket has taken the whole answer. */
  endIfTaken(): void {
    if (this.response.writableLength === 0) this.end(!this.raw.socket.destroyed);
  }

  /** @param complete whether the whole answer was sent */
  end(complete: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    this.leave();
    const { id, method, raw, response, trace, options } = this;
    const status = response.headersSent ? response.statusCode : GONE;
    const request = { id, method, originalUrl: raw.url as string, raw, trace };
    const routed = options.keepsSteps
      ? { ...request, routeOptions: { url: options.routeOf(trace.subject ?? '') } }
      : request;
    options.finish.done(routed, status, uptimeMs() - trace.startedMs, complete);
  }
}

/** Composes the shared headers of a reply. */
function replyHead(
  { headers, body }: ReportReply,
  { headers: further, alsoVary }: PlainReportsOptions,
): ReplyHead {
  const list = [...further];
  for (const name in headers) {
    validateHeaderValue(name, headers[name] as string);
    list.push(name, headers[name] as string);
  }
  if (alsoVary !== '') list[list.indexOf('vary') + 1] += alsoVary;
  if (body !== null) list.push('content-length', String(lengthOf(body)));
  return { list, text: Buffer.from(`${headText(list)}\r\n`, 'latin1') };
}

function lengthOf(body: readonly Buffer[]): number {
  let length = 0;
  for (const piece of body) length += piece.length;
  return length;
}

interface PlainRequest {
  readonly method: 'GET' | 'HEAD';
  /** Path and query. */
  readonly target: string;
  readonly keys: KeyHeaders;
  readonly accept: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/** Requests with these headers go to the router. */
const NOT_PLAIN = new Set([
  'cache-control',
  'content-length',
  'expect',
  'http2-settings',
  'origin',
  'pragma',
  'range',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const NONE: readonly string[] = [];

const READ: ReadonlyMap<string, number> = new Map([
  ['host', 0],
  ['authorization', 1],
  ['x-api-key', 2],
  ['accept', 3],
  ['accept-encoding', 4],
  ['if-none-match', 5],
]);

function readPlainRequest({ method, url, httpVersion, rawHeaders }: IncomingMessage): PlainRequest | null {
  if ((method !== 'GET' && method !== 'HEAD') || httpVersion !== '1.1' || url === undefined) return null;
  const values: (string | undefined)[] = [undefined, undefined, undefined, undefined, undefined, undefined];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase();
    const place = READ.get(name);
    if (place !== undefined) {
      if (values[place] !== undefined) return null;
      values[place] = rawHeaders[at + 1] as string;
    } else if (NOT_PLAIN.has(name)) return null;
  }
  const [host, authorization, apiKey, accept, acceptEncoding, ifNoneMatch] = values;
  // Without a key the caller may have a session.
  if (host === undefined || (authorization === undefined && apiKey === undefined)) return null;
  const keys = {
    authorization: authorization === undefined ? NONE : [authorization],
    apiKey: apiKey === undefined ? NONE : [apiKey],
  };
  return { method, target: url, keys, accept, acceptEncoding, ifNoneMatch };
}
