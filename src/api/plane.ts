/** What the planes have in common: their server, and whether they are ready. Nothing listens here; `serve/` does. */
import type { FastifyInstance } from 'fastify';
import type { Secret } from '../config/secret.js';
import { statusOf } from '../errors.js';
import type { Services } from '../services.js';
import { countRequest } from '../usage/count-request.js';
import type { Readiness } from './data/health.js';
import { widerPath } from './http/path-gate.js';
import { type AnswerAtOnce, createServer } from './http/server.js';
import { tailLine } from './tail-line.js';

export interface PlaneOptions {
  readonly services: Services;
  readonly adminToken: Secret;
  /** True once a stop was asked for. */
  readonly stopping: () => boolean;
  /** The text of /metrics; of all workers where there are several. */
  readonly metricsText: () => Promise<string>;
  /** Whether there is a process to send requests to; this one, where there are no workers. */
  readonly workersReady: () => boolean;
}

/**
 * A server with the rules of every plane, and no route.
 * @param answerAtOnce asked before the router; null for nobody
 */
export function createPlaneServer(
  plane: 'data' | 'admin' | 'metrics',
  { config, log, metrics, usage, series, tail, tracing }: Services,
  answerAtOnce: AnswerAtOnce | null = null,
): FastifyInstance {
  const { server, routes } = config;
  return createServer({
    plane,
    logger: log.logger,
    gate: {
      maxUriBytes: server.maxUriBytes,
      wider: routes
        .filter(({ pathChars }) => pathChars !== '')
        .map(({ path, pathChars }) => widerPath(path, pathChars)),
    },
    ...(answerAtOnce === null ? {} : { answerAtOnce }),
    ...(tracing === null || plane === 'metrics' ? {} : { tracing }),
    corsOrigins: plane === 'data' ? server.corsOrigins : [],
    problems: { invalidBodyStatus: statusOf('invalid_body', plane !== 'data') },
    maxHeaderBytes: server.maxHeaderBytes,
    maxBodyBytes: server.maxBodyBytes,
    requestTimeoutMs: server.requestTimeoutSeconds * 1000,
    trustedProxies: server.trustedProxies,
    onBroken: (status) => metrics.request(plane, status, 'error', null, 0),
    onDone: (request, status, durationMs) => {
      const { outcome, tier, code, team, subject } = request.trace;
      metrics.request(plane, status, outcome ?? 'none', team, durationMs);
      if (code !== null) metrics.problem(plane, code);
      if (outcome === 'hit' && tier !== null) metrics.hit(tier);
      if (plane !== 'data') return;
      // What is charged to a team has a subject: reports, what is passed through, calls about reports, tools. Probes and pages
      // have none, nor have me, series and session.
      if (subject !== null || outcome === 'error') series.add(request.trace, status, durationMs);
      if (tail.isOn && (team !== null || outcome === 'error'))
        tail.note(tailLine(request, status, durationMs, log.clean));
      if (team === null || subject === null) return;
      const counts = countRequest(Object.assign({ status }, request.trace));
      usage.add(team, counts);
      metrics.saved(team, counts.get('upstreamCallsSaved') ?? 0);
    },
  });
}

/**
 * Ready while requests can be answered at all: not while stopping, nor without teams or any token. A token that is
 * refused leaves what is cached to be served; as all replicas share it, none would be left to do so.
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
