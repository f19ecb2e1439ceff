/** The data plane: what teams ask. */
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/load.js';
import type { RouteRule } from '../config/schema.js';
import { VERSION } from '../lib/version.js';
import type { Plane } from '../openapi/plane.js';
import { createAnswerBuffers } from '../pass-through/answer-buffers.js';
import { describeDeclared, PASSED_TAG } from '../pass-through/describe.js';
import { createOutlet } from '../pass-through/outlet.js';
import type { PatienceRules } from '../pass-through/read-patience.js';
import { METHODS, registerPassThrough } from '../pass-through/route.js';
import { watchReader } from '../pass-through/watch-reader.js';
import type { Services } from '../services.js';
import { createSessions } from '../sessions/sessions.js';
import { measureAnswers } from '../usage/measure-answers.js';
import { registerAgents } from './agents.js';
import { registerAdvertisers } from './data/advertisers.js';
import { registerDiff } from './data/diff.js';
import { registerDocs } from './data/docs.js';
import { registerExplain } from './data/explain.js';
import { createFastPath } from './data/fast-path.js';
import { registerFinality } from './data/finality.js';
import { registerHealth } from './data/health.js';
import { createComposeHit } from './data/hit-answer.js';
import { hitLine } from './data/hit-line.js';
import { registerMe } from './data/me.js';
import { registerPinReport } from './data/pin-report.js';
import { registerPins } from './data/pins.js';
import { refuseOtherMethods } from './data/refuse-methods.js';
import { REPORT_PREFIX, registerReports } from './data/reports.js';
import { registerRevisions } from './data/revisions.js';
import { registerOwnSeries } from './data/series.js';
import { registerExplorerSession } from './data/session.js';
import { registerStartPage } from './data/start-page.js';
import { takeSessions } from './data/take-sessions.js';
import { registerTruth } from './data/truth.js';
import { registerWebPage } from './data/web-page.js';
import { callerAddress } from './http/caller-address.js';
import { corsWithoutOrigin } from './http/cors.js';
import { registerRateLimitHeaders } from './http/rate-limit-headers.js';
import type { AnswerAtOnce } from './http/server.js';
import { registerServerTiming } from './http/server-timing.js';
import { slowRefusals } from './http/slow-refusals.js';
import { createPlaneServer, type PlaneOptions, readiness } from './plane.js';
import { tailLineOfHit } from './tail-line.js';

export async function buildDataPlane(options: PlaneOptions): Promise<FastifyInstance> {
  const { services } = options;
  const { config, identify } = services;
  const app = createPlaneServer('data', services, hitsAtOnce(services));
  measureAnswers(app);
  if (config.server.serverTiming) registerServerTiming(app);
  slowRefusals(app, services.slowFailures);
  const sessions = createSessions({ cookie: 'dgw_explorer', store: services.store, clock: services.clock });
  takeSessions(app, sessions);
  await registerDocs(app, {
    title: 'dsp-gateway',
    description:
      'Reports of the advertising platform: fast, uniform, honest about freshness. Any other report is asked for as those below are, and any other call below /api/v1/ is passed through to the platform.',
    version: VERSION,
    securitySchemes: {
      bearer: { type: 'http', scheme: 'bearer', description: 'Your team key.' },
      apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'Your team key.' },
      session: {
        ...{ type: 'apiKey', in: 'cookie', name: 'dgw_explorer' },
        description: 'Of the explorer; for GET and HEAD, and for what is below /gateway/v1/.',
      },
    },
    plane: describePlane(config.routes),
  });
  registerStartPage(app);
  registerWebPage(app, { name: 'explorer', url: '/explorer' });
  registerHealth(app, () => readiness(options));
  registerMe(app, {
    identify,
    limits: services.limits,
    usage: services.usage.recent,
    credential: services.outlook,
  });
  registerExplorerSession(app, { identify, directory: services.directory, sessions });
  registerOwnSeries(app, services);
  registerRateLimitHeaders(app, rateOf(services));
  await services.limits.replicas.join();
  registerReportRoutes(app, services);
  registerAskRoutes(app, services);
  registerAgents(app, services);
  registerPassThroughRoutes(app, services);
  refuseOtherMethods(app, '/api/v1/*', METHODS);
  refuseWritesOfReports(app, config.routes);
  return app;
}

/** Calls about reports, and about whom they may be asked for. */
function registerAskRoutes(app: FastifyInstance, { pipeline: { reports } }: Services): void {
  registerRevisions(app, reports);
  registerDiff(app, reports);
  registerFinality(app, reports);
  registerTruth(app, reports);
  registerAdvertisers(app, reports);
  registerExplain(app, reports);
  registerPins(app, reports);
  registerPinReport(app, reports);
}

/** @returns null where it is turned off, and where log, header or spans tell of the stages that only the router's way has */
function hitsAtOnce(services: Services): AnswerAtOnce | null {
  const { config, gateway, log, metrics, usage, series, tail, tracing } = services;
  const { logger } = log;
  const { fastPath, serverTiming } = config.server;
  if (!fastPath || serverTiming || tracing !== null || logger.isLevelEnabled('debug')) return null;
  const isLogged = logger.isLevelEnabled('info');
  const compose = createComposeHit({
    rate: rateOf(services),
    alsoVary: config.server.corsOrigins.length > 0 ? ', origin' : '',
    headers: corsWithoutOrigin(config.server.corsOrigins),
    onDone(answer) {
      const { durationMs, bytes, hit } = answer;
      metrics.request('data', hit.reply.status, 'hit', hit.team, durationMs);
      metrics.hit(hit.tier);
      metrics.saved(hit.team, hit.plainCalls);
      series.addHit(hit.team, hit.tier, hit.plainCalls, durationMs);
      usage.addHit(hit.team, { rows: hit.rows, saved: hit.plainCalls, bytesOut: bytes });
      if (tail.isOn) tail.note(tailLineOfHit(answer, log.clean));
      if (isLogged) log.write(hitLine(answer, REPORT_PREFIX + log.clean(hit.endpoint)));
    },
  });
  return createFastPath({
    hit: gateway.hit,
    compose,
    report: gateway.report,
    addressOf: callerAddress(config.server.trustedProxies),
    onWaiting: (socketOf) => watchReader(socketOf, patienceOf(config)),
  });
}

/** What is left of a team's requests; null when there is no such team any more. */
function rateOf({ directory, limits }: Services) {
  return (id: string) => {
    const team = directory.team(id);
    return team === undefined ? null : limits.teams.rate(team);
  };
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
  const { config, identify, platform, idempotency, reservations, brake, log } = services;
  registerPassThrough(app, {
    identify,
    limits: services.limits.teams,
    platform,
    platformOrigin: new URL(config.platform.baseUrl).origin,
    idempotency,
    reservations,
    brake,
    logger: log.logger,
    defaultGuard: config.writeGuard.default,
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
      buffers: createAnswerBuffers(),
    },
  });
}

function describePlane(routes: readonly RouteRule[]): Plane {
  return {
    admin: false,
    tags: {
      reports: 'Cached, and the same for all teams that may see them.',
      [PASSED_TAG]: "Never cached; the answer is the platform's own.",
      history: 'What reports said, and when.',
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
  'invalid_session',
  'session_forbidden',
  'team_disabled',
  'ip_forbidden',
  'not_ready',
] as const;
