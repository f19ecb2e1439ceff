/** Common parts of the planes: their server, and readiness. They listen in `server/`. */
import type { FastifyInstance } from 'fastify';
import type { Secret } from '../config/secret.js';
import { statusOf } from '../errors.js';
import { uptimeMs } from '../lib/time.js';
import { classify } from '../outcome.js';
import { writeQueryText } from '../reports/query/given-parameters.js';
import type { Services } from '../server/services.js';
import type { Log } from '../telemetry/logger.js';
import { type AskedReport, NO_SLOT } from '../telemetry/trace.js';
import type { Readiness } from './data/health.js';
import {
  type Accounted,
  cleanText,
  type Finish,
  finishAnswers,
  GUESSES,
  LOGGED_PATH_CHARS,
  logRequest,
  rateLimitHeaders,
  serverTiming,
  shownPath,
} from './http/finish.js';
import { widerPath } from './http/path-gate.js';
import { createServer, type ServerOptions } from './http/server.js';
import type { TailLine } from './tail/tail.js';

export interface PlaneOptions {
  readonly services: Services;
  readonly adminToken: Secret;
  /** True once the process is stopping. */
  readonly stopping: () => boolean;
  /** The text of /metrics, of all workers. */
  readonly metricsText: () => Promise<string>;
  /** Whether a process can take requests; this one, without workers. */
  readonly workersReady: () => boolean;
  /** Where the data plane listens, `http://host:port`; null: not known to this process. */
  readonly dataUrl: () => string | null;
}

type PlaneName = 'data' | 'admin' | 'metrics';

/** A server without routes. @param answerFirst see {@link ServerOptions.answerFirst} */
export function createPlaneServer(
  plane: PlaneName,
  { config, log, metrics, tracing }: Services,
  finish: Finish,
  answerFirst?: ServerOptions['answerFirst'],
): FastifyInstance {
  const { server, routes } = config;
  const app = createServer({
    plane,
    logger: log.logger,
    gate: {
      maxUriBytes: server.maxUriBytes,
      wider: routes
        .filter(({ pathChars }) => pathChars !== '')
        .map(({ path, pathChars }) => widerPath(path, pathChars)),
    },
    ...(answerFirst === undefined ? {} : { answerFirst }),
    ...(tracing === null || plane === 'metrics' ? {} : { tracing }),
    corsOrigins: plane === 'data' ? server.corsOrigins : [],
    problems: { invalidBodyStatus: statusOf('invalid_body', plane !== 'data') },
    maxHeaderBytes: server.maxHeaderBytes,
    maxBodyBytes: server.maxBodyBytes,
    requestTimeoutMs: server.requestTimeoutSeconds * 1000,
    trustedProxies: server.trustedProxies,
    onBroken: (status) => metrics.request(plane, status, 'error', null, 0),
    onDone: finish.done,
  });
  if (plane !== 'metrics') finishAnswers(app, finish, plane === 'data');
  return app;
}

const NO_HEADERS: Readonly<Record<string, string>> = {};

export function createFinish(plane: PlaneName, services: Services): Finish {
  const { config, log, metrics, tally, tail, failedRequests, directory, limits, budgets, slowFailures } =
    services;
  const { withoutSlot, refusedKeys } = services;
  const isData = plane === 'data';
  const tracing = plane === 'metrics' ? null : services.tracing;
  const isTimed = isData && config.server.serverTiming;
  return {
    headersOf(trace) {
      const team = isData && trace.team !== null ? directory.team(trace.team) : undefined;
      const headers =
        team === undefined ? NO_HEADERS : rateLimitHeaders(limits.teams.rate(team), budgets.header(team));
      if (!isTimed) return headers;
      return { ...headers, 'server-timing': serverTiming(trace, uptimeMs() - trace.startedMs) };
    },
    delay(trace, address) {
      if (trace.refusedKey !== null) refusedKeys.note(trace.refusedKey, address);
      return GUESSES.includes(trace.code) ? slowFailures.hold(address) : null;
    },
    done(request, status, durationMs, complete) {
      const traceId = tracing?.done(request, { plane, status, durationMs, complete }) ?? null;
      logRequest(log, plane, request, status, durationMs, complete, traceId);
      const { code, team } = request.trace;
      const counted = classify(request.trace, status, request.originalUrl);
      const { waitedMs } = request.trace;
      metrics.request(plane, status, counted.outcome ?? 'none', team, durationMs - waitedMs);
      if (code !== null) metrics.count('problems', { plane, code });
      if (counted.tier !== null) metrics.count('report_hits', { tier: counted.tier });
      if (!isData) return;
      const isFailed = code !== null && counted.isCounted;
      if (isFailed || (tail.isOn && (team !== null || code !== null))) {
        const line = tailLine(request, status, durationMs, services);
        if (tail.isOn) tail.note(line);
        if (isFailed) failedRequests.note(line);
      }
      if (request.trace.callFailure === NO_SLOT) withoutSlot.add(true);
      if (!counted.isCounted) return;
      tally.add(counted, durationMs - waitedMs);
      if (team !== null) metrics.count('platform_calls_saved', { team }, counted.saved);
    },
  };
}

const MAX_ID_CHARS = 64;

/** Endpoint and advertiser are whatever the caller sent. */
function shownReport(asked: AskedReport, clean: Log['clean']): NonNullable<TailLine['report']> {
  const { endpoint, account, from, to, split } = asked;
  const query = queryOf(asked);
  const advertiserId = account === null ? null : cleanText(account.slice(0, MAX_ID_CHARS), clean);
  const shown = cleanText(endpoint.slice(0, LOGGED_PATH_CHARS), clean);
  return {
    ...{ endpoint: shown, advertiserId, from, to, split },
    ...(query === null ? {} : { target: `/api/v1/report/${shown}?${cleanText(query, clean)}` }),
  };
}

const MAX_QUERY_CHARS = 1000;

/** Null if it would not be the whole request: a body, unknown parameters, or too long to keep. */
function queryOf({ method, members, passedOn, from, to }: AskedReport): string | null {
  if (method !== 'GET' || passedOn.length > 0) return null;
  const period = Object.entries({ dateFrom: from, dateTo: to }).flatMap(([name, value]) =>
    value === null ? [] : [{ name, value }],
  );
  const query = writeQueryText([...members.flatMap(({ pairs }) => pairs), ...period]);
  return query.length > MAX_QUERY_CHARS ? null : query;
}

/** The request's line in a tail. */
function tailLine(
  request: Accounted,
  status: number,
  durationMs: number,
  { log, recentCalls }: Pick<Services, 'log' | 'recentCalls'>,
): Omit<TailLine, 'at'> {
  const { outcome, code, via, platformCalls, rows, bytesOut, callFailure, asked, refusedKey } = request.trace;
  const { team, key } = refusedKey ?? request.trace;
  // No call was made, because earlier ones failed.
  const cause = code === 'upstream_circuit_open' ? recentCalls.last().why : callFailure;
  return {
    team,
    key,
    method: request.method,
    path: shownPath(request, log.clean),
    ...(asked === null ? {} : { report: shownReport(asked, log.clean) }),
    status,
    outcome,
    ...(code === null ? {} : { code }),
    ...(code === null || cause === null ? {} : { cause }),
    ...(via === null ? {} : { via }),
    platformCalls,
    ms: Math.round(durationMs * 10) / 10,
    rows,
    bytes: bytesOut,
    requestId: request.id,
  };
}

/**
 * Not ready while stopping, or without teams or any token. A rejected token does not count: the cache can still be served,
 * and all replicas share the token.
 */
export function readiness({ services, stopping, workersReady }: PlaneOptions): Readiness {
  const { registry, keeper, config, health } = services;
  const { store, credential, platform } = health.own();
  const registryUsable = registry.staleForMs() <= config.auth.maxStaleSeconds * 1000;
  return {
    ready: !stopping() && workersReady() && registryUsable && keeper.vault().active !== null,
    store,
    credential,
    platform,
    worst: health.worst(),
  };
}
