/** Doctor's looks at Redis: whether it can be used, and whether it keeps what it is given. */
import { Cluster, type Redis } from 'ioredis';
import { wallMs } from '../../lib/time.js';
import {
  connect,
  describeConnection,
  disconnect,
  type RedisClient,
  type RedisConnection,
} from '../../store/redis/connect.js';
import type { Look } from '../../telemetry/checks.js';
import { type Found, notWell, skipped, warning } from './found.js';

interface ServerFacts {
  readonly version: string;
  readonly policy: string;
  /** `maxmemory`; 0: no limit. */
  readonly maxBytes: number;
  readonly appendOnly: boolean;
  /** Whether snapshots are made at all; null: it does not tell. */
  readonly snapshots: boolean | null;
  readonly saved: boolean;
  /** Its clock less ours, milliseconds. */
  readonly driftMs: number;
}

/** Connecting once may take longer than one call. */
const CONNECT_MS = 5_000;
const DRIFT_MS = 60_000;

/** The first look asks; the others judge what it found. */
export function redisLooks(connection: RedisConnection, timeoutMs: number): Readonly<Record<string, Look>> {
  let facts: readonly ServerFacts[] | null = null;
  const judged = (judge: (all: readonly ServerFacts[]) => string | Found) => async () =>
    facts === null ? skipped('Redis did not answer') : judge(facts);
  return {
    Redis: async () => {
      const where = describeConnection(connection);
      try {
        facts = await readFacts(connection, Math.max(CONNECT_MS, timeoutMs));
      } catch (error) {
        const says = `${error instanceof Error ? error.message : String(error)}`;
        return { level: 'not well', says, do: `start Redis at ${where}, or correct REDIS_URL` };
      }
      return `${where}, version ${[...new Set(facts.map(({ version }) => version))].join(', ')}`;
    },
    'Redis: eviction': judged(eviction),
    'Redis: persistence': judged(persistence),
    'Redis: clock': judged(clock),
  };
}

async function readFacts(connection: RedisConnection, limitMs: number): Promise<readonly ServerFacts[]> {
  const client: RedisClient = await connect(connection, 'doctor', limitMs);
  try {
    const servers = client instanceof Cluster ? client.nodes('master') : [client];
    return await Promise.all(servers.map(serverFacts));
  } finally {
    await disconnect(client, limitMs);
  }
}

async function serverFacts(server: Redis): Promise<ServerFacts> {
  const info = await server.info();
  const read = (name: string) => new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1] ?? '';
  // Managed servers forbid CONFIG.
  const save = await server.config('GET', 'save').catch(() => null);
  const snapshots = Array.isArray(save) && typeof save[1] === 'string' ? save[1] !== '' : null;
  const before = wallMs();
  const [seconds, micros] = (await server.time()).map(Number);
  const nowMs = (before + wallMs()) / 2;
  return {
    version: read('redis_version'),
    policy: read('maxmemory_policy'),
    maxBytes: Number(read('maxmemory')),
    appendOnly: read('aof_enabled') === '1',
    snapshots,
    saved: read('rdb_last_bgsave_status') !== 'err' && read('aof_last_write_status') !== 'err',
    driftMs: (seconds ?? 0) * 1000 + (micros ?? 0) / 1000 - nowMs,
  };
}

function eviction(all: readonly ServerFacts[]): string | Found {
  const policies = [...new Set(all.map(({ policy }) => policy))].join(', ');
  if (policies.includes('allkeys-'))
    return notWell(
      `maxmemory-policy ${policies} may evict teams, keys and tokens: the start is refused`,
      'set it to volatile-lru, or let REDIS_REGISTRY_URL name another Redis for them',
    );
  if (policies === '')
    return warning(
      'Redis does not tell its maxmemory-policy',
      'see to it that it is noeviction or volatile-*, or teams, tokens and history may be evicted',
    );
  if (all.some(({ policy, maxBytes }) => policy === 'noeviction' && maxBytes > 0))
    return warning(
      'maxmemory is set with noeviction: once it is full, changes are refused and answers are not kept',
      'set maxmemory-policy to volatile-lru: what must stay does not expire, so it is not evicted',
    );
  return `maxmemory-policy ${policies}`;
}

function persistence(all: readonly ServerFacts[]): string | Found {
  if (all.some(({ saved }) => !saved))
    return notWell(
      'Redis could not write its last snapshot or journal',
      "look at Redis's log and at its disk: a restart would lose changes",
    );
  if (all.every(({ appendOnly }) => appendOnly)) return 'append-only file';
  if (all.some(({ appendOnly, snapshots }) => !appendOnly && snapshots === false))
    return warning(
      'neither append-only file nor snapshots: a restart of Redis loses teams, keys and tokens',
      'set appendonly yes; running gateways put back what they hold, a backup does the rest',
    );
  return warning(
    'snapshots alone: a crash of Redis loses the changes since the last one',
    'set appendonly yes',
  );
}

function clock(all: readonly ServerFacts[]): string | Found {
  const worst = Math.max(...all.map(({ driftMs }) => Math.abs(driftMs)));
  if (worst <= DRIFT_MS) return `${Math.round(worst / 1000)} s apart`;
  return warning(
    `the clocks of Redis and this machine differ by ${Math.round(worst / 1000)} s`,
    'synchronise both (NTP)',
  );
}
