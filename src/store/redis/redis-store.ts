import type { Clock } from '../../lib/clock.js';
import { REGISTRY_LIMITS, type RegistryLimits, type Store, type StoreHealth } from '../port.js';
import type { StoreLog } from '../refused.js';
import { createTurns } from '../turns.js';
import {
  connect,
  describeConnection,
  disconnect,
  type RedisClient,
  type RedisConnection,
} from './connect.js';
import { createRedisCharges, createRedisCounters, createRedisDocuments } from './durable.js';
import { unavailable } from './failure.js';
import { createKeys } from './keys.js';
import { Link, type LinkOptions } from './link.js';
import { CacheBound, MemoryWatch, refuseEviction } from './memory.js';
import { createRedisOldPins, removeOldLayout } from './old-layout.js';
import { createRedisLeases, createRedisPresence, createRedisQuotas, RedisBus } from './redis-brief.js';
import { createRedisCache } from './redis-cache.js';
import { createRedisChanges } from './redis-changes.js';
import { createRedisDays } from './redis-days.js';
import { createRedisPins } from './redis-pins.js';
import { createRedisRegistry } from './redis-registry.js';

export interface RedisStoreOptions extends Partial<RegistryLimits> {
  readonly connection: RedisConnection;
  /** Separate Redis of registry, counters, charges, documents and history, if the first one may evict any key. */
  readonly registryConnection?: RedisConnection;
  /** Of every key and channel. */
  readonly prefix?: string;
  /** Memory of Redis above which nothing is cached; default: half of its `maxmemory`. */
  readonly cacheMaxBytes?: number;
  readonly documentsMaxBytes?: number;
  /** Of a call of cache, leases, quotas, presence or bus. */
  readonly timeoutMs?: number;
  /** Of any other call: loads may be large. */
  readonly registryTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** Replicas that must confirm a durable change, else it is reported as unconfirmed. */
  readonly minReplicas?: number;
  readonly onCall?: LinkOptions['onCall'];
  readonly logger: StoreLog;
  readonly clock: Clock;
}

export interface RedisStore extends Store {
  readonly kind: 'redis';
  /** Moves to other servers, or to another password, without losing a call. @throws StoreUnavailable, StoreRefused */
  reconnect(connection: RedisConnection, registryConnection?: RedisConnection): Promise<void>;
}

/**
 * @throws StoreUnavailable if Redis cannot be reached; StoreRefused if an eviction policy endangers the registry, or for an
 *   invalid setting
 */
export async function createRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const { connection, registryConnection, prefix = 'dgw', timeoutMs = 150, onCall } = options;
  const {
    connectTimeoutMs = 5_000,
    documentsMaxBytes = 67_108_864,
    minReplicas = 0,
    clock,
    logger,
  } = options;
  const registryTimeoutMs = options.registryTimeoutMs ?? 10 * timeoutMs;
  // Less than the time limit of the call, which would count as a missing answer.
  const replicaWaitMs = Math.floor(Math.min(timeoutMs, registryTimeoutMs / 2));
  const keys = createKeys(prefix);

  const clients = await connectAll(connection, registryConnection, connectTimeoutMs, logger);
  const open = (role: 'data' | 'registry', limitMs: number) => {
    const onOutOfMemory = () => memory.refused();
    const link = new Link(clients[role], { role, timeoutMs: limitMs, onOutOfMemory, onCall, clock, logger });
    const memory = new MemoryWatch(link, role, clock, logger);
    return { link, memory };
  };
  const data = open('data', timeoutMs);
  const registry = open('registry', registryTimeoutMs);
  // On the server of the registry. Reports wait for it: it has the time limit of the cache, and a connection of its own.
  const days = new Link(clients.days, {
    ...{ role: 'registry', timeoutMs, onCall, clock, logger },
    onOutOfMemory: () => registry.memory.refused(),
  });
  await Promise.allSettled([data.memory.look(), registry.memory.look()]);
  const bound = new CacheBound(data.memory, keys.cachePattern, options.cacheMaxBytes);
  const bus = new RedisBus(data.link, clients.subscriber, keys.channel, timeoutMs, logger);
  const durable = { link: registry.link, replicaWaitMs, minReplicas, logger };
  const turns = createTurns();
  let isRegistryApart = registryConnection !== undefined;
  let closed = false;

  async function move(to: RedisConnection, registryTo?: RedisConnection): Promise<void> {
    const next = await connectAll(to, registryTo, connectTimeoutMs, logger);
    if (closed) {
      await Promise.all(Object.values(next).map((client) => disconnect(client, timeoutMs)));
      throw unavailable('the store is closed');
    }
    isRegistryApart = registryTo !== undefined;
    await Promise.all([
      bus.swap(next.subscriber),
      data.link.swap(next.data),
      registry.link.swap(next.registry),
      days.swap(next.days),
    ]);
    logger.info({ redis: describeConnection(to) }, 'moved to another connection to Redis');
  }

  const channelOf = (name: string) => (isRegistryApart ? null : keys.channel(name));
  const { changes, teller } = createRedisChanges({ link: registry.link, days }, keys, bus, channelOf);
  return {
    kind: 'redis',
    cache: createRedisCache(data.link, keys, bound),
    days: createRedisDays({ link: days, memory: registry.memory }, keys.days, { bus, channelOf, teller }),
    changes,
    pins: createRedisPins(registry.link, keys.pins, registry.memory),
    oldPins: createRedisOldPins(registry.link, keys.oldPins),
    leases: createRedisLeases(data.link, keys),
    registryLeases: createRedisLeases(registry.link, keys),
    registry: createRedisRegistry(durable, keys.registry, { ...REGISTRY_LIMITS, ...options }),
    counters: createRedisCounters(durable, keys.counters),
    charges: createRedisCharges(durable, keys.charges),
    documents: createRedisDocuments(durable, keys.documents, documentsMaxBytes),
    quotas: createRedisQuotas(data.link, keys),
    presence: createRedisPresence(data.link, keys),
    bus,
    removeOldLayout: (isStopped) => removeOldLayout(data.link, registry.link, keys.oldLayout, isStopped),
    health: () => worst({ registry: registry.link, days, cache: data.link }, [registry.memory, data.memory]),
    memory() {
      const servers = data.memory.latest;
      return {
        usedBytes: servers.length === 0 ? null : servers.reduce((sum, one) => sum + one.usedBytes, 0),
        maxBytes: servers.reduce((sum, one) => sum + one.maxBytes, 0) || null,
        cacheMaxBytes: bound.maxBytes,
        full: data.memory.full || registry.memory.full,
      };
    },
    // One at a time.
    reconnect: (...to) => turns('', () => move(...to)),
    async close() {
      closed = true;
      data.memory.stop();
      registry.memory.stop();
      await Promise.all([data.link.close(), registry.link.close(), days.close(), bus.close()]);
    },
  };
}

/**
 * Opens separate connections, so that a large load or a wait for replicas delays no cache read.
 * @param limitMs of each
 * @throws StoreUnavailable; StoreRefused if an eviction policy endangers the registry. All are closed then
 */
async function connectAll(
  connection: RedisConnection,
  registryConnection: RedisConnection | undefined,
  limitMs: number,
  logger: StoreLog,
) {
  const opened: RedisClient[] = [];
  const open = async (to: RedisConnection, role: string) => {
    const client = await connect(to, role, limitMs);
    opened.push(client);
    return client;
  };
  try {
    const data = await open(connection, 'data');
    const registry = await open(registryConnection ?? connection, 'registry');
    const days = await open(registryConnection ?? connection, 'days');
    const subscriber = await open(connection, 'bus');
    await refuseEviction(registry, limitMs, logger);
    return { data, registry, days, subscriber };
  } catch (error) {
    await Promise.all(opened.map((client) => disconnect(client, limitMs)));
    throw error;
  }
}

/** The first that is away, else whether one is full. */
function worst(links: Readonly<Record<string, Link>>, memories: readonly MemoryWatch[]): StoreHealth {
  for (const [part, link] of Object.entries(links)) {
    const health = link.health();
    if (!health.ok) return { ...health, reason: `${part}: ${health.reason}` };
  }
  return memories.some(({ full }) => full) ? { ok: true, reason: OUT_OF_MEMORY } : { ok: true };
}

const OUT_OF_MEMORY =
  'Redis has no memory left and refuses changes: raise its maxmemory, or remove what else fills it';
