import type { Clock } from '../../clock.js';
import type { StoreLog } from '../log.js';
import type { Store, StoreHealth } from '../port.js';
import { REGISTRY_LIMITS } from '../registry-limits.js';
import { connect, disconnect } from './connect.js';
import { describeConnection, type RedisClient, type RedisConnection } from './connection.js';
import { refuseEviction } from './eviction.js';
import { unavailable } from './failure.js';
import { createKeys } from './keys.js';
import { createLink } from './link.js';
import { createRedisBus } from './redis-bus.js';
import { createRedisCache } from './redis-cache.js';
import { createRedisLeases } from './redis-leases.js';
import { createRedisNotes } from './redis-notes.js';
import { createRedisPresence } from './redis-presence.js';
import { createRedisQuotas } from './redis-quotas.js';
import { createRedisRegistry } from './redis-registry.js';
import { createRedisTallies } from './redis-tallies.js';

export interface RedisStoreOptions {
  readonly connection: RedisConnection;
  /** Where registry, tallies and notes live, when not on the same Redis; needed where that one may evict any key. */
  readonly registryConnection?: RedisConnection;
  /** First part of every key and channel. */
  readonly prefix?: string;
  /** Longest time a call of cache, leases, quotas, presence or bus takes. */
  readonly timeoutMs?: number;
  /** Longest time a call of registry, tallies or notes takes: loads may be large. */
  readonly registryTimeoutMs?: number;
  /** Longest time that connecting takes, at the start and in {@link RedisStore.reconnect}. */
  readonly connectTimeoutMs?: number;
  readonly auditMax?: number;
  readonly tombstonesMax?: number;
  readonly logger: StoreLog;
  readonly clock: Clock;
}

export interface RedisStore extends Store {
  readonly kind: 'redis';
  /**
   * Moves to other servers, or to the same with another password, without losing a call. On an error everything
   * stays as it was.
   * @throws StoreUnavailable, StoreRefused
   */
  reconnect(connection: RedisConnection, registryConnection?: RedisConnection): Promise<void>;
}

/** One connection each, so that a large load or a wait for replicas delays no cache read. */
interface Clients {
  readonly data: RedisClient;
  readonly registry: RedisClient;
  readonly subscriber: RedisClient;
}

/**
 * Connects, and looks whether the registry would be safe there.
 *
 * @throws StoreUnavailable when Redis cannot be reached; whether to try again is the caller's decision.
 * @throws StoreRefused when an eviction policy endangers the registry, or a setting cannot be right.
 */
export async function createRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const { clock, logger, prefix = 'dgw', timeoutMs = 150, connectTimeoutMs = 5_000 } = options;
  const registryTimeoutMs = options.registryTimeoutMs ?? 10 * timeoutMs;
  // Less than the call that waits may take, or it would end as if Redis did not answer.
  const replicaWaitMs = Math.floor(Math.min(timeoutMs, registryTimeoutMs / 2));
  const keys = createKeys(prefix);
  const limits = { ...REGISTRY_LIMITS, ...pickLimits(options) };

  const clients = await connectAll(options.connection, options.registryConnection, connectTimeoutMs, logger);
  const data = createLink({ client: clients.data, role: 'data', timeoutMs, clock, logger });
  const registry = createLink({
    client: clients.registry,
    role: 'registry',
    timeoutMs: registryTimeoutMs,
    clock,
    logger,
  });
  const bus = createRedisBus({ link: data, subscriber: clients.subscriber, keys, logger });

  const durable = { link: registry, keys, replicaWaitMs, logger };
  let closed = false;

  async function move(connection: RedisConnection, registryConnection?: RedisConnection): Promise<void> {
    const next = await connectAll(connection, registryConnection, connectTimeoutMs, logger);
    if (closed) {
      await disconnectAll(Object.values(next), timeoutMs);
      throw unavailable('the store is closed');
    }
    const subscriber = bus.swap(next.subscriber);
    await Promise.all([
      data.swap(next.data),
      registry.swap(next.registry),
      disconnect(subscriber, timeoutMs),
    ]);
    logger.info({ redis: describeConnection(connection) }, 'moved to another connection to Redis');
  }

  return {
    kind: 'redis',
    cache: createRedisCache(data, keys),
    leases: createRedisLeases(data, keys),
    registry: createRedisRegistry({ ...durable, limits }),
    tallies: createRedisTallies(durable),
    notes: createRedisNotes(durable),
    quotas: createRedisQuotas(data, keys),
    presence: createRedisPresence(data, keys),
    bus,
    health: () => worst(data.health(), registry.health()),
    reconnect: oneAtATime(move),
    async close() {
      closed = true;
      await Promise.all([data.close(), registry.close(), disconnect(bus.subscriber, timeoutMs)]);
    },
  };
}

function pickLimits({ auditMax, tombstonesMax }: RedisStoreOptions) {
  return {
    ...(auditMax === undefined ? {} : { auditMax }),
    ...(tombstonesMax === undefined ? {} : { tombstonesMax }),
  };
}

async function connectAll(
  connection: RedisConnection,
  registryConnection: RedisConnection | undefined,
  limitMs: number,
  logger: StoreLog,
): Promise<Clients> {
  const opened: RedisClient[] = [];
  const open = async (to: RedisConnection, role: string) => {
    const client = await connect(to, role, limitMs);
    opened.push(client);
    return client;
  };
  try {
    const data = await open(connection, 'data');
    const registry = await open(registryConnection ?? connection, 'registry');
    const subscriber = await open(connection, 'bus');
    await refuseEviction(registry, limitMs, logger);
    return { data, registry, subscriber };
  } catch (error) {
    await disconnectAll(opened, limitMs);
    throw error;
  }
}

async function disconnectAll(clients: readonly RedisClient[], limitMs: number): Promise<void> {
  await Promise.all(clients.map((client) => disconnect(client, limitMs)));
}

function worst(data: StoreHealth, registry: StoreHealth): StoreHealth {
  if (!registry.ok) return { ...registry, reason: `registry: ${registry.reason}` };
  if (!data.ok) return { ...data, reason: `cache: ${data.reason}` };
  return { ok: true };
}

/** Calls made while one is under way wait for it, and for each other. */
function oneAtATime<Args extends unknown[]>(
  run: (...args: Args) => Promise<void>,
): (...args: Args) => Promise<void> {
  let last: Promise<unknown> = Promise.resolve();
  return (...args) => {
    const turn = last.then(() => run(...args));
    last = turn.catch(() => {
      // Whoever called knows; the next in line must only not fail with it.
    });
    return turn;
  };
}
