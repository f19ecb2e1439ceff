/** One log line per request, whatever came of it; on `debug` a second one, with the stages that it has been through. */
import type { FastifyRequest } from 'fastify';

/** What of a request its log line and its metrics need; one that the path gate refused has no more. */
export type Accounted = Pick<FastifyRequest, 'id' | 'method' | 'originalUrl' | 'trace' | 'log' | 'raw'> &
  Partial<Pick<FastifyRequest, 'routeOptions'>>;

/** As nginx has it: the caller was gone before there was an answer. */
export const GONE = 499;

const LOGGED_PATH_CHARS = 256;

/**
 * @param complete false when the connection ended before the answer did
 * @param traceId under which its spans were recorded; null where they were not
 */
export function logRequest(
  request: Accounted,
  status: number,
  durationMs: number,
  plane: string,
  complete: boolean,
  traceId: string | null = null,
): void {
  const { trace } = request;
  const line = {
    plane,
    method: request.method,
    path: loggedPath(request),
    status,
    ms: Math.round(durationMs * 10) / 10,
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
  if (status >= 500) request.log.warn(line, 'request');
  else request.log.info(line, 'request');
  if (trace.stages.length > 0) request.log.debug({ stages: trace.stages }, 'stages of the request');
}

/** What of a request's address is told: never its query, and no more than a line wants. */
export function loggedPath({ trace, originalUrl }: Pick<Accounted, 'trace' | 'originalUrl'>): string {
  return (trace.subject ?? (originalUrl.split('?', 1)[0] as string)).slice(0, LOGGED_PATH_CHARS);
}

function describe(cause: unknown): unknown {
  return cause instanceof Error ? { type: cause.name, message: cause.message, stack: cause.stack } : cause;
}
