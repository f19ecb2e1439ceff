/** Doctor checks of Redis. */
import { Cluster, type Redis } from 'ioredis';
import { wallMs } from '../../lib/time.js';
import { sentence } from '../../lib/words.js';
import {
  connect,
  describeConnection,
  disconnect,
  type RedisClient,
  type RedisConnection,
} from '../../store/redis/connect.js';
import { type CheckResult, type Look, notWell, skipped, warning } from '../../telemetry/checks.js';

type ServerFacts = Awaited<ReturnType<typeof serverFacts>>;

const CONNECT_MS = 5_000;
const DRIFT_MS = 60_000;

/** The first check reads the facts, the others evaluate them. */
export function redisChecks(connection: RedisConnection, timeoutMs: number): Readonly<Record<string, Look>> {
  let facts: readonly ServerFacts[] | null = null;
  const judged = (judge: (all: readonly ServerFacts[]) => string | CheckResult) => async () =>
    facts === null ? skipped('Redis did not answer') : judge(facts);
  return {
    Redis: async () => {
      const where = describeConnection(connection);
      try {
        facts = await readFacts(connection, Math.max(CONNECT_MS, timeoutMs));
      } catch (error) {
        const says = sentence(error instanceof Error ? error.message : String(error));
        return notWell(says, `Start Redis at ${where}, or correct REDIS_URL.`);
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

async function serverFacts(server: Redis) {
  const info = await server.info();
  const read = (name: string) => new RegExp(`^${name}:(\\S*)`, 'm').exec(info)?.[1] ?? '';
  // Managed servers forbid CONFIG: it is unknown then whether snapshots are enabled.
  const save = await server.config('GET', 'save').catch(() => null);
  const snapshots = Array.isArray(save) && typeof save[1] === 'string' ? save[1] !== '' : null;
  const before = wallMs();
  const [seconds, micros] = (await server.time()).map(Number);
  const nowMs = (before + wallMs()) / 2;
  return {
    version: read('redis_version'),
    policy: read('maxmemory_policy'),
    // 0: no limit.
    maxBytes: Number(read('maxmemory')),
    appendOnly: read('aof_enabled') === '1',
    snapshots,
    saved: read('rdb_last_bgsave_status') !== 'err' && read('aof_last_write_status') !== 'err',
    // Its clock minus ours.
    driftMs: (seconds ?? 0) * 1000 + (micros ?? 0) / 1000 - nowMs,
  };
}

function eviction(all: readonly ServerFacts[]): string | CheckResult {
  const policies = [...new Set(all.map(({ policy }) => policy))].join(', ');
  if (policies.includes('allkeys-'))
    return notWell(
      `With maxmemory-policy ${policies} Redis may evict teams, keys and tokens, so the gateway does not start.`,
      'Set it to volatile-lru, or set REDIS_REGISTRY_URL to another Redis.',
    );
  if (policies === '')
    return warning(
      'Redis does not report its maxmemory-policy.',
      'Ensure that it is noeviction or volatile-*; otherwise teams, tokens and history may be evicted.',
    );
  if (all.some(({ policy, maxBytes }) => policy === 'noeviction' && maxBytes > 0))
    return warning(
      'Redis has maxmemory with noeviction: once it is full, changes are refused and reports are not cached.',
      'Set maxmemory-policy to volatile-lru; durable data has no expiry and is not evicted.',
    );
  return `maxmemory-policy ${policies}`;
}

function persistence(all: readonly ServerFacts[]): string | CheckResult {
  if (all.some(({ saved }) => !saved))
    return notWell(
      'Redis could not write its last snapshot or journal, so a restart would lose changes.',
      'Check the log and the disk of Redis.',
    );
  if (all.every(({ appendOnly }) => appendOnly)) return 'append-only file';
  if (all.some(({ appendOnly, snapshots }) => !appendOnly && snapshots === false))
    return warning(
      'Redis writes no append-only file and no snapshots: its restart loses teams, keys and tokens.',
      'Set appendonly yes; running gateways restore what they have in memory, a backup the rest.',
    );
  return warning(
    'Redis writes snapshots only: its crash loses the changes since the last one.',
    'Set appendonly yes.',
  );
}

function clock(all: readonly ServerFacts[]): string | CheckResult {
  const worst = Math.max(...all.map(({ driftMs }) => Math.abs(driftMs)));
  if (worst <= DRIFT_MS) return `${Math.round(worst / 1000)} s apart`;
  return warning(
    `The clocks of Redis and this machine differ by ${Math.round(worst / 1000)} s.`,
    'Synchronise both (NTP).',
  );
}
