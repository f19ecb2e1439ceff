/** One log line per request; on `debug` a second one, with its stages. */
import type { FastifyRequest } from 'fastify';
import { wallMs } from '../../lib/time.js';
import type { Log } from '../../telemetry/logger.js';

/** The members of a request that its log line and its metrics need; one that the path gate refused has no more. */
export type Accounted = Pick<FastifyRequest, 'id' | 'method' | 'originalUrl' | 'trace' | 'raw'> & {
  readonly routeOptions?: { readonly url?: string | undefined };
};

/** As nginx has it: the caller closed the connection before there was an answer. */
export const GONE = 499;

const LOGGED_PATH_CHARS = 256;

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
  if (
    trace.outcome === 'hit' &&
    complete &&
    trace.meant.length === 0 &&
    trace.via === null &&
    traceId === null
  ) {
    if (logger.isLevelEnabled('info')) log.write(hitLine(log, plane, request, status, ms));
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

/** The same line, composed of prepared parts: hits are most of all lines. Only its path was chosen by the caller. */
function hitLine(
  log: Pick<Log, 'clean'>,
  plane: string,
  request: Accounted,
  status: number,
  ms: number,
): string {
  const { team, key, platformCalls, platformMs, rows } = request.trace;
  const nowMs = wallMs();
  // Many lines are of one millisecond.
  if (nowMs !== lastMs)
    [lastMs, lastStart] = [
      nowMs,
      `{"level":"info","time":"${new Date(nowMs).toISOString()}","pid":${process.pid},"reqId":"`,
    ];
  return `${lastStart}${request.id}","plane":"${plane}","method":"${request.method}","path":"${log.clean(loggedPath(request))}","status":${status},"ms":${ms},"team":"${team}","key":"${key}","outcome":"hit","platformCalls":${platformCalls},"platformMs":${Math.round(platformMs)},"rows":${rows},"msg":"request"}`;
}

/** The path without its query, cut to what a line needs. */
export function loggedPath({ trace, originalUrl }: Pick<Accounted, 'trace' | 'originalUrl'>): string {
  return (trace.subject ?? (originalUrl.split('?', 1)[0] as string)).slice(0, LOGGED_PATH_CHARS);
}

function describe(cause: unknown): unknown {
  return cause instanceof Error ? { type: cause.name, message: cause.message, stack: cause.stack } : cause;
}
