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

/** @throws StoreRefused, SealError, or the system's error when a port is taken */
export async function run(options: RunOptions): Promise<Running> {
  const { config } = options;
  // In one process of several, and before anything else: a faulty file stops the start.
  const declared =
    config.teamsFile !== undefined && options.planes.includes('admin')
      ? readTeamsFile(config.teamsFile)
      : null;
  const clock = createClock();
  let known: readonly string[] = [];
  const log = options.log ?? createLog({ level: config.logLevel, secrets: () => known });
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
  const learnSecrets = () => {
    known = secretsOf(config, secrets, services);
  };
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
  const drain = trackRequests(servers);
  logger.info({ urls: Object.fromEntries(urls) }, 'listening');

  return {
    services,
    urls,
    adminToken: secrets.adminToken.read(),
    adminTokenPath: secrets.adminTokenPath,
    async stop() {
      stopping = true;
      logger.info({ requests: drain.underWay() }, 'stopping');
      await Promise.race([
        finish(servers, drain).then(services.settled),
        sleep(config.server.drainSeconds * 1000, undefined, { ref: false }),
      ]);
      for (const server of servers) server.server.closeAllConnections();
      watch.stop();
      await services.close();
      await store.close();
      logger.info('stopped');
      log.flush();
    },
  };
}

/** Everything that must not show up in a log line, whatever put it there. */
function secretsOf(config: Config, { masterKey, adminToken }: LocalSecrets, { keeper }: Services): string[] {
  const { active, pending, previous } = keeper.vault();
  return [
    ...[...config.secrets].filter(([name]) => !SHOWN.includes(name)).map(([, secret]) => secret.read()),
    ...masterKey.read().split(','),
    adminToken.read(),
    ...config.admins.map(({ token }) => token.read()),
    ...[active, pending, previous].flatMap((token) => (token === null ? [] : [token.secret])),
  ];
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

interface Drain {
  underWay(): number;
  /** Resolves when every request that is under way now has ended. */
  ended(): Promise<void>;
}

function trackRequests(servers: readonly FastifyInstance[]): Drain {
  const underWay = new Set<Promise<void>>();
  for (const { server } of servers) {
    server.on('request', (_request, response) => {
      const ended = new Promise<void>((resolve) => response.once('close', resolve));
      underWay.add(ended);
      void ended.then(() => underWay.delete(ended));
    });
  }
  return {
    underWay: () => underWay.size,
    ended: async () => {
      await Promise.all(underWay);
    },
  };
}

/** Ports stay open until what was under way has ended, so that the readiness of a stopping process can be seen. */
async function finish(servers: readonly FastifyInstance[], drain: Drain): Promise<void> {
  await drain.ended();
  await Promise.all(servers.map((server) => server.close()));
}
