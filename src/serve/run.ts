/** One process of the gateway: store, services, planes, ports; and the way back. */
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Registry } from 'prom-client';
import { type AppOptions, buildAdminPlane, buildDataPlane, buildMetricsPlane } from '../app.js';
import { createClock } from '../clock.js';
import { keepApart } from '../config/admin-tokens.js';
import type { Config, ProxySettings } from '../config/load.js';
import { watchSecrets } from '../config/secret.js';
import { createServices, type Services } from '../services.js';
import { createLog, type Log } from '../telemetry/logger.js';
import { createDrain } from './drain.js';
import { holdPort } from './hold.js';
import { type LocalSecrets, localSecrets } from './local-secrets.js';
import { openStore } from './open-store.js';
import { declareTeams, readTeamsFile } from './teams-file.js';

export type Plane = 'data' | 'admin' | 'metrics';

export interface RunOptions {
  readonly config: Config;
  readonly proxy: ProxySettings;
  readonly planes: readonly Plane[];
  /** The text of /metrics, in the process that supervises workers: theirs and its own. */
  readonly metricsText?: (own: Registry) => Promise<string>;
  /** In that process: whether there is a worker to send requests to. */
  readonly workersReady?: () => boolean;
  readonly log?: Log;
}

export interface Running {
  readonly services: Services;
  /** `http://host:port` of each plane that listens. */
  readonly urls: ReadonlyMap<Plane, string>;
  readonly adminToken: string;
  readonly adminTokenPath: string | null;
  /** Readiness turns 503, requests under way finish, everything is let go of. */
  stop(): Promise<void>;
}

/** Replicas look at the registry every half a second, and then take as long to put it back. */
const REGISTRY_GRACE_MS = 1500;

/** @throws StoreRefused, SealError, or the system's error when a port is taken; what was logged has been written then */
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
  const { config } = options;
  // In one process of several, and before anything else: a faulty file stops the start.
  const declared =
    config.teamsFile !== undefined && options.planes.includes('admin')
      ? readTeamsFile(config.teamsFile)
      : null;
  const clock = createClock();
  log.hide(settingSecrets(config));
  const { logger } = log;
  const { host, port } = config.server;
  const store = await openStore(config, clock, logger, () => holdPort(host, port));
  const secrets = localSecrets(config);
  const watch = watchSecrets(config.fileSecrets, {
    onFault: (name, error) =>
      logger.error({ err: error }, `the file of ${name} cannot be used; the last value stays`),
    onMended: (name) => logger.info(`the file of ${name} is right again`),
  });
  const services = await createServices({
    config,
    store,
    clock,
    log,
    masterKey: secrets.masterKey,
    proxy: options.proxy,
    secretFaults: watch.faults,
    graceMs: store.kind === 'redis' ? REGISTRY_GRACE_MS : 0,
  });
  keepApart(config.fileSecrets, [secrets.adminToken, ...config.admins.map(({ token }) => token)]);
  const learnSecrets = () => log.hide(secretsOf(config, secrets, services));
  learnSecrets();
  services.keeper.onChange(learnSecrets);
  for (const secret of config.fileSecrets) secret.onChange(learnSecrets);
  if (declared !== null) {
    const declare = () => declareTeams({ ...services, logger }, declared);
    await declare();
    services.onAnotherRegistry('the teams of the file could not be declared', declare);
  }
  let stopping = false;
  const app: AppOptions = {
    services,
    adminToken: secrets.adminToken,
    stopping: () => stopping,
    metricsText: () =>
      options.metricsText?.(services.metrics.registry) ?? services.metrics.registry.metrics(),
    workersReady: options.workersReady ?? (() => true),
  };
  const { servers, urls } = await listenAll(app, options.planes);
  const drain = createDrain(servers.map(({ server }) => server));
  logger.info({ urls: Object.fromEntries(urls) }, 'listening');

  return {
    services,
    urls,
    adminToken: secrets.adminToken.read(),
    adminTokenPath: secrets.adminTokenPath,
    async stop() {
      stopping = true;
      const drainMs = config.server.drainSeconds * 1000;
      logger.info({ requests: drain.underWay() }, 'stopping');
      await Promise.race([
        drain.start(drainMs).then(services.settled),
        sleep(drainMs, undefined, { ref: false }),
      ]);
      for (const server of servers) server.server.closeAllConnections();
      await Promise.all(servers.map((server) => server.close()));
      watch.stop();
      await services.close();
      await store.close();
      logger.info('stopped');
      await log.close();
    },
  };
}

/** Everything that must not show up in a log line, whatever put it there. */
function secretsOf(config: Config, { masterKey, adminToken }: LocalSecrets, { keeper }: Services): string[] {
  const { active, pending, previous } = keeper.vault();
  return [
    ...settingSecrets(config),
    ...masterKey.read().split(','),
    adminToken.read(),
    ...[active, pending, previous].flatMap((token) => (token === null ? [] : [token.secret])),
  ];
}

function settingSecrets(config: Config): string[] {
  const secrets = [...config.secrets].filter(([name]) => !SHOWN.includes(name)).map(([, secret]) => secret);
  return [...secrets, ...config.admins.map(({ token }) => token)].map((secret) => secret.read());
}

/** Read from files like secrets, but no secret by themselves. */
const SHOWN: readonly string[] = ['PLATFORM_USERNAME', 'PLATFORM_CLIENT_ID'];

async function listenAll(app: AppOptions, planes: readonly Plane[]) {
  const { server } = app.services.config;
  const servers: FastifyInstance[] = [];
  const urls = new Map<Plane, string>();
  const listen = async (plane: Plane, built: FastifyInstance, host: string, port: number) => {
    await built.listen({ host, port });
    const address = built.server.address() as AddressInfo;
    const shown = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    urls.set(plane, `http://${shown}:${address.port}`);
    servers.push(built);
  };
  if (planes.includes('admin'))
    await listen('admin', await buildAdminPlane(app), server.adminHost, server.adminPort);
  if (planes.includes('metrics') && server.metricsPort !== undefined) {
    await listen('metrics', await buildMetricsPlane(app), server.host, server.metricsPort);
  }
  if (planes.includes('data')) await listen('data', await buildDataPlane(app), server.host, server.port);
  return { servers, urls };
}
