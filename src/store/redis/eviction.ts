import type { StoreLog } from '../log.js';
import { StoreRefused } from '../refused.js';
import { bounded } from './bounded.js';
import { type RedisClient, serversOf } from './connection.js';
import { describeFailure, isAnswer, unavailable } from './failure.js';

/**
 * Makes sure that the server of registry, history and pins may not evict them. Their keys do not expire, and a `volatile-*`
 * policy evicts only keys that do.
 *
 * @throws StoreRefused under an `allkeys-*` policy.
 * @throws StoreUnavailable when the server does not answer within `limitMs`.
 */
export async function refuseEviction(client: RedisClient, limitMs: number, logger: StoreLog): Promise<void> {
  let policies: (string | null)[];
  try {
    policies = await bounded(Promise.all(serversOf(client).map(readPolicy)), limitMs);
  } catch (error) {
    throw unavailable('Redis did not tell its eviction policy', error);
  }
  for (const policy of policies) {
    if (policy === null) {
      logger.warn(
        {},
        'Redis does not tell its eviction policy; see to it that maxmemory-policy is noeviction or volatile-*, or teams, tokens and history may be evicted',
      );
    } else if (policy.startsWith('allkeys-')) {
      throw new StoreRefused(
        `Redis has maxmemory-policy ${policy}, which may evict teams, keys and tokens: set it to noeviction or to a volatile-* policy, or let REDIS_REGISTRY_URL name another Redis for them`,
      );
    }
  }
}

/** By CONFIG, or where that is forbidden, as on managed servers, by INFO; null when both are. */
async function readPolicy(server: RedisClient): Promise<string | null> {
  const config = await ask(server, 'CONFIG', 'GET', 'maxmemory-policy');
  if (Array.isArray(config) && typeof config[1] === 'string') return config[1];
  const info = await ask(server, 'INFO', 'memory');
  return /^maxmemory_policy:(\S+)/m.exec(String(info))?.[1] ?? null;
}

async function ask(server: RedisClient, command: string, ...args: string[]): Promise<unknown> {
  try {
    return await server.call(command, ...args);
  } catch (error) {
    if (isAnswer(error)) return describeFailure(error);
    throw error;
  }
}
