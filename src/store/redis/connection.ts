import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { randomShare } from '../../chance.js';
import { StoreRefused } from '../refused.js';
import { retryDelayMs } from './retry.js';
import { SCRIPTS } from './scripts.js';

/** One server, `redis://` or `rediss://` (TLS), with user, password and database number in the URL. */
export interface UrlConnection {
  readonly url: string;
}

export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

interface Credentials {
  readonly username?: string;
  readonly password?: string;
  readonly tls?: boolean;
}

/** The primary that the sentinels call `name`; user and password are the primary's. */
export interface SentinelConnection extends Credentials {
  readonly sentinels: readonly NodeAddress[];
  readonly name: string;
  readonly db?: number;
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
  readonly sentinelTls?: boolean;
}

/** A Redis Cluster, found through any of its nodes. */
export interface ClusterConnection extends Credentials {
  readonly cluster: readonly NodeAddress[];
}

export type RedisConnection = UrlConnection | SentinelConnection | ClusterConnection;

export type RedisClient = Redis | Cluster;

/** All servers that hold keys. */
export function serversOf(client: RedisClient): readonly Redis[] {
  return client instanceof Cluster ? client.nodes('master') : [client];
}

interface ServerAddress extends NodeAddress, Credentials {
  readonly db: number;
}

/** A dead peer is probed after this much silence; the kernel gives it up about 10 s later. */
const KEEP_ALIVE_MS = 5_000;
/**
 * With a command unanswered for so long the socket is given up. TCP alone would go on retransmitting to a vanished
 * peer for a quarter of an hour. Far above any command's timeout: slow is not down.
 */
const SILENT_SOCKET_MS = 5_000;
const SLOTS_REFRESH_MS = 5_000;

/**
 * Reads a Redis URL: `redis[s]://[user[:password]@]host[:port][/db]`.
 * @throws StoreRefused naming the fault, never the URL: it may hold a password.
 */
export function parseRedisUrl(url: string): ServerAddress {
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

/** Where a connection leads, for logs and messages; holds no secret. */
export function describeConnection(connection: RedisConnection): string {
  if ('url' in connection) {
    const { host, port, db } = parseRedisUrl(connection.url);
    return `${host}:${port}/${db}`;
  }
  if ('sentinels' in connection) return `${connection.name} by sentinels ${listNodes(connection.sentinels)}`;
  return `cluster ${listNodes(connection.cluster)}`;
}

function listNodes(nodes: readonly NodeAddress[]): string {
  return nodes.map(({ host, port }) => `${host}:${port}`).join(',');
}

/**
 * Builds an ioredis client that has not connected yet. Its defaults keep callers waiting (12 s for a frozen server,
 * 73 s for a refused one were measured), therefore: no offline queue, nothing retried or resent behind the caller's
 * back, no auto-pipelining. How long one call may take is bounded by the link (see link.ts).
 *
 * @param role shown by `CLIENT LIST` as `dsp-gateway:<role>`.
 * @throws StoreRefused when the connection's settings cannot be right.
 */
export function createClient(
  connection: RedisConnection,
  role: string,
  connectTimeoutMs: number,
): RedisClient {
  const shared = sharedOptions(role, connectTimeoutMs);
  if ('url' in connection) {
    const { tls, ...server } = parseRedisUrl(connection.url);
    return new Redis({ ...shared, ...server, ...(tls ? { tls: {} } : {}) });
  }
  if ('sentinels' in connection)
    return new Redis({ ...shared, ...sentinelOptions(connection, connectTimeoutMs) });
  return createCluster(connection, shared);
}

function sharedOptions(role: string, connectTimeoutMs: number) {
  return {
    lazyConnect: true,
    // RESP2 is what every server and proxy speaks; nothing here needs RESP3.
    protocol: 2,
    connectionName: `dsp-gateway:${role}`,
    connectTimeout: connectTimeoutMs,
    keepAlive: KEEP_ALIVE_MS,
    socketTimeout: SILENT_SOCKET_MS,
    enableOfflineQueue: false,
    enableAutoPipelining: false,
    // A command in flight when the connection breaks fails; resent, a commit could be applied twice.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    retryStrategy: (attempt: number) => retryDelayMs(attempt, randomShare()),
    // After a failover the old primary answers so: the name has to be resolved again.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
    scripts: SCRIPTS,
  } satisfies RedisOptions;
}

function sentinelOptions(connection: SentinelConnection, connectTimeoutMs: number) {
  const { sentinels, name, db, username, password, tls } = connection;
  if (sentinels.length === 0 || name === '') {
    throw new StoreRefused('a Redis by sentinels needs at least one sentinel and the name of the primary');
  }
  return {
    sentinels: sentinels.map((node) => ({ ...node })),
    name,
    db: db ?? 0,
    username,
    password,
    sentinelUsername: connection.sentinelUsername,
    sentinelPassword: connection.sentinelPassword,
    sentinelCommandTimeout: connectTimeoutMs,
    sentinelRetryStrategy: (attempt: number) => retryDelayMs(attempt, randomShare()),
    failoverDetector: true,
    enableTLSForSentinelMode: tls === true,
    ...(tls === true ? { tls: {} } : {}),
    ...(connection.sentinelTls === true ? { sentinelTLS: {} } : {}),
  } satisfies RedisOptions;
}

function createCluster(connection: ClusterConnection, shared: ReturnType<typeof sharedOptions>): Cluster {
  const { cluster, username, password, tls } = connection;
  if (cluster.length === 0) throw new StoreRefused('a Redis cluster needs at least one node');
  const { retryStrategy: _, enableOfflineQueue, lazyConnect, scripts, ...node } = shared;
  return new Cluster(
    cluster.map((address) => ({ ...address })),
    {
      lazyConnect,
      enableOfflineQueue,
      scripts,
      // Repeating what failed with its connection could apply a commit twice.
      retryDelayOnFailover: 0,
      slotsRefreshInterval: SLOTS_REFRESH_MS,
      clusterRetryStrategy: (attempt) => retryDelayMs(attempt, randomShare()),
      // Names stay names, so that a node's certificate can be checked against it.
      dnsLookup: (address, callback) => callback(null, address),
      redisOptions: { ...node, username, password, ...(tls === true ? { tls: {} } : {}) },
    },
  );
}
