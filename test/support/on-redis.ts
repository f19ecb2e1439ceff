/** What stands on a Redis: stores in this process, and gateways as processes of their own. */
import { randomBytes } from 'node:crypto';
import { onTestFinished } from 'vitest';
import { createClock } from '../../src/lib/clock.js';
import type { SimulatorOptions } from '../../src/simulator/simulator-api.js';
import type { Store } from '../../src/store/port.js';
import { createRedisStore } from '../../src/store/redis/redis-store.js';
import { type Env, logLines, type Platform, type Process, startPlatform } from './processes.js';
import { createRecordedLog } from './recorded-log.js';
import { type RedisServer, startRedis } from './redis.js';

/** A connection of its own to what lies below a prefix, in real time. Closed with the test. */
export async function openOnRedis(
  { url }: Pick<RedisServer, 'url'>,
  prefix: string,
  timeoutMs = 10_000,
): Promise<Store> {
  const { logger } = createRecordedLog();
  const store = await createRedisStore({
    connection: { url },
    prefix,
    timeoutMs,
    clock: createClock(),
    logger,
  });
  onTestFinished(() => store.close());
  return store;
}

export interface RedisScene {
  readonly platform: Platform;
  readonly redis: RedisServer;
  /** Settings of gateways that are replicas of each other. */
  readonly env: Env;
}

/**
 * A platform and a Redis, ended with the test.
 * @param more settings beside those every replica has
 * @param args of redis-server
 */
export async function openRedisScene(
  more: Env = {},
  switches: SimulatorOptions['switches'] = {},
  args: readonly string[] = [],
): Promise<RedisScene> {
  const [platform, redis] = await Promise.all([startPlatform({ switches }), startRedis({ args })]);
  onTestFinished(() => redis.close());
  const env = {
    ...platform.env,
    GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
    ADMIN_TOKEN: 'an-admin-token-for-tests',
    REDIS_URL: redis.url,
    ...more,
  };
  return { platform, redis, env };
}

/** The processes of a gateway that serve the data plane, oldest first, by its log. */
export function dataPidsOf(gateway: Process): number[] {
  return logLines(gateway)
    .filter(({ msg, urls }) => msg === 'listening' && 'data' in (urls as object))
    .map(({ pid }) => pid as number);
}
