/** Connections to Redis: their settings, and how they are opened and closed. */
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { randomShare } from '../../lib/chance.js';
import { startTimer } from '../../lib/time.js';
import { StoreRefused } from '../refused.js';
import { bounded, unavailable } from './failure.js';

interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

interface Credentials {
  readonly username?: string;
  readonly password?: string;
  readonly tls?: boolean;
}

/**
 * A server by its URL, see {@link parseRedisUrl}; the primary `name` of sentinels, with the primary's user and password; or a
 * cluster, by any of its nodes.
 */
export type RedisConnection =
  | { readonly url: string }
  | (Credentials & { readonly sentinels: readonly NodeAddress[]; readonly name: string })
  | (Credentials & { readonly cluster: readonly NodeAddress[] });

export type RedisClient = Redis | Cluster;

export function serversOf(client: RedisClient): readonly Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client];
}

/** A silent peer is probed after this time; the kernel drops it about 10 s later. */
const KEEP_ALIVE_MS = 5_000;
/**
 * A socket with an older unanswered command is closed, as TCP would retransmit to a vanished peer for 15 minutes. Far above any
 * timeout of a command: a slow server is not down.
 */
const SILENT_SOCKET_MS = 5_000;
const SLOTS_REFRESH_MS = 5_000;

/**
 * Reads a Redis URL: `redis[s]://[user[:password]@]host[:port][/db]`.
 * @throws StoreRefused naming the fault, never the URL: it may hold a password.
 */
export function parseRedisUrl(url: string): NodeAddress & Credentials & { readonly db: number } {
  if (!URL.canParse(url)) throw new StoreRefused('the Redis URL is not a URL');
  const { protocol, hostname, port, pathname, username, password, search, hash } = new URL(url);
  if (protocol !== 'redis:' && protocol !== 'rediss:') {
    throw new StoreRefused(`the Redis URL must start with redis:// or rediss://, not ${protocol}`);
  }
  if (hostname === '') throw new StoreRefused('the Redis URL names no host');
  // ioredis would take any client option from the query, timeouts and queues among them.
  if (search !== '' || hash !== '')
    throw new StoreRefused('the Redis URL must have no query and no fragment');
  if (!/^(\/\d{0,5})?$/.test(pathname)) {
    throw new StoreRefused('the path of the Redis URL must be a database number or absent');
  }
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? 6379 : Number(port),
    db: Number(pathname.slice(1)),
    tls: protocol === 'rediss:',
    ...(username === '' ? {} : { username: decode(username) }),
    ...(password === '' ? {} : { password: decode(password) }),
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new StoreRefused('the user or password in the Redis URL is not percent-encoded correctly');
  }
}

/** For logs and messages, without secrets. */
export function describeConnection(connection: RedisConnection): string {
  const list = (nodes: readonly NodeAddress[]) => nodes.map(({ host, port }) => `${host}:${port}`).join(',');
  if ('url' in connection) {
    const { host, port, db } = parseRedisUrl(connection.url);
    return `${host}:${port}/${db}`;
  }
  if ('sentinels' in connection) return `${connection.name} by sentinels ${list(connection.sentinels)}`;
  return `cluster ${list(connection.cluster)}`;
}

/**
 * Creates an ioredis client without connecting. By default callers would wait long (12 s for a frozen server, 73 s for a refused
 * connection), therefore: no offline queue, no retries, no auto-pipelining. The link limits the time of a call (link.ts).
 * @param role shown by `CLIENT LIST` as `dsp-gateway:<role>`
 * @throws StoreRefused for invalid settings
 */
export function createClient(
  connection: RedisConnection,
  role: string,
  connectTimeoutMs: number,
): RedisClient {
  const retryStrategy = (attempt: number) => retryDelayMs(attempt);
  const common = { lazyConnect: true, enableOfflineQueue: false };
  const node = {
    // Every server and proxy speaks RESP2; nothing needs RESP3.
    protocol: 2,
    connectionName: `dsp-gateway:${role}`,
    connectTimeout: connectTimeoutMs,
    keepAlive: KEEP_ALIVE_MS,
    socketTimeout: SILENT_SOCKET_MS,
    enableAutoPipelining: false,
    // Resent, a commit could be applied twice.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    // The answer of the old primary after a failover: the name must be resolved again.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  } satisfies RedisOptions;
  if ('url' in connection) {
    const { tls, ...server } = parseRedisUrl(connection.url);
    return new Redis({ ...common, ...node, retryStrategy, ...server, ...(tls ? { tls: {} } : {}) });
  }
  const { username, password, tls = false } = connection;
  const secrets = { username, password, ...(tls ? { tls: {} } : {}) };
  if ('sentinels' in connection) {
    const { sentinels, name } = connection;
    if (sentinels.length === 0 || name === '')
      throw new StoreRefused('a Redis by sentinels needs at least one sentinel and the name of the primary');
    return new Redis({
      ...common,
      ...node,
      retryStrategy,
      ...secrets,
      name,
      failoverDetector: true,
      sentinels: sentinels.map((one) => ({ ...one })),
      sentinelCommandTimeout: connectTimeoutMs,
      sentinelRetryStrategy: retryStrategy,
      enableTLSForSentinelMode: tls,
    });
  }
  if (connection.cluster.length === 0) throw new StoreRefused('a Redis cluster needs at least one node');
  return new Cluster(
    connection.cluster.map((address) => ({ ...address })),
    {
      ...common,
      // A repetition could apply a commit twice.
      retryDelayOnFailover: 0,
      slotsRefreshInterval: SLOTS_REFRESH_MS,
      clusterRetryStrategy: retryStrategy,
      // Names stay names, so that a node's certificate can be checked against it.
      dnsLookup: (address, callback) => callback(null, address),
      redisOptions: { ...node, ...secrets },
    },
  );
}

const FIRST_MS = 50;
/** What was used while Redis was away is charged within a second of its return. */
const LONGEST_MS = 500;

/** Doubles up to {@link LONGEST_MS}, random in the upper half, so that replicas do not reconnect together. @param attempt from 1 */
export function retryDelayMs(attempt: number, random = randomShare()): number {
  const ceilingMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 10));
  return Math.round(ceilingMs / 2 + (ceilingMs / 2) * random);
}

/** Clients that must not reconnect. */
const closing = new WeakSet<RedisClient>();

/**
 * Opens a client, which then reconnects by itself.
 * @throws StoreUnavailable, after closing it, if it cannot be used within `limitMs`; StoreRefused for invalid settings
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
  // Also keeps ioredis from printing errors itself.
  client.on('error', remember);
  client.on('node error', remember);
  try {
    await bounded(open(client), limitMs);
    keepAlive(client);
    return client;
  } catch (error) {
    client.disconnect();
    // ioredis rejects with "Connection is closed."; the reason came as an event.
    throw unavailable(`cannot connect to Redis at ${describeConnection(connection)}`, reason ?? error);
  }
}

/** Reconnects a client that ioredis has ended because sentinels reported a failover while it reconnected. */
function keepAlive(client: RedisClient): void {
  client.on('end', () => {
    startTimer(() => {
      if (closing.has(client) || client.status !== 'end') return;
      client.connect().catch(() => {
        // The event 'error' says why; it ends again, or retries by itself.
      });
    }, retryDelayMs(1));
  });
}

async function open(client: RedisClient): Promise<void> {
  await client.connect();
  if (!(client instanceof Cluster)) return;
  // The first command connects to a node, and others are refused meanwhile.
  await Promise.all(client.nodes('master').map((node) => node.ping()));
  client.on('+node', (node: Redis) => {
    node.connect().catch(() => {
      // Reported as 'node error', and at the next call to that node.
    });
  });
}

/** Closes after commands in flight, but within `limitMs`. */
export async function disconnect(client: RedisClient, limitMs: number): Promise<void> {
  closing.add(client);
  try {
    await bounded(client.quit(), limitMs);
  } catch {
    // Not connected, or no answer.
  } finally {
    client.disconnect();
  }
}
