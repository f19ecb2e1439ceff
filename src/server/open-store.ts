/** Opens the configured store, and waits for Redis if it is unavailable. Loads only the modules of that store. */
import type { Logger } from 'pino';
import type { Config } from '../config/load.js';
import type { Clock } from '../lib/clock.js';
import { nextTurn, sleep } from '../lib/time.js';
import { type Store, StoreUnavailable } from '../store/port.js';
import type { RedisConnection } from '../store/redis/connect.js';
import type { RedisCall } from '../store/redis/link.js';
import type { RedisStore } from '../store/redis/redis-store.js';
import { StoreRefused } from '../store/refused.js';

const RETRY_MS = 1000;
/**
 * @param onCall called after each call of Redis
 * @param whileAway called once if Redis is unavailable at startup; its result is called when Redis is available
 * @throws StoreRefused if the store must not be used
 */
export async function openStore(
  config: Config,
  clock: Clock,
  logger: Logger,
  whileAway: () => Promise<() => Promise<void>>,
  onCall?: (call: RedisCall) => void,
): Promise<Store> {
  const connection = redisConnection(config);
  if (connection === null) return await openEmbedded(config, clock, logger);
  let release: (() => Promise<void>) | null = null;
  for (;;) {
    try {
      const store = await openRedis(config, clock, logger, onCall);
      await release?.();
      return store;
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) {
        await release?.();
        throw error;
      }
      if (release === null) {
        logger.error({ err: error }, 'Redis is unreachable; waiting for it');
        release = await whileAway();
      }
      await sleep(RETRY_MS);
    }
  }
}

async function openEmbedded(config: Config, clock: Clock, logger: Logger): Promise<Store> {
  const { createEmbeddedStore } = await import('../store/embedded/embedded-store.js');
  return await createEmbeddedStore({
    dataDir: config.store.dataDir,
    cacheMaxBytes: config.cache.embeddedMaxBytes,
    clock,
    logger,
    onLost: endOfFolder,
  });
}

/** Ends this process: two gateways on one folder would see each other's changes as damage. */
function endOfFolder(): void {
  nextTurn(() => {
    throw new StoreRefused(
      'the data folder was removed, or another process has taken it over; this process ends',
    );
  });
}

async function openRedis(
  config: Config,
  clock: Clock,
  logger: Logger,
  onCall?: (call: RedisCall) => void,
): Promise<RedisStore> {
  const { createRedisStore } = await import('../store/redis/redis-store.js');
  const connection = redisConnection(config) as RedisConnection;
  const registryUrl = config.secrets.get('REDIS_REGISTRY_URL');
  const registryConnection = () => (registryUrl === undefined ? undefined : { url: registryUrl.read() });
  const first = registryConnection();
  const { prefix, timeoutMs, minReplicas, cacheMaxBytes, idempotencyMaxBytes } = config.redis;
  const store = await createRedisStore({
    connection,
    ...(first === undefined ? {} : { registryConnection: first }),
    prefix,
    ...(cacheMaxBytes === undefined ? {} : { cacheMaxBytes }),
    timeoutMs,
    minReplicas,
    documentsMaxBytes: idempotencyMaxBytes,
    onCall,
    clock,
    logger,
  });
  const move = () => {
    store.reconnect(redisConnection(config) as RedisConnection, registryConnection()).then(
      () => logger.info('connected to the Redis of the changed secret'),
      (error: unknown) =>
        logger.error(
          { err: error },
          'failed to connect with the changed Redis secret; keeping the current connection',
        ),
    );
  };
  for (const name of ['REDIS_URL', 'REDIS_REGISTRY_URL', 'REDIS_PASSWORD'])
    config.secrets.get(name)?.onChange(move);
  return store;
}

/** @returns null for the embedded store */
export function redisConnection(config: Config): RedisConnection | null {
  const { sentinels, sentinelName, cluster, username, tls } = config.redis;
  const password = config.secrets.get('REDIS_PASSWORD')?.read();
  const credentials = {
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    tls,
  };
  if (sentinels.length > 0) return { sentinels, name: sentinelName, ...credentials };
  if (cluster.length > 0) return { cluster, ...credentials };
  const url = config.secrets.get('REDIS_URL')?.read();
  return url === undefined ? null : { url };
}
