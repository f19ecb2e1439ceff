/** The data plane: what teams ask. */
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/load.js';
import type { RouteRule } from '../config/schema.js';
import { registerCors } from '../http/cors.js';
import { registerRateLimitHeaders } from '../http/rate-limit-headers.js';
import { slowRefusals } from '../http/slow-refusals.js';
import type { Plane } from '../openapi/plane.js';
import { createAnswerBuffers } from '../pass-through/answer-buffers.js';
import { describeDeclared, PASSED_TAG } from '../pass-through/describe.js';
import { createOutlet } from '../pass-through/outlet.js';
import type { PatienceRules } from '../pass-through/read-patience.js';
import { METHODS, registerPassThrough } from '../pass-through/route.js';
import { registerDocs } from '../routes/docs.js';
import { registerHealth } from '../routes/health.js';
import { registerMe } from '../routes/me.js';
import { refuseOtherMethods } from '../routes/refuse-methods.js';
import { REPORT_PREFIX, registerReports } from '../routes/reports.js';
import { registerStartPage } from '../routes/start-page.js';
import type { Services } from '../services.js';
import { measureAnswers } from '../usage/measure-answers.js';
import { VERSION } from '../version.js';
import { createPlaneServer, type PlaneOptions, readiness } from './plane.js';

export async function buildDataPlane(options: PlaneOptions): Promise<FastifyInstance> {
  const { services } = options;
  const { config, identify } = services;
  const app = createPlaneServer('data', services);
  measureAnswers(app);
  slowRefusals(app, services.slowFailures);
  await registerCors(app, config.server.corsOrigins);
  await registerDocs(app, {
    title: 'dsp-gateway',
    description:
      'Reports of the advertising platform: fast, uniform, honest about freshness. Any other report is asked for as those below are, and any other call below /api/v1/ is passed through to the platform.',
    version: VERSION,
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'Your team key.' },
      apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'Your team key.' },
    },
    plane: describePlane(config.routes),
  });
  registerStartPage(app);
  registerHealth(app, () => readiness(options));
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
  registerReportRoutes(app, services);
  registerPassThroughRoutes(app, services);
  for (const url of ['/', '/healthz', '/readyz', '/gateway/v1/me', '/openapi.json'])
    refuseOtherMethods(app, url, ['GET', 'HEAD']);
  refuseOtherMethods(app, '/api/v1/*', METHODS);
  refuseWritesOfReports(app, config.routes);
  return app;
}

/** A report is read; only what an operator declares is passed through below it. */
function refuseWritesOfReports(app: FastifyInstance, routes: readonly RouteRule[]): void {
  const declared = routes.filter(({ path }) => path.startsWith(REPORT_PREFIX)).map(({ method }) => method);
  const passed = METHODS.filter((method) => method === 'POST' || declared.some((one) => one === method));
  refuseOtherMethods(app, `${REPORT_PREFIX}*`, [...new Set(['GET', 'HEAD', ...passed])]);
}

function registerReportRoutes(app: FastifyInstance, { config, gateway, pipeline }: Services): void {
  const readByPost = Object.entries(config.report.endpoints)
    .filter(([, rule]) => rule.readByPost)
    .map(([path]) => path);
  registerReports(app, {
    report: gateway.report,
    endpoints: Object.keys(config.report.endpoints),
    readByPost,
    table: pipeline.canonical.table,
    maxBodyBytes: config.server.maxBodyBytes,
    outlet: () => createOutlet(patienceOf(config), 0),
  });
}

/** How long a caller may take to read, and the platform to go on. */
function patienceOf({ platform, server }: Config): PatienceRules {
  return {
    silenceMs: platform.timeoutMs,
    minBytesPerSecond: server.minReadBytesPerSecond,
    overMs: server.minReadOverSeconds * 1000,
  };
}

function registerPassThroughRoutes(app: FastifyInstance, services: Services): void {
  const { config, identify, platform, idempotency } = services;
  registerPassThrough(app, {
    identify,
    limits: services.limits.teams,
    platform,
    platformOrigin: new URL(config.platform.baseUrl).origin,
    idempotency,
    rules: {
      routes: config.routes,
      accountPattern: services.policy.accountPattern,
      nonAccounts: services.policy.nonAccounts,
    },
    maxBodyBytes: config.server.maxBodyBytes,
    timeoutMs: config.platform.timeoutMs,
    places: services.streamPlaces,
    answers: {
      ...patienceOf(config),
      buffers: createAnswerBuffers(config.platform.answerBufferBytes),
    },
  });
}

function describePlane(routes: readonly RouteRule[]): Plane {
  return {
    admin: false,
    tags: {
      reports: 'Cached, and the same for all teams that may see them.',
      [PASSED_TAG]: "Never cached; the answer is the platform's own.",
      gateway: 'What the gateway tells of itself.',
      health: 'For load balancers and probes.',
      interface: 'This description.',
    },
    callers: () => CALLER_PROBLEMS,
    callerHeaders: ['ratelimit', 'ratelimit-policy'],
    further: routes.map(describeDeclared),
  };
}

/** Of whoever shows a key, or none. */
const CALLER_PROBLEMS = [
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'team_disabled',
  'ip_forbidden',
  'not_ready',
] as const;
