/** The connections of a store: opened together, closed together. */
import type { StoreLog } from '../log.js';
import { connect, disconnect } from './connect.js';
import type { RedisClient, RedisConnection } from './connection.js';
import { refuseEviction } from './eviction.js';

/** One connection each, so that a large load or a wait for replicas delays no cache read. */
export interface Clients {
  readonly data: RedisClient;
  readonly registry: RedisClient;
  readonly subscriber: RedisClient;
}

/**
 * @param registryConnection where the registry lives, when not on the same server
 * @param limitMs longest time that each takes
 * @throws StoreUnavailable; StoreRefused when an eviction policy endangers the registry. None is left open then
 */
export async function connectAll(
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

export async function disconnectAll(clients: readonly RedisClient[], limitMs: number): Promise<void> {
  await Promise.all(clients.map((client) => disconnect(client, limitMs)));
}
