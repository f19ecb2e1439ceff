/** Gateways of one store and one platform, composed as the program composes them; each can be stopped, killed, started. */
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { stringify } from 'yaml';
import { type Config, loadConfig } from '../../src/config/load.js';
import { fixedSecret } from '../../src/config/secret.js';
import { buildDataPlane } from '../../src/planes/data.js';
import { createServices, type Services } from '../../src/services.js';
import { createLog } from '../../src/telemetry/logger.js';
import type { MemoryServer } from '../support/memory/memory-store.js';
import { clockOf } from '../support/test-clock.js';
import type { Chance } from './chance-of-seed.js';
import type { Faults } from './faults.js';
import { faultyStore } from './faulty-store.js';
import type { Scheduler } from './scheduler.js';
import type { SimPlatform } from './sim-platform.js';

/** Seconds; the oracle counts with them. */
export const RULES = {
  freshness: { current: 2, restating: 4, final: 10, staleWhileRevalidate: 4, staleIfError: 30 },
  restatementDays: 3,
  timeoutMs: 4_000,
} as const;

const FIRST_TOKEN = 'token-0-of-the-simulated-platform';
const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');

/** Read once, before time is virtual. */
export async function settings(): Promise<Config> {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-simulation-'));
  const path = join(folder, 'config.yaml');
  const { freshness, restatementDays, timeoutMs } = RULES;
  const tree = {
    platform: { timeoutMs },
    report: {
      restatementDays,
      freshness: {
        ...{ currentSeconds: freshness.current, restatingSeconds: freshness.restating },
        ...{ finalSeconds: freshness.final, emptySeconds: freshness.current },
        emptyFinalSeconds: freshness.restating,
        staleWhileRevalidateSeconds: freshness.staleWhileRevalidate,
        staleIfErrorSeconds: freshness.staleIfError,
      },
    },
  };
  writeFileSync(path, stringify(tree));
  try {
    return loadConfig({
      GATEWAY_CONFIG: path,
      GATEWAY_DATA_DIR: join(folder, 'data'),
      PLATFORM_BASE_URL: 'http://platform.test',
      PLATFORM_TOKEN: FIRST_TOKEN,
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}

export interface Replica {
  readonly name: string;
  readonly services: Services;
  /** Set where requests come in by Fastify. */
  readonly data: FastifyInstance | null;
  /** Every line of its log, from `warn` on. */
  readonly log: readonly string[];
}

export interface ReplicaOptions {
  readonly config: Config;
  readonly server: MemoryServer;
  readonly platform: SimPlatform;
  readonly scheduler: Scheduler;
  readonly chance: Chance;
  readonly faults: Faults;
  readonly byFastify: boolean;
}

/** Starts a replica, in virtual time and by its own name. */
export async function startReplica(name: string, options: ReplicaOptions): Promise<Replica> {
  const { config, server, platform, scheduler, byFastify } = options;
  const clock = clockOf(scheduler);
  const log: string[] = [];
  const services = await createServices({
    config,
    store: faultyStore({ ...options, store: server.handle(), replica: name }),
    clock,
    log: createLog({
      level: process.env.SIM_LOG ?? 'warn',
      stream: { write: (line) => void log.push(line) },
      secrets: () => [],
    }),
    masterKey: fixedSecret('GATEWAY_MASTER_KEY', MASTER_KEY),
    proxy: {},
    agent: platform.connect(),
    graceMs: 1_500,
  });
  const { replicas } = services.limits;
  await replicas.join();
  if (!byFastify) return { name, services, data: null, log };
  const joined = Object.create(replicas, { join: { value: async () => {} } }) as typeof replicas;
  const data = await scheduler.hold(name, async () => {
    const plane = await buildDataPlane({
      services: { ...services, limits: { ...services.limits, replicas: joined } },
      adminToken: fixedSecret('ADMIN_TOKEN', 'admin-token-of-the-simulation'),
      stopping: () => false,
      metricsText: () => services.metrics.registry.metrics(),
      workersReady: () => true,
    });
    await plane.ready();
    return plane;
  });
  return { name, services, data, log };
}

/** What has begun is finished, and everything is let go of. */
export async function stopReplica({ data, services }: Replica): Promise<void> {
  await data?.close();
  await services.settled();
  await services.close();
}
