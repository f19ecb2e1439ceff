/** The data plane, for teams. */
import type { FastifyInstance, HTTPMethods } from 'fastify';
import type { Config } from '../config/load.js';
import type { RouteRule } from '../config/schema.js';
import { VERSION } from '../lib/package-root.js';
import { namesIn } from '../reports/query/parameters.js';
import type { Services } from '../server/services.js';
import { createSessions } from '../teams/sessions/sessions.js';
import { teamAdvertisers } from './data/advertisers.js';
import { registerChanges } from './data/changes.js';
import { showDiff } from './data/diff.js';
import { registerDocs, registerStartPage } from './data/docs.js';
import { showExplanation } from './data/explain.js';
import { registerHealth } from './data/health.js';
import { registerLearnReport } from './data/learn-report.js';
import { showFinality, showTruth } from './data/learned.js';
import { createShowMe, showOwnSeries } from './data/me.js';
import { registerOwnKeys } from './data/own-keys.js';
import { registerPinReport } from './data/pin-report.js';
import { registerPins } from './data/pins.js';
import { createPlainReports } from './data/plain-reports.js';
import { REPORT_PREFIX, registerReports } from './data/reports.js';
import { showRevisions } from './data/revisions.js';
import { enter, sendReply, serveTeam } from './data/serve.js';
import { registerExplorerSession, takeSessions } from './data/session.js';
import { registerWatches } from './data/watches.js';
import { registerWebPage } from './data/web-page.js';
import { callerAddress, readKeyHeaders } from './http/caller.js';
import { corsWithoutOrigin } from './http/cors.js';
import type { Finish } from './http/finish.js';
import { wrongMethod } from './http/not-found.js';
import { createCursors } from './mcp/cursors.js';
import { registerMcp } from './mcp/route.js';
import { createSeenColumns } from './mcp/seen-columns.js';
import type { DescribedReports } from './mcp/tool-call.js';
import type { Plane } from './openapi/plane.js';
import {
  explainReport,
  getMe,
  getOwnAdvertisers,
  getOwnFinality,
  getOwnSeries,
  getOwnTruth,
} from './operations/own.js';
import { getDiff, getRevisions } from './operations/past.js';
import { createFinish, createPlaneServer, type PlaneOptions, readiness } from './plane.js';
import { createAnswerBuffers, createOutlet } from './proxy/clean-answer.js';
import { describeDeclared, PASSED_TAG } from './proxy/describe.js';
import { type PatienceRules, watchReader } from './proxy/read-patience.js';
import { METHODS, registerPassThrough } from './proxy/route.js';
import { registerSignIn } from './sign-in/routes.js';

/** `/mcp`: its tools use the same calls as HTTP. */
function registerAgents(app: FastifyInstance, services: Services): void {
  const { config, reporting, gateway, identify, store, clock, log, pepper } = services;
  const { report, server } = config;
  registerMcp(app, {
    admit: reporting.admit,
    identify: (request) => identify(readKeyHeaders(request.raw), request.trace),
    allowedOrigins: server.corsOrigins,
    maxBodyBytes: server.maxBodyBytes,
    bench: {
      reports: reporting.reports,
      feed: reporting.feed,
      nameOf: services.nameOf,
      identify,
      table: reporting.table,
      report: gateway.report,
      showMe: createShowMe(services),
      rules: {
        accountField: report.accountFields[0] as string,
        defaultEndpoint: Object.keys(report.endpoints)[0] ?? 'campaigns/get',
        maxUriBytes: server.maxUriBytes,
      },
      described: describedReports(config, [...reporting.canonical.table.kinds.keys()]),
      seenColumns: createSeenColumns(store.documents, log.logger),
      cursors: createCursors({ pepper, clock }),
      now: clock.now,
      caps: config.mcp,
    },
  });
}

function describedReports({ report }: Config, known: readonly string[]): DescribedReports {
  const { currentSeconds, restatingSeconds, finalSeconds } = report.freshness;
  const further = Object.values(report.endpoints).flatMap(({ knownParameters }) => namesIn(knownParameters));
  return {
    endpoints: Object.keys(report.endpoints),
    parameters: [...new Set([...known, ...further])],
    freshness: `Today is fetched again after ${currentSeconds} s, a day of the last ${report.restatementDays} days after ${restatingSeconds} s, and an older day, which counts as final, after ${finalSeconds} s.`,
  };
}

/**
 * 405 below a prefix, for methods without a route; `api/http/not-found.ts` does the same for single paths. Call it after the
 * routes are registered.
 * @param url ends in a wildcard
 */
function refuseOtherMethods(app: FastifyInstance, url: string, allowed: readonly HTTPMethods[]): void {
  app.route({
    url,
    method: app.supportedMethods.filter((method) => !allowed.includes(method)),
    schema: { hide: true },
    onRequest: async () => {
      throw wrongMethod(allowed);
    },
    handler: async () => undefined,
  });
}

export async function buildDataPlane(options: PlaneOptions): Promise<FastifyInstance> {
  const { services } = options;
  const { config } = services;
  const finish = createFinish('data', services);
  const app = createPlaneServer('data', services, finish, plainReports(services, finish));
  const sessions = createSessions('dgw_explorer', services.store, services.clock);
  takeSessions(app, sessions);
  await registerDocs(app, {
    title: 'dsp-gateway',
    description:
      'Cached reports of the advertising platform, with their freshness. Reports that are not listed here work in the same way. All other calls below /api/v1/ are passed through to the platform. A request is authorized in one of three ways: with your team key as x-api-key, with your team key as a bearer token, or by the session of the explorer.',
    version: VERSION,
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'Your team key, as a bearer token.' },
      apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'Your team key.' },
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: 'dgw_explorer',
        description:
          "The explorer's session, which a browser that has signed in there sends by itself; for GET and HEAD, and for all calls below /gateway/v1/.",
      },
    },
    plane: describePlane(config.routes),
  });
  registerStartPage(app);
  registerWebPage(app, { name: 'explorer', url: '/explorer' });
  registerHealth(app, () => readiness(options));
  registerExplorerSession(app, { ...services, sessions });
  registerSignIn(app, { plane: 'data', sessions, services });
  if (services.provider !== null) registerOwnKeys(app, services, sessions);
  await services.limits.replicas.join();
  registerReportRoutes(app, services);
  registerAskRoutes(app, services);
  registerFeed(app, options);
  registerAgents(app, services);
  registerPassThroughRoutes(app, services);
  refuseOtherMethods(app, '/api/v1/*', METHODS);
  refuseWritesOfReports(app, config.routes);
  return app;
}

function registerAskRoutes(app: FastifyInstance, services: Services): void {
  const { reporting, identify, series } = services;
  const g = reporting.reports;
  const showMe = createShowMe(services);
  serveTeam(app, getMe, (_call, request) => showMe(enter(identify, request)));
  serveTeam(app, getOwnSeries, ({ query }, request) =>
    showOwnSeries(series, enter(identify, request).team, query),
  );
  serveTeam(app, getRevisions, (call) => showRevisions(g, call));
  serveTeam(app, getDiff, async (call, _request, reply) => sendReply(reply, await showDiff(g, call)));
  serveTeam(app, getOwnFinality, (call) => showFinality(g, call));
  serveTeam(app, getOwnTruth, (call) => showTruth(g, call));
  serveTeam(app, getOwnAdvertisers, (call) => teamAdvertisers(g, call));
  serveTeam(app, explainReport, (call) => showExplanation(g, call));
  registerPins(app, g);
  registerPinReport(app, g);
  registerLearnReport(app, g);
  registerWatches(app, g);
}

function registerFeed(app: FastifyInstance, { services, stopping }: PlaneOptions): void {
  const { identify, clock, nameOf, limits, metrics, registry, reporting } = services;
  registerChanges(app, {
    nameOf,
    feed: reporting.feed,
    limits: limits.teams,
    count: metrics.count,
    version: () => registry.version,
    identify,
    clock,
    stopping,
  });
}

function plainReports({ config, gateway, log, tracing }: Services, finish: Finish) {
  const { fastPath, corsOrigins, trustedProxies, serverTiming } = config.server;
  if (!fastPath) return undefined;
  const patience = patienceOf(config);
  const declared = new Set(Object.keys(config.report.endpoints).map((endpoint) => REPORT_PREFIX + endpoint));
  return createPlainReports({
    report: gateway.report,
    finish,
    keepsSteps: serverTiming || tracing !== null || log.logger.isLevelEnabled('debug'),
    routeOf: (path) => (declared.has(path) ? path : `${REPORT_PREFIX}*`),
    addressOf: callerAddress(trustedProxies),
    headers: corsWithoutOrigin(corsOrigins),
    alsoVary: corsOrigins.length > 0 ? ', origin' : '',
    outlet: () => createOutlet(patience, 0),
    watch: (socket) => watchReader(socket, patience),
  });
}

/** Reports are read-only: below their prefix only declared routes are passed through. */
function refuseWritesOfReports(app: FastifyInstance, routes: readonly RouteRule[]): void {
  const declared = routes.filter(({ path }) => path.startsWith(REPORT_PREFIX)).map(({ method }) => method);
  const passed = METHODS.filter((method) => method === 'POST' || declared.some((one) => one === method));
  refuseOtherMethods(app, `${REPORT_PREFIX}*`, [...new Set(['GET', 'HEAD', ...passed])]);
}

function registerReportRoutes(app: FastifyInstance, { config, gateway, reporting }: Services): void {
  registerReports(app, {
    report: gateway.report,
    endpoints: config.report.endpoints,
    table: reporting.canonical.table,
    maxBodyBytes: config.server.maxBodyBytes,
    outlet: () => createOutlet(patienceOf(config), 0),
  });
}

/** How slowly a caller may read, and how long the platform may pause. */
function patienceOf({ platform, server }: Config): PatienceRules {
  return {
    silenceMs: platform.timeoutMs,
    minBytesPerSecond: server.minReadBytesPerSecond,
    overMs: server.minReadOverSeconds * 1000,
  };
}

function registerPassThroughRoutes(app: FastifyInstance, services: Services): void {
  const { config, identify, platform, idempotency, reservations, refusals, brake, log } = services;
  registerPassThrough(app, {
    identify,
    limits: services.limits.teams,
    platform,
    agent: services.agent,
    platformUrl: new URL(config.platform.baseUrl),
    idempotency,
    reservations,
    refusals,
    brake,
    log,
    logger: log.logger,
    now: services.clock.now,
    defaultGuard: config.writeGuard.default,
    rules: {
      routes: config.routes,
      accountPattern: services.policy.accountPattern,
      nonAccounts: services.policy.nonAccounts,
    },
    isReport: (endpoint) => Object.hasOwn(config.report.endpoints, endpoint),
    maxBodyBytes: config.server.maxBodyBytes,
    timeoutMs: config.platform.timeoutMs,
    places: services.streamPlaces,
    answers: { ...patienceOf(config), buffers: createAnswerBuffers() },
  });
}

function describePlane(routes: readonly RouteRule[]): Plane {
  return {
    admin: false,
    tags: {
      reports: 'Cached, and shared by all teams with access to them.',
      [PASSED_TAG]: "Never cached; answers are the platform's own.",
      history: 'Revisions, changes and pins of reports.',
      gateway: 'Your team and its session.',
      health: 'For load balancers and probes.',
      interface: 'This description.',
    },
    callers: () => CALLER_PROBLEMS,
    callerHeaders: ['ratelimit', 'ratelimit-policy', 'gateway-budget'],
    further: routes.map(describeDeclared),
  };
}

const CALLER_PROBLEMS = [
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'invalid_session',
  'session_forbidden',
  'team_disabled',
  'ip_forbidden',
  'not_ready',
] as const;
