/** The end of every request, the same for all planes and for requests that no router has seen. */
import { pipeline, type Readable, Transform } from 'node:stream';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { wallMs } from '../../lib/time.js';
import type { RateStanding } from '../../teams/limits/limits.js';
import type { Log } from '../../telemetry/logger.js';
import type { EndedStage, Trace } from '../../telemetry/trace.js';

// One log line per request; on `debug` a second one, with its stages.

/** The members of a request that its log line and its metrics need; one that the path gate refused has no more. */
export type Accounted = Pick<FastifyRequest, 'id' | 'method' | 'originalUrl' | 'trace' | 'raw'> & {
  readonly routeOptions?: { readonly url?: string | undefined };
};

export const LOGGED_PATH_CHARS = 256;

/**
 * @param complete false when the connection ended before the answer did
 * @param traceId under which its spans were recorded; null where they were not
 */
export function logRequest(
  log: Pick<Log, 'logger' | 'write' | 'clean'>,
  plane: string,
  request: Accounted,
  status: number,
  durationMs: number,
  complete: boolean,
  traceId: string | null = null,
): void {
  const { logger } = log;
  const { trace } = request;
  const ms = Math.round(durationMs * 10) / 10;
  if (isPlain(trace) && complete && status < 500 && traceId === null) {
    if (logger.isLevelEnabled('info')) log.write(plainLine(log, plane, request, status, ms));
  } else {
    const line = {
      reqId: request.id,
      plane,
      method: request.method,
      path: loggedPath(request),
      status,
      ms,
      team: trace.team,
      key: trace.key,
      ...(trace.person === null ? {} : { person: trace.person }),
      outcome: trace.outcome,
      ...(trace.via === null ? {} : { via: trace.via }),
      platformCalls: trace.platformCalls,
      platformMs: Math.round(trace.platformMs),
      rows: trace.rows,
      ...(complete ? {} : { complete }),
      ...(traceId === null ? {} : { traceId }),
      ...(trace.code === null ? {} : { code: trace.code }),
      ...(trace.meant.length === 0 ? {} : { meant: trace.meant }),
      ...(trace.cause === undefined ? {} : { cause: describe(trace.cause) }),
    };
    if (status >= 500) logger.warn(line, 'request');
    else logger.info(line, 'request');
  }
  if (trace.stages.length > 0 && logger.isLevelEnabled('debug'))
    logger.debug({ reqId: request.id, stages: trace.stages }, 'stages of the request');
}

let lastMs = Number.NaN;
let lastStart = '';
let lastMiddle = { plane: '', method: '', path: '', status: 0, text: '' };
/** Team and key as in a line, by key. */
const callers = new Map<string, string>();
const MAX_CALLERS = 1000;

/** Whether the line of a request has the usual members alone. */
function isPlain({ outcome, key, person, via, code, cause, meant }: Trace): boolean {
  const hasMore = person !== null || via !== null || code !== null || cause !== undefined || meant.length > 0;
  return outcome !== null && key !== null && !hasMore;
}

/** The line of most requests, composed of few prepared parts: pino copies each object. Only the path was chosen by the caller. */
function plainLine(
  log: Pick<Log, 'clean'>,
  plane: string,
  { id, method, trace, originalUrl }: Accounted,
  status: number,
  ms: number,
): string {
  const nowMs = wallMs();
  // Successive lines are often of one millisecond.
  if (nowMs !== lastMs)
    [lastMs, lastStart] = [
      nowMs,
      `{"level":"info","time":"${new Date(nowMs).toISOString()}","pid":${process.pid},"reqId":"`,
    ];
  const path = log.clean(loggedPath({ trace, originalUrl }));
  const last = lastMiddle;
  // Successive lines are often of one endpoint.
  if (last.path !== path || last.status !== status || last.method !== method || last.plane !== plane) {
    const text = `","plane":"${plane}","method":"${method}","path":"${path}","status":${status},"ms":`;
    lastMiddle = { plane, method, path, status, text };
  }
  const { outcome, platformCalls, platformMs, rows } = trace;
  const calls = `"platformCalls":${platformCalls},"platformMs":${Math.round(platformMs)},"rows":${rows}`;
  return `${lastStart}${id}${lastMiddle.text}${ms}${callerOf(trace)}"outcome":"${outcome}",${calls},"msg":"request"}`;
}

function callerOf({ team, key }: Trace): string {
  const known = callers.get(key as string);
  if (known !== undefined) return known;
  const caller = `,"team":"${team}","key":"${key}",`;
  if (callers.size >= MAX_CALLERS) callers.clear();
  callers.set(key as string, caller);
  return caller;
}

/** The path without its query, cut to what a line needs. */
function loggedPath({ trace, originalUrl }: Pick<Accounted, 'trace' | 'originalUrl'>): string {
  return (trace.subject ?? (originalUrl.split('?', 1)[0] as string)).slice(0, LOGGED_PATH_CHARS);
}

/** The logged path, for output other than the log. */
export const shownPath = (request: Accounted, clean: Log['clean']) => cleanText(loggedPath(request), clean);

/** Text of a caller without secrets, for output other than the log. */
export const cleanText = (text: string, clean: Log['clean']) => JSON.parse(`"${clean(text)}"`) as string;

function describe(cause: unknown): unknown {
  return cause instanceof Error ? { type: cause.name, message: cause.message, stack: cause.stack } : cause;
}

export interface Finish {
  /** Headers that depend on what is known of the request at its end. */
  headersOf(trace: Trace): Readonly<Record<string, string>>;
  /** Called once for each answer. @returns what a refusal waits for; null: it does not wait */
  delay(trace: Trace, address: string): Promise<void> | null;
  /** Log, metrics, usage, tail and spans. @param complete false when the connection ended before the answer did */
  done(request: Accounted, status: number, durationMs: number, complete: boolean): void;
}

/** @param measures whether the bytes of answers are counted */
export function finishAnswers(app: FastifyInstance, finish: Finish, measures: boolean): void {
  app.addHook('onSend', (request, reply, payload: unknown, done) => {
    const { trace } = request;
    const isBodiless = request.method === 'HEAD' || reply.statusCode === 204 || reply.statusCode === 304;
    const sent = measures && !isBodiless ? measure(payload, trace) : payload;
    const delay = finish.delay(trace, request.ip);
    reply.headers(finish.headersOf(trace));
    if (delay === null) return done(null, sent);
    delay.then(
      () => done(null, sent),
      (error: Error) => done(error),
    );
  });
}

/** Counts the sent bytes of a body: compressed, without headers. */
function measure(payload: unknown, trace: Trace): unknown {
  if (payload === null || payload === undefined) return payload;
  if (typeof payload === 'string') trace.bytesOut = Buffer.byteLength(payload);
  else if (payload instanceof Uint8Array) trace.bytesOut = payload.length;
  else if (typeof (payload as Partial<Readable>).pipe === 'function')
    return measured(payload as Readable, trace);
  return payload;
}

/** An aborted body counts up to the last sent byte. */
export function measured(stream: Readable, trace: Trace): Transform {
  const meter = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      trace.bytesOut += chunk.length;
      next(null, chunk);
    },
  });
  // Who reads the meter sees its failure.
  return pipeline(stream, meter, () => {});
}

/** `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10), and `gateway-budget`. */
export function rateLimitHeaders(
  { limit, left, resetS }: RateStanding,
  budget?: string,
): Record<string, string> {
  const headers: Record<string, string> = {
    'ratelimit-policy': `"team";q=${limit};w=60`,
    ratelimit: `"team";r=${left};t=${resetS}`,
  };
  if (budget !== undefined) headers['gateway-budget'] = budget;
  return headers;
}

/** @returns `server-timing`: the time of each stage, all its turns together, in the order of the first */
export function serverTiming(
  { stages }: { readonly stages: readonly EndedStage[] },
  totalMs: number,
): string {
  const took = new Map<string, number>();
  let beforeMs = 0;
  for (const { stage, endedMs } of stages) {
    took.set(stage, (took.get(stage) ?? 0) + endedMs - beforeMs);
    beforeMs = endedMs;
  }
  return [...took, ['total', totalMs] as const]
    .map(([name, ms]) => `${name};dur=${ms.toFixed(2)}`)
    .join(', ');
}

/** Refusals of wrong keys, which are held back. */
export const GUESSES: readonly (string | null)[] = [
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'invalid_admin_token',
  'invalid_session',
];
