/** The admin plane, for operators. */
import type { FastifyInstance } from 'fastify';
import type { ErrorCode } from '../errors.js';
import { VERSION } from '../lib/package-root.js';
import { createSessions } from '../teams/sessions/sessions.js';
import { registerAudit } from './admin/audit.js';
import { authenticateAdmin } from './admin/authenticate-admin.js';
import { createNoteBearer } from './admin/bearer.js';
import { registerCache } from './admin/cache.js';
import { registerClock } from './admin/clock.js';
import { registerDoctor } from './admin/doctor.js';
import { registerHistory } from './admin/history.js';
import { registerKeys } from './admin/keys.js';
import { registerLearned } from './admin/learned.js';
import { registerAdminPlane } from './admin/plane.js';
import { registerRegistry } from './admin/registry.js';
import { registerSession } from './admin/session.js';
import { registerSessions } from './admin/sessions.js';
import { registerStatus } from './admin/status.js';
import { registerStore } from './admin/store.js';
import { registerTail } from './admin/tail.js';
import { registerTeams } from './admin/teams.js';
import { registerToken } from './admin/token.js';
import { registerSeries, registerUsage } from './admin/usage.js';
import { registerWrites } from './admin/writes.js';
import { registerDocs } from './data/docs.js';
import { registerHealth } from './data/health.js';
import { registerWebPage } from './data/web-page.js';
import { registerMetrics } from './metrics.js';
import { BODY_PROBLEMS, type Operation } from './openapi/operation.js';
import type { Plane } from './openapi/plane.js';
import { createFinish, createPlaneServer, type PlaneOptions, readiness } from './plane.js';
import { registerSignIn } from './sign-in/routes.js';

export async function buildAdminPlane(options: PlaneOptions): Promise<FastifyInstance> {
  const { services, adminToken, metricsText } = options;
  const { config } = services;
  const app = createPlaneServer('admin', services, createFinish('admin', services));
  await registerDocs(app, {
    title: 'dsp-gateway admin',
    description:
      'Teams, keys, the platform token and the cache. Not for the open network. A request is authorized in one of two ways: with an admin token, or by the session of the console.',
    version: VERSION,
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'An admin token.' },
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: 'dgw_console',
        description: "The console's session, which a browser that has signed in there sends by itself.",
      },
    },
    plane: PLANE,
  });
  registerHealth(app, () => readiness(options));
  const metrics = { text: metricsText, hosts: config.server.metricsHosts };
  if (!config.server.metricsAuth) registerMetrics(app, metrics);
  registerWebPage(app, { name: 'console', url: '/' });
  const admins = [{ name: 'admin', role: 'owner', token: adminToken } as const, ...config.admins];
  const { store, clock, registry } = services;
  const maxStaleMs = config.auth.maxStaleSeconds * 1000;
  const sessions = createSessions('dgw_console', store, clock, maxStaleMs);
  const commandLine = createSessions('dgw_cli', store, clock, maxStaleMs);
  const { persons } = services;
  const auth = { admins, sessions, commandLine, persons, tokenSignIn: config.auth.tokenSignIn };
  registerSignIn(app, { plane: 'admin', sessions, services, commandLine });
  const routes = (scope: FastifyInstance) => {
    registerSession(scope, { auth, registry, clock });
    if (config.server.metricsAuth) registerMetrics(scope, { ...metrics, hosts: null });
    registerSessions(scope, services, auth);
    registerStatus(scope, services, { readiness: () => readiness(options), dataUrl: options.dataUrl });
    registerDoctor(scope, services, () => readiness(options));
    registerTeams(scope, services);
    registerKeys(scope, services);
    registerToken(scope, services);
    registerRegistry(scope, services);
    registerStore(scope, services);
    registerCache(scope, services);
    registerHistory(scope, services);
    registerWrites(scope, services);
    registerLearned(scope, services);
    if (services.sharedClock !== null) registerClock(scope, services.clock, services.sharedClock);
    registerUsage(scope, services.usage);
    registerSeries(scope, services);
    registerTail(scope, {
      ...services,
      stopping: options.stopping,
      checkAgain: (request) => authenticateAdmin(request, auth),
    });
    registerAudit(scope, services.store);
  };
  await registerAdminPlane(app, auth, routes, createNoteBearer(services));
  return app;
}

const PLANE: Plane = {
  admin: true,
  tags: {
    session: "The console's session, by cookie.",
    status: 'Health and metrics.',
    teams: 'Teams: scopes, advertisers, limits.',
    keys: 'Team keys.',
    token: "The platform's tokens, and their rotation.",
    registry: 'Backup and restore.',
    cache: 'Purge and explain.',
    history: 'Erase history, and accept empty days.',
    writes: 'Stop and resume writes, and settle those with an unknown outcome.',
    advertisers: 'Advertisers seen in platform answers.',
    learned: 'Learned data about reports.',
    usage: 'Usage of teams by day.',
    series: 'Counters over time, for charts.',
    audit: 'Who changed what.',
    test: 'Only with GATEWAY_TEST_CLOCK.',
    health: 'For load balancers and probes.',
    interface: 'This description.',
  },
  callers: callerProblems,
  callerHeaders: ['cache-control'],
  further: [],
};

/** Problems of authentication, and of calls that change something. */
function callerProblems(method: string, { role }: Operation): ErrorCode[] {
  return [
    'missing_admin_token',
    'invalid_admin_token',
    'invalid_session',
    'session_forbidden',
    'not_ready',
    ...(role === 'viewer' ? [] : (['forbidden'] as const)),
    ...(method === 'get' ? [] : BODY_PROBLEMS),
  ];
}
