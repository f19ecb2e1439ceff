/** Start and stop of one gateway process: store, services, planes, ports. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { buildAdminPlane } from '../api/admin.js';
import { buildDataPlane } from '../api/data.js';
import { buildMetricsPlane } from '../api/metrics.js';
import type { PlaneOptions } from '../api/plane.js';
import { requireDistinct } from '../config/admin-tokens.js';
import { type Config, ConfigError, type ProxySettings } from '../config/load.js';
import { type SecretWatch, watchSecrets } from '../config/secret.js';
import { decodeUtf8, NotUtf8 } from '../config/utf8.js';
import { openAdminPlane } from '../config/warnings.js';
import { GatewayError } from '../errors.js';
import { randomId } from '../lib/chance.js';
import { createClock, type MovableClock } from '../lib/clock.js';
import { PROBLEM_TYPE, toProblem } from '../lib/http/problem.js';
import { sleep } from '../lib/time.js';
import { type ApplyOptions, applyTeams } from '../teams/declared/apply-teams.js';
import { type ParsedTeams, parseTeams } from '../teams/declared/parse-teams.js';
import { GATEWAY_ACTOR } from '../telemetry/audit.js';
import { createLog, type Log } from '../telemetry/logger.js';
import { openTracing } from '../telemetry/open-tracing.js';
import { createDrain, type Drain } from './drain.js';
import { awaitOthers } from './layout.js';
import { openStore } from './open-store.js';
import { localSecrets, redactSecrets, settingSecrets } from './secrets.js';
import { createServices, type Services } from './services.js';
import type { Workers } from './workers.js';

// The teams file, applied at startup.

/** @throws ConfigError with a line per fault */
export function readTeamsFile(path: string): ParsedTeams['teams'] {
  let text: string;
  try {
    text = decodeUtf8(readFileSync(path));
  } catch (error) {
    if (error instanceof NotUtf8)
      throw new ConfigError([`${path}:${error.line}: is not UTF-8; allowed is text in UTF-8`]);
    throw new ConfigError([
      `GATEWAY_TEAMS_FILE: was ${path}; allowed is a readable YAML file of teams (${(error as Error).message})`,
    ]);
  }
  const { teams, faults } = parseTeams(text, path);
  if (faults.length > 0) throw new ConfigError(faults);
  return teams;
}

/** Keeps teams removed from the file: a start with a wrong file must not revoke access. */
async function declareTeams(
  options: ApplyOptions & { readonly logger: Logger },
  teams: ParsedTeams['teams'],
): Promise<void> {
  const changes = await applyTeams(options, { teams, removed: 'keep', dryRun: false }, GATEWAY_ACTOR);
  const those = (action: string) => changes.filter((one) => one.action === action).map(({ id }) => id);
  options.logger.info({ created: those('create'), changed: those('update') }, 'applied the teams file');
  const kept = those('keep');
  if (kept.length > 0) {
    options.logger.warn(
      { teams: kept },
      'teams were removed from the file; they are kept until dsp-gateway apply --prune or --release',
    );
  }
}

interface RunOptions {
  readonly config: Config;
  readonly proxy: ProxySettings;
  readonly planes: readonly Plane[];
  /** In the supervisor of workers. */
  readonly workers?: Workers;
  readonly log?: Log;
  /** Default: the machine's. */
  readonly clock?: MovableClock;
}

export interface Running {
  readonly services: Services;
  /** `http://host:port` by plane. */
  readonly urls: ReadonlyMap<Plane, string>;
  readonly adminToken: string;
  readonly adminTokenPath: string | null;
  /** Turns readiness to 503, finishes running requests, closes everything. */
  stop(): Promise<void>;
}

/** Replicas poll the registry every half second, and need as long to restore it. */
const REGISTRY_GRACE_MS = 1500;

/** @throws StoreRefused, SealError, or the system's error if a port is taken; the log is flushed before */
export async function run(options: RunOptions): Promise<Running> {
  const log = options.log ?? createLog({ level: options.config.logLevel });
  try {
    return await start(options, log);
  } catch (error) {
    await log.close();
    throw error;
  }
}

async function start(options: RunOptions, log: Log): Promise<Running> {
  const { config, planes, workers, clock = createClock() } = options;
  // In one process only, and first: an invalid file stops the start.
  const declared =
    config.teamsFile !== undefined && planes.includes('admin') ? readTeamsFile(config.teamsFile) : null;
  log.hide(settingSecrets(config));
  const { logger } = log;
  const warnings = [...config.warnings, ...openAdminPlane(config.server.adminHost)];
  if (planes.includes('admin')) for (const warning of warnings) logger.warn(warning);
  const { host, port } = config.server;
  const tracing = await openTracing({
    settings: config.tracing,
    headers: () => config.secrets.get('OTEL_EXPORTER_OTLP_HEADERS')?.read() ?? null,
    platformHost: new URL(config.platform.baseUrl).hostname,
    logger,
    clean: log.clean,
  });
  const onCall = tracing?.storeCall;
  const hold = () => holdPort(host, port);
  const store = await openStore(config, clock, logger, hold, onCall);
  await awaitOthers(store.presence, logger, hold);
  const secrets = await localSecrets(config, store.registry).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  const watch = watchSecretFiles(config, logger);
  const services = await createServices({
    config,
    store,
    clock,
    log,
    masterKey: secrets.masterKey,
    tracing,
    proxy: options.proxy,
    secretFaults: watch.faults,
    graceMs: store.kind === 'redis' ? REGISTRY_GRACE_MS : 0,
  });
  requireDistinct(config.fileSecrets, [secrets.adminToken, ...config.admins.map(({ token }) => token)]);
  redactSecrets(log, config, secrets, services.keeper);
  if (declared !== null) await declareAlways(services, declared);
  const { adminToken, adminTokenPath } = secrets;
  const { registry } = services.metrics;
  let stopping = false;
  const urls = new Map<Plane, string>();
  const listening = await listenAll(
    {
      services,
      adminToken,
      stopping: () => stopping,
      metricsText: () => workers?.metricsText(registry) ?? registry.metrics(),
      workersReady: () => workers?.ready ?? true,
      // Of workers, which have a port of the settings.
      dataUrl: () => urls.get('data') ?? (port === 0 ? null : `http://${host}:${port}`),
    },
    planes,
    urls,
  );
  const drain = createDrain(listening.servers.map(({ server }) => server));
  logger.info({ urls: Object.fromEntries(listening.urls) }, 'listening');
  return {
    services,
    urls: listening.urls,
    adminToken: adminToken.read(),
    adminTokenPath,
    async stop() {
      stopping = true;
      await stopServing(services, listening, drain);
      watch.stop();
      await services.close();
      await store.close();
      await tracing?.stop();
      logger.info('stopped');
      await log.close();
    },
  };
}

function watchSecretFiles({ fileSecrets }: Config, logger: Logger): SecretWatch {
  return watchSecrets(fileSecrets, {
    onFault: (name, error) =>
      logger.error({ err: error }, `the file of ${name} is invalid; the previous value stays in use`),
    onResolved: (name) => logger.info(`the file of ${name} is valid again`),
  });
}

/** Applies the file now, and again in any other registry. */
async function declareAlways(services: Services, declared: ParsedTeams['teams']): Promise<void> {
  const declare = () => declareTeams({ ...services, logger: services.log.logger }, declared);
  await declare();
  services.onAnotherRegistry('failed to apply the teams file', declare);
}

/** Finishes running requests within the time limit. */
async function stopServing(services: Services, { servers }: Listening, drain: Drain) {
  const { config, log, reporting, settled } = services;
  const drainMs = config.server.drainSeconds * 1000;
  reporting.stopComparing();
  log.logger.info({ requests: drain.running() }, 'stopping');
  await Promise.race([drain.start(drainMs).then(settled), sleep(drainMs, { ref: false })]);
  for (const server of servers) server.server.closeAllConnections();
  await Promise.all(servers.map((server) => server.close()));
}

type Plane = 'data' | 'admin' | 'metrics';

interface Listening {
  readonly servers: readonly FastifyInstance[];
  /** `http://host:port` of each plane that listens. */
  readonly urls: ReadonlyMap<Plane, string>;
}

/** Builds the planes and listens, the data plane last. @param urls filled. @throws the system's error if a port is taken */
async function listenAll(
  options: PlaneOptions,
  planes: readonly Plane[],
  urls: Map<Plane, string>,
): Promise<Listening> {
  const { server } = options.services.config;
  const servers: FastifyInstance[] = [];
  const listen = async (plane: Plane, built: FastifyInstance, host: string, port: number) => {
    await built.listen({ host, port });
    const address = built.server.address() as AddressInfo;
    const shown = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    urls.set(plane, `http://${shown}:${address.port}`);
    servers.push(built);
  };
  if (planes.includes('admin'))
    await listen('admin', await buildAdminPlane(options), server.adminHost, server.adminPort);
  if (planes.includes('metrics') && server.metricsPort !== undefined) {
    await listen('metrics', await buildMetricsPlane(options), server.host, server.metricsPort);
  }
  if (planes.includes('data')) await listen('data', await buildDataPlane(options), server.host, server.port);
  return { servers, urls };
}

// The server on the data port while waiting for the store: alive, not ready.

/** Without reports of other processes. */
const CONDITIONS = { store: 'waiting for Redis', credential: 'unknown', platform: 'unknown' };
const WAITING = { ready: false, ...CONDITIONS, worst: CONDITIONS };

/** @returns a function that frees the port */
async function holdPort(host: string, port: number): Promise<() => Promise<void>> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0];
    const answer = (status: number, type: string, body: object) => {
      response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', connection: 'close' });
      response.end(JSON.stringify(body));
    };
    if (path === '/healthz') return answer(200, 'application/json', { status: 'ok' });
    if (path === '/readyz') return answer(503, 'application/json', WAITING);
    const problem = toProblem(new GatewayError('not_ready'), randomId());
    response.setHeader('retry-after', '5');
    return answer(503, PROBLEM_TYPE, problem);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
}
