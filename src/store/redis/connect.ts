import { Cluster, type Redis } from 'ioredis';
import { randomShare } from '../../chance.js';
import { startTimer } from '../../time.js';
import type { StoreLog } from '../log.js';
import { bounded } from './bounded.js';
import { createClient, describeConnection, type RedisClient, type RedisConnection } from './connection.js';
import { refuseEviction } from './eviction.js';
import { unavailable } from './failure.js';
import { retryDelayMs } from './retry.js';

/** Clients that are to end. */
const closing = new WeakSet<RedisClient>();

/**
 * Opens a client and waits until it can be used. After that it reconnects by itself, for ever.
 *
 * @throws StoreUnavailable when it cannot be used within `limitMs`; nothing goes on in the background then.
 * @throws StoreRefused when the connection's settings cannot be right.
 */
export async function connect(
  connection: RedisConnection,
  role: string,
  limitMs: number,
): Promise<RedisClient> {
  const client = createClient(connection, role, limitMs);
  let reason: unknown;
  const remember = (error: unknown) => {
    reason = error;
  };
  // Also keeps ioredis from printing errors itself; the listener stays for as long as the client lives.
  client.on('error', remember);
  client.on('node error', remember);
  try {
    await bounded(open(client), limitMs);
    keepAlive(client);
    return client;
  } catch (error) {
    client.disconnect();
    // ioredis rejects with "Connection is closed."; why it was closed came as an event.
    throw unavailable(`cannot connect to Redis at ${describeConnection(connection)}`, reason ?? error);
  }
}

/**
 * ioredis ends a client for ever when the sentinels tell of a failover just while it connects anew, which is when they
 * do: it is connected again, until it is closed here.
 */
function keepAlive(client: RedisClient): void {
  client.on('end', () => {
    const delayMs = retryDelayMs(1, randomShare());
    startTimer(() => {
      if (closing.has(client) || client.status !== 'end') return;
      client.connect().catch(() => {
        // Why, was told as 'error'; it ends again, or retries by itself.
      });
    }, delayMs);
  });
}

async function open(client: RedisClient): Promise<void> {
  await client.connect();
  if (!(client instanceof Cluster)) return;
  // A cluster's nodes are connected to by their first command, and refuse others meanwhile.
  await Promise.all(client.nodes('master').map((node) => node.ping()));
  client.on('+node', (node: Redis) => {
    node.connect().catch(() => {
      // It shows as 'node error', and at the next call to that node.
    });
  });
}

/** Lets commands in flight end, then closes; cuts off what has not ended within `limitMs`. */
export async function disconnect(client: RedisClient, limitMs: number): Promise<void> {
  closing.add(client);
  try {
    await bounded(client.quit(), limitMs);
  } catch {
    // Not connected, or no answer: nothing is left to wait for.
  } finally {
    client.disconnect();
  }
}

/** One connection each, so that a large load or a wait for replicas delays no cache read. */
interface Clients {
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
