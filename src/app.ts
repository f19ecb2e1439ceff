/** The planes: which server has which routes. Built here, never listening; `serve.ts` gives them ports. */
import type { FastifyInstance } from 'fastify';
import { registerAudit } from './admin/audit.js';
import { registerCache } from './admin/cache.js';
import { registerClock } from './admin/clock.js';
import { registerConsole } from './admin/console.js';
import { registerKeys } from './admin/keys.js';
import { registerAdminPlane } from './admin/plane.js';
import { registerRegistry } from './admin/registry.js';
import { createReseal } from './admin/reseal.js';
import { registerStatus } from './admin/status.js';
import { registerTeams } from './admin/teams.js';
import { registerToken } from './admin/token.js';
import { registerUsage } from './admin/usage.js';
import type { Secret } from './config/secret.js';
import { registerCors } from './http/cors.js';
import { widerPath } from './http/path-gate.js';
import { registerRateLimitHeaders } from './http/rate-limit-headers.js';
import { createServer } from './http/server.js';
import { slowRefusals } from './http/slow-refusals.js';
import { createAnswerBuffers } from './pass-through/answer-buffers.js';
import { METHODS, registerPassThrough } from './pass-through/route.js';
import { registerDocs } from './routes/docs.js';
import { type Readiness, registerHealth } from './routes/health.js';
import { registerMe } from './routes/me.js';
import { registerMetrics } from './routes/metrics.js';
import { refuseOtherMethods } from './routes/refuse-methods.js';
import { registerReports } from './routes/reports.js';
import type { Services } from './services.js';
import { countRequest } from './usage/count-request.js';
import { measureAnswers } from './usage/measure-answers.js';
import { VERSION } from './version.js';

export interface AppOptions {
  readonly services: Services;
  readonly adminToken: Secret;
  /** True once a stop was asked for. */
  readonly stopping: () => boolean;
  /** The text of /metrics; of all workers where there are several. */
  readonly metricsText: () => Promise<string>;
  /** Whether there is a process to send requests to; this one, where there are no workers. */
  readonly workersReady: () => boolean;
}

export async function buildDataPlane({
  services,
  stopping,
  workersReady,
}: AppOptions): Promise<FastifyInstance> {
  const { config, gateway, identify, platform, idempotency } = services;
  const app = newServer('data', services);
  measureAnswers(app);
  slowRefusals(app, services.slowFailures);
  await registerCors(app, config.server.corsOrigins);
  await registerDocs(app, {
    title: 'dsp-gateway',
    description: 'Reports of the advertising platform: fast, uniform, honest about freshness.',
    version: VERSION,
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'Your team key.' },
      apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'Your team key.' },
    },
    additions: { statuses: {}, passed: config.routes },
  });
  registerHealth(app, () => readiness(services, stopping() || !workersReady()));
  registerMe(app, {
    identify,
    limits: services.limits,
    usage: services.usage.recent,
    credential: services.outlook,
  });
  registerRateLimitHeaders(app, (id) => {
    const team = services.directory.team(id);
    return team === undefined ? null : services.limits.teams.rate(team);
  });
  await services.limits.replicas.join();
  const readByPost = Object.entries(config.report.endpoints)
    .filter(([, rule]) => rule.readByPost)
    .map(([path]) => path);
  registerReports(app, {
    report: gateway.report,
    endpoints: Object.keys(config.report.endpoints),
    readByPost,
    table: services.canonical.table,
    maxBodyBytes: config.server.maxBodyBytes,
  });
  registerPassThrough(app, {
    identify,
    limits: services.limits.teams,
    platform,
    platformOrigin: new URL(config.platform.baseUrl).origin,
    idempotency,
    rules: {
      routes: config.routes,
      accountPattern: services.accountPattern,
      nonAccounts: config.report.nonAccountParameters,
    },
    maxBodyBytes: config.server.maxBodyBytes,
    timeoutMs: config.platform.timeoutMs,
    places: services.streamPlaces,
    answers: {
      silenceMs: config.platform.timeoutMs,
      minBytesPerSecond: config.server.minReadBytesPerSecond,
      overMs: config.server.minReadOverSeconds * 1000,
      buffers: createAnswerBuffers(config.platform.answerBufferBytes),
    },
  });
  for (const url of ['/healthz', '/readyz', '/gateway/v1/me', '/openapi.json'])
    refuseOtherMethods(app, url, ['GET', 'HEAD']);
  refuseOtherMethods(app, '/api/v1/*', METHODS);
  return app;
}

export async function buildAdminPlane({
  services,
  adminToken,
  stopping,
  metricsText,
  workersReady,
}: AppOptions): Promise<FastifyInstance> {
  const { config } = services;
  const app = newServer('admin', services);
  await registerDocs(app, {
    title: 'dsp-gateway admin',
    description: 'Teams, keys, the platform token and the cache. Not for the open network.',
    version: VERSION,
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An admin token.' } },
    additions: { statuses: ADMIN_STATUSES, passed: [] },
  });
  registerHealth(app, () => readiness(services, stopping() || !workersReady()));
  slowRefusals(app, services.slowFailures);
  const metrics = { text: metricsText, hosts: config.server.metricsHosts };
  if (!config.server.metricsAuth) registerMetrics(app, metrics);
  registerConsole(app);
  const admins = [{ name: 'admin', role: 'owner', token: adminToken } as const, ...config.admins];
  await registerAdminPlane(app, admins, (scope) => {
    if (config.server.metricsAuth) registerMetrics(scope, { ...metrics, hosts: null });
    registerStatus(scope, services, () => readiness(services, stopping() || !workersReady()));
    registerTeams(scope, services);
    registerKeys(scope, services);
    registerToken(scope, {
      ...services,
      reseal: createReseal(services.registry, services.sealer, services.clock),
    });
    registerRegistry(scope, services);
    registerCache(scope, services);
    if (services.sharedClock !== null) registerClock(scope, services.clock, services.sharedClock);
    registerUsage(scope, services.usage);
    registerAudit(scope, services.store);
  });
  return app;
}

/** `/metrics` and health alone, for scraping without opening the admin plane. */
export async function buildMetricsPlane({
  services,
  stopping,
  metricsText,
  workersReady,
}: AppOptions): Promise<FastifyInstance> {
  const app = newServer('metrics', services);
  registerHealth(app, () => readiness(services, stopping() || !workersReady()));
  registerMetrics(app, { text: metricsText, hosts: services.config.server.metricsHosts });
  return app;
}

/** Successes of the admin plane that are not a 200. */
const ADMIN_STATUSES = {
  'POST /admin/v1/teams': 201,
  'DELETE /admin/v1/teams/{id}': 204,
  'POST /admin/v1/teams/{id}/keys': 201,
  'POST /admin/v1/keys/{id}/roll': 201,
  'DELETE /admin/v1/keys/{id}': 204,
} as const;

function newServer(
  plane: 'data' | 'admin' | 'metrics',
  { config, log, metrics, usage }: Services,
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
    corsOrigins: plane === 'data' ? server.corsOrigins : [],
    problems: { invalidBodyStatus: plane === 'data' ? 400 : 422 },
    maxHeaderBytes: server.maxHeaderBytes,
    maxBodyBytes: server.maxBodyBytes,
    requestTimeoutMs: server.requestTimeoutSeconds * 1000,
    trustedProxies: server.trustedProxies,
    onBroken: (status) => metrics.request(plane, status, 'error', null, 0),
    onDone: (request, status, durationMs) => {
      const { outcome, team, subject } = request.trace;
      metrics.request(plane, status, outcome ?? 'none', team, durationMs);
      // Only reports and what is passed through have a subject.
      if (plane === 'data' && team !== null && subject !== null)
        usage.add(team, countRequest({ ...request.trace, status }));
    },
  });
}

/**
 * Ready while requests can be answered at all: not while stopping, nor without teams or any token. A token that is
 * refused leaves what is cached to be served; as all replicas share it, none would be left to do so.
 */
function readiness(services: Services, unavailable: boolean): Readiness {
  const { registry, keeper, config, health } = services;
  const { store, credential, platform } = health.own();
  const registryUsable = registry.staleForMs() <= config.auth.maxStaleSeconds * 1000;
  return {
    ready: !unavailable && registryUsable && keeper.vault().active !== null,
    store,
    credential,
    platform,
    worst: health.worst(),
  };
}
