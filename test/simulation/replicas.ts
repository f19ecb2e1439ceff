/** Gateways of one store and one platform, composed as the program composes them; each can be stopped, killed, started. */
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { stringify } from 'yaml';
import { buildDataPlane } from '../../src/api/data.js';
import { type Config, loadConfig } from '../../src/config/load.js';
import { fixedSecret } from '../../src/config/secret.js';
import { createServices, type Services } from '../../src/server/services.js';
import { createLog } from '../../src/telemetry/logger.js';
import type { MemoryServer } from '../support/memory/memory-store.js';
import { clockOf } from '../support/test-clock.js';
import type { Chance } from './chance-of-seed.js';
import type { Connections } from './connections.js';
import type { Faults } from './faults.js';
import { faultyStore } from './faulty-store.js';
import type { Scheduler } from './scheduler.js';
import type { Shape } from './shape.js';
import type { SimPlatform } from './sim-platform.js';

/** Seconds; the oracle counts with them. */
export const RULES = {
  freshness: { current: 1, restating: 3, final: 8, empty: 1, emptyFinal: 2 },
  staleWhileRevalidate: 1,
  /** Longer than a night: what was kept before it is still known after it. */
  staleIfError: 10_800,
  restatementDays: 3,
  timeoutMs: 3_000,
} as const;

export const FIRST_TOKEN = 'token-0-of-the-simulated-platform';
const MASTER_KEY = Buffer.alloc(32, 7).toString('base64');

/** @returns the configuration of a seed: what it is made of is read once, before time is virtual */
export async function settings(): Promise<(shape: Shape) => Config> {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-simulation-'));
  try {
    const read = (divisible: Shape['divisible']) => [divisible, readSettings(folder, divisible)] as const;
    const all = new Map((['auto', 'always', 'never'] as const).map(read));
    return ({ divisible, maxConcurrent }) => {
      const config = all.get(divisible) as Config;
      return { ...config, platform: { ...config.platform, maxConcurrent } };
    };
  } finally {
    await rm(folder, { recursive: true });
  }
}

function readSettings(folder: string, divisible: Shape['divisible']): Config {
  const path = join(folder, `${divisible}.yaml`);
  const { freshness, restatementDays, timeoutMs, staleWhileRevalidate, staleIfError } = RULES;
  const tree = {
    platform: { timeoutMs },
    report: {
      restatementDays,
      freshness: {
        currentSeconds: freshness.current,
        restatingSeconds: freshness.restating,
        finalSeconds: freshness.final,
        emptySeconds: freshness.empty,
        emptyFinalSeconds: freshness.emptyFinal,
        staleWhileRevalidateSeconds: staleWhileRevalidate,
        staleIfErrorSeconds: staleIfError,
      },
      endpoints: { 'campaigns/get': { divisible } },
    },
  };
  writeFileSync(path, stringify(tree));
  return loadConfig({
    GATEWAY_CONFIG: path,
    GATEWAY_DATA_DIR: join(folder, 'data'),
    PLATFORM_BASE_URL: 'http://platform.test',
    PLATFORM_TOKEN: FIRST_TOKEN,
  });
}

export interface Replica {
  readonly name: string;
  /** Its process: one that is started again is another. */
  readonly owner: string;
  readonly agent: Connections;
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

/** Starts a replica, in virtual time and as this owner. */
export async function startReplica(name: string, owner: string, options: ReplicaOptions): Promise<Replica> {
  const { config, server, platform, scheduler, byFastify } = options;
  const agent = platform.connect();
  const clock = clockOf(scheduler);
  const log: string[] = [];
  const services = await createServices({
    config,
    store: faultyStore({ ...options, store: server.handle(), replica: name, owner }),
    clock,
    log: createLog({
      level: process.env.SIM_LOG ?? 'warn',
      stream: { write: (line) => void log.push(line) },
      secrets: () => [],
    }),
    masterKey: fixedSecret('GATEWAY_MASTER_KEY', MASTER_KEY),
    proxy: {},
    agent,
    graceMs: 1_500,
  });
  const { replicas } = services.limits;
  await replicas.join();
  if (!byFastify) return { name, owner, agent, services, data: null, log };
  const joined = Object.create(replicas, { join: { value: async () => {} } }) as typeof replicas;
  const data = await scheduler.hold(owner, async () => {
    const plane = await buildDataPlane({
      services: { ...services, limits: { ...services.limits, replicas: joined } },
      adminToken: fixedSecret('ADMIN_TOKEN', 'admin-token-of-the-simulation'),
      stopping: () => false,
      metricsText: () => services.metrics.registry.metrics(),
      workersReady: () => true,
      dataUrl: () => null,
    });
    await plane.ready();
    return plane;
  });
  return { name, owner, agent, services, data, log };
}

/** What has begun is finished, and everything is let go of. */
export async function stopReplica({ data, services }: Replica): Promise<void> {
  await data?.close();
  await services.settled();
  await services.close();
}
