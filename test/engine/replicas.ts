/** Gateways in this process that share a platform, a clock and, when there are several, one store. */
import { onTestFinished } from 'vitest';
import { type CacheWrite, type Store, StoreUnavailable } from '../../src/store/port.js';
import { createRedisStore } from '../../src/store/redis/redis-store.js';
import { createLog } from '../../src/telemetry/logger.js';
import { createMemoryServer } from '../support/memory/memory-store.js';
import type { RedisServer } from '../support/redis.js';
import { startGatewayAt, type TestGateway } from '../support/start-gateway.js';
import { createTestClock, type TestClock } from '../support/test-clock.js';

/** A fault between replicas and their store. */
export interface Outage {
  /** Every call of the store fails. */
  away: boolean;
  /** Messages to other replicas vanish. */
  deaf: boolean;
}

export interface ReplicasOptions {
  readonly platform: { readonly url: string; readonly token: string };
  readonly clock?: TestClock;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly count?: number;
  /** Another test, or another run, on the same Redis. */
  readonly prefix?: string;
  readonly redis?: RedisServer;
  readonly timeoutMs?: number;
  /** Of a team that is there already; a new one when not given. */
  readonly key?: string;
}

export interface Replicas {
  readonly clock: TestClock;
  readonly all: readonly TestGateway[];
  readonly outage: Outage;
  /** Faults of one replica alone, by its place. */
  readonly outages: readonly Outage[];
  /** A key of a team that may do everything, known to all replicas. */
  readonly key: string;
  /** Versions of the cache entries that were written, by id. */
  readonly written: ReadonlyMap<string, number>;
  /** Waits for work behind answers, on all replicas. */
  settled(): Promise<void>;
  /** Waits until every replica knows what the registry holds. */
  agreed(): Promise<void>;
  close(): Promise<void>;
}

const { logger } = createLog({ level: 'silent', stream: { write: () => {} }, secrets: () => [] });
let prefixes = 0;

/** One gateway on its embedded store, or several on one Redis; on a server in memory where none is given. */
export async function startReplicas(options: ReplicasOptions): Promise<Replicas> {
  const { platform, clock = createTestClock(), count = 1, redis, config = {} } = options;
  const outage: Outage = { away: false, deaf: false };
  const written = new Map<string, number>();
  const stores: Store[] = [];
  const server = redis === undefined && count > 1 ? createMemoryServer({ clock, logger }) : null;
  const prefix = options.prefix ?? `t${process.pid}-${++prefixes}`;
  const all: TestGateway[] = [];
  const outages = Array.from({ length: count }, (): Outage => ({ away: false, deaf: false }));
  for (let index = 0; index < count; index++) {
    const shared =
      redis === undefined
        ? server?.handle()
        : await openRedis(redis, prefix, options.timeoutMs ?? 2_000, clock);
    if (shared !== undefined) stores.push(shared);
    all.push(
      await startGatewayAt(platform, {
        clock,
        config,
        wrapStore: (store) => breakable(store, [outage, outages[index] as Outage], written),
        ...(shared === undefined ? {} : { sharedStore: shared }),
      }),
    );
  }
  const first = all[0] as TestGateway;
  const agreed = async () => {
    for (const { services } of all) await services.registry.refresh();
  };
  const key = options.key ?? (await first.addTeam());
  await agreed();
  return {
    clock,
    all,
    outage,
    outages,
    key,
    written,
    agreed,
    async settled() {
      for (const { services } of all) await services.settled();
    },
    async close() {
      for (const gateway of all) await gateway.close();
      for (const store of stores) await store.close();
    },
  };
}

/** Ended with the test. */
export async function withReplicas(options: ReplicasOptions): Promise<Replicas> {
  const replicas = await startReplicas(options);
  onTestFinished(() => replicas.close());
  return replicas;
}

async function openRedis(
  redis: RedisServer,
  prefix: string,
  timeoutMs: number,
  clock: TestClock,
): Promise<Store> {
  return createRedisStore({ connection: { url: redis.url }, prefix, timeoutMs, clock, logger });
}

function breakable(store: Store, outages: readonly Outage[], written: Map<string, number>): Store {
  const through = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const call: unknown = Reflect.get(target, name);
        if (typeof call !== 'function' || name === 'subscribe') return call;
        return async (...args: unknown[]) => {
          if (outages.some(({ away }) => away)) throw new StoreUnavailable('away');
          if (name === 'publish' && outages.some(({ deaf }) => deaf)) return;
          if (name === 'write')
            for (const { id, version } of args[0] as CacheWrite[]) written.set(id, version);
          return call.apply(target, args);
        };
      },
    });
  const { cache, leases, registry, counters, charges, documents, quotas, presence, bus } = store;
  return {
    ...store,
    cache: through(cache),
    leases: through(leases),
    registry: through(registry),
    counters: through(counters),
    charges: through(charges),
    documents: through(documents),
    quotas: through(quotas),
    presence: through(presence),
    bus: through(bus),
  };
}
