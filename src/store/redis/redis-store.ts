import type { Clock } from '../../clock.js';
import type { StoreLog } from '../log.js';
import type { Store, StoreHealth, StoreMemory } from '../port.js';
import { limitsOf, type RegistryLimits } from '../registry-limits.js';
import { createTurns } from '../turns.js';
import type { ReplicaWait } from './await-replicas.js';
import { type CacheBound, createCacheBound } from './cache-bound.js';
import { connectAll, disconnect, disconnectAll } from './connect.js';
import { describeConnection, type RedisConnection } from './connection.js';
import { unavailable } from './failure.js';
import { createKeys, type Keys } from './keys.js';
import { createWatchedLink, type MemoryWatch, type ServerMemory } from './memory-watch.js';
import type { OnRedisCall } from './observed.js';
import { createRedisLeases, createRedisPresence, createRedisQuotas } from './redis-brief.js';
import { createRedisBus } from './redis-bus.js';
import { createRedisCache } from './redis-cache.js';
import { createRedisCharges } from './redis-charges.js';
import { createRedisCounters } from './redis-counters.js';
import { createRedisDocuments } from './redis-documents.js';
import { createRedisHistory } from './redis-history.js';
import { createRedisRegistry } from './redis-registry.js';

export interface RedisStoreOptions extends Partial<RegistryLimits> {
  readonly connection: RedisConnection;
  /** Where registry, counters, charges and documents live, when not on the same Redis; needed where that one may evict any key. */
  readonly registryConnection?: RedisConnection;
  /** First part of every key and channel. */
  readonly prefix?: string;
  /** Memory Redis may use before nothing more is cached; half of its `maxmemory` unless set. */
  readonly cacheMaxBytes?: number;
  /** What all documents may have together; 64 MiB unless set. */
  readonly documentsMaxBytes?: number;
  /** Longest time a call of cache, leases, quotas, presence or bus takes. */
  readonly timeoutMs?: number;
  /** Longest time a call of registry, its leases, counters, charges or documents takes: loads may be large. */
  readonly registryTimeoutMs?: number;
  /** Longest time that connecting takes, at the start and in {@link RedisStore.reconnect}. */
  readonly connectTimeoutMs?: number;
  /** Replicas that have to confirm a change of the registry, or who made it is told; 0 when absent. */
  readonly minReplicas?: number;
  /** Told of every call when it is over. */
  readonly onCall?: OnRedisCall | undefined;
  readonly logger: StoreLog;
  readonly clock: Clock;
}

const DOCUMENTS_MAX_BYTES = 67_108_864;

export interface RedisStore extends Store {
  readonly kind: 'redis';
  /**
   * Moves to other servers, or to the same with another password, without losing a call. On an error everything
   * stays as it was.
   * @throws StoreUnavailable, StoreRefused
   */
  reconnect(connection: RedisConnection, registryConnection?: RedisConnection): Promise<void>;
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

  const opened = await openLinks(options, connectTimeoutMs, { data: timeoutMs, registry: registryTimeoutMs });
  const { link: data, memory: dataMemory } = opened.data;
  const { link: registry, memory: registryMemory } = opened.registry;
  const bound = createCacheBound({
    link: data,
    watch: dataMemory,
    pattern: keys.cachePattern,
    maxBytes: options.cacheMaxBytes,
    clock,
    logger,
  });
  const bus = createRedisBus({ link: data, subscriber: opened.subscriber, keys, logger });

  const { minReplicas = 0 } = options;
  const turns = createTurns();
  let closed = false;

  async function move(connection: RedisConnection, registryConnection?: RedisConnection): Promise<void> {
    const next = await connectAll(connection, registryConnection, connectTimeoutMs, logger);
    if (closed) {
      await disconnectAll(Object.values(next), timeoutMs);
      throw unavailable('the store is closed');
    }
    const left = bus.swap(next.subscriber);
    await Promise.all([data.swap(next.data), registry.swap(next.registry), disconnect(left, timeoutMs)]);
    logger.info({ redis: describeConnection(connection) }, 'moved to another connection to Redis');
  }

  const kept = { link: registry, memory: () => registryMemory.latest };
  return {
    kind: 'redis',
    cache: createRedisCache({ link: data, keys, bound, clock }),
    history: createRedisHistory({ ...kept, keys: keys.history }),
    pins: createRedisHistory({ ...kept, keys: keys.pins }),
    leases: createRedisLeases(data, keys),
    registryLeases: createRedisLeases(registry, keys),
    ...durableParts({ link: registry, keys, replicaWaitMs, minReplicas, logger }, options),
    quotas: createRedisQuotas(data, keys),
    presence: createRedisPresence(data, keys),
    bus,
    health: () => worst(data.health(), registry.health(), dataMemory.full || registryMemory.full),
    memory: () => memoryOf(dataMemory, registryMemory, bound),
    // One at a time; who comes meanwhile waits.
    reconnect: (...to) => turns('', () => move(...to)),
    async close() {
      closed = true;
      dataMemory.stop();
      registryMemory.stop();
      await Promise.all([data.close(), registry.close(), disconnect(bus.subscriber, timeoutMs)]);
    },
  };
}

/** @param limitsMs longest time of a call over each */
async function openLinks(
  { connection, registryConnection, onCall, clock, logger }: RedisStoreOptions,
  connectTimeoutMs: number,
  limitsMs: { readonly data: number; readonly registry: number },
) {
  const clients = await connectAll(connection, registryConnection, connectTimeoutMs, logger);
  const open = (role: 'data' | 'registry') =>
    createWatchedLink({ client: clients[role], role, timeoutMs: limitsMs[role], onCall, clock, logger });
  const [data, registry] = [open('data'), open('registry')];
  await Promise.allSettled([data.memory.look(), registry.memory.look()]);
  return { data, registry, subscriber: clients.subscriber };
}

/** What is kept until it is deleted, and confirmed by replicas. */
function durableParts(durable: ReplicaWait & { readonly keys: Keys }, options: RedisStoreOptions) {
  return {
    registry: createRedisRegistry({ ...durable, limits: limitsOf(options) }),
    counters: createRedisCounters(durable),
    charges: createRedisCharges(durable),
    documents: createRedisDocuments({
      ...durable,
      maxBytes: options.documentsMaxBytes ?? DOCUMENTS_MAX_BYTES,
    }),
  };
}

function memoryOf(data: MemoryWatch, registry: MemoryWatch, bound: CacheBound): StoreMemory {
  const sum = (of: (one: ServerMemory) => number) =>
    data.latest === null ? null : data.latest.reduce((total, one) => total + of(one), 0);
  return {
    usedBytes: sum(({ usedBytes }) => usedBytes),
    maxBytes: sum(({ maxBytes }) => maxBytes) || null,
    cacheMaxBytes: bound.maxBytes,
    full: data.full || registry.full,
  };
}

function worst(data: StoreHealth, registry: StoreHealth, full: boolean): StoreHealth {
  if (!registry.ok) return { ...registry, reason: `registry: ${registry.reason}` };
  if (!data.ok) return { ...data, reason: `cache: ${data.reason}` };
  return full ? { ok: true, reason: OUT_OF_MEMORY } : { ok: true };
}

const OUT_OF_MEMORY =
  'Redis has no memory left and refuses changes: raise its maxmemory, or remove what else fills it';
