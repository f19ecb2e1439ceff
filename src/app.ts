/** The planes: which server has which routes. Built here, never listening; `serve.ts` gives them ports. */
import cors from '@fastify/cors';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { registerAudit } from './admin/audit.js';
import { registerCache } from './admin/cache.js';
import { registerClock } from './admin/clock.js';
import { registerKeys } from './admin/keys.js';
import { registerAdminPlane } from './admin/plane.js';
import { registerStatus } from './admin/status.js';
import { registerTeams } from './admin/teams.js';
import { registerToken } from './admin/token.js';
import type { Secret } from './config/secret.js';
import { showToken } from './credential/vault.js';
import { widerPath } from './http/path-gate.js';
import { createServer } from './http/server.js';
import { registerDocs } from './routes/docs.js';
import { type Readiness, registerHealth } from './routes/health.js';
import { registerMe } from './routes/me.js';
import { registerMetrics } from './routes/metrics.js';
import { registerPassThrough } from './routes/pass-through.js';
import { refuseOtherMethods } from './routes/refuse-methods.js';
import { registerReports } from './routes/reports.js';
import type { Services } from './services.js';
import { VERSION } from './version.js';

export interface AppOptions {
  readonly services: Services;
  readonly adminToken: Secret;
  /** True once a stop was asked for. */
  readonly stopping: () => boolean;
  /** The text of /metrics; of all workers where there are several. */
  readonly metricsText: () => Promise<string>;
}

export async function buildDataPlane({ services, stopping }: AppOptions): Promise<FastifyInstance> {
  const { config, gateway, identify, platform } = services;
  const app = newServer('data', services);
  if (config.server.corsOrigins.length > 0) {
    await app.register(cors, { origin: [...config.server.corsOrigins] });
    app.addHook('onSend', varyByOrigin);
  }
  await registerDocs(app, {
    title: 'dsp-gateway',
    description: 'Reports of the advertising platform: fast, uniform, honest about freshness.',
    version: VERSION,
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'Your team key.' },
      apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'Your team key.' },
    },
  });
  registerHealth(app, () => readiness(services, stopping()));
  registerMe(app, { identify, credential: () => showCredential(services) });
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
    platform,
    rules: { routes: config.routes, accountPattern: services.accountPattern },
    maxBodyBytes: config.server.maxBodyBytes,
    timeoutMs: config.platform.timeoutMs,
  });
  for (const url of ['/healthz', '/readyz', '/gateway/v1/me', '/openapi.json'])
    refuseOtherMethods(app, url, ['GET', 'HEAD']);
  return app;
}

export async function buildAdminPlane({
  services,
  adminToken,
  stopping,
  metricsText,
}: AppOptions): Promise<FastifyInstance> {
  const { config } = services;
  const app = newServer('admin', services);
  await registerDocs(app, {
    title: 'dsp-gateway admin',
    description: 'Teams, keys, the platform token and the cache. Not for the open network.',
    version: VERSION,
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'An admin token.' } },
  });
  registerHealth(app, () => readiness(services, stopping()));
  if (!config.server.metricsAuth) registerMetrics(app, metricsText);
  await registerAdminPlane(app, adminToken, (scope) => {
    if (config.server.metricsAuth) registerMetrics(scope, metricsText);
    registerStatus(scope, services, () => readiness(services, stopping()));
    registerTeams(scope, services);
    registerKeys(scope, services);
    registerToken(scope, services);
    registerCache(scope, services);
    if (services.sharedClock !== null) registerClock(scope, services.clock, services.sharedClock);
    registerAudit(scope, services.store.registry);
  });
  return app;
}

/** `/metrics` and health alone, for scraping without opening the admin plane. */
export async function buildMetricsPlane({
  services,
  stopping,
  metricsText,
}: AppOptions): Promise<FastifyInstance> {
  const app = newServer('metrics', services);
  registerHealth(app, () => readiness(services, stopping()));
  registerMetrics(app, metricsText);
  return app;
}

/** Answers say themselves what they vary by, in place of what the CORS plugin said. */
async function varyByOrigin(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const vary = String(reply.getHeader('vary') ?? '');
  if (!/\borigin\b/i.test(vary)) reply.header('vary', vary === '' ? 'origin' : `${vary}, origin`);
}

function newServer(plane: 'data' | 'admin' | 'metrics', { config, log, metrics }: Services): FastifyInstance {
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
    problems: { invalidBodyStatus: plane === 'data' ? 400 : 422 },
    maxHeaderBytes: server.maxHeaderBytes,
    maxBodyBytes: server.maxBodyBytes,
    requestTimeoutMs: server.requestTimeoutSeconds * 1000,
    trustedProxies: server.trustedProxies,
    onDone: (request: FastifyRequest, status, durationMs) => {
      const { outcome, team } = request.trace;
      metrics.request(plane, status, outcome ?? 'none', team, durationMs);
    },
  });
}

/** Ready while requests can be answered at all: not while stopping, nor without teams or any token. */
function readiness(services: Services, stopping: boolean): Readiness {
  const { store, registry, keeper, config, pause } = services;
  const health = store.health();
  const registryUsable = registry.staleForMs() <= config.auth.maxStaleSeconds * 1000;
  const credential = showCredential(services).state;
  return {
    ready: !stopping && registryUsable && keeper.vault().active !== null,
    store: health.ok ? 'ok' : (health.reason ?? 'away'),
    credential,
    platform: pause.leftMs() > 0 ? `paused for ${Math.ceil(pause.leftMs() / 1000)} s` : 'ok',
  };
}

function showCredential({ keeper, healer, clock }: Services): { state: string; expiresAt: string | null } {
  const active = keeper.vault().active;
  if (active === null) return { state: 'missing', expiresAt: null };
  const expired = Date.parse(active.expiresAt) <= clock.now();
  const state = expired ? 'expired' : healer.refusedNow ? 'refused' : 'ok';
  return { state, expiresAt: showToken(active)?.expiresAt ?? null };
}
