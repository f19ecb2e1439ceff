import { randomUUID } from 'node:crypto';
import type { StoreLog } from '../log.js';
import { type RegistryCommit, RegistryConflict, type RegistryRecord, type RegistryStore } from '../port.js';
import type { RegistryLimits } from '../registry-limits.js';
import { describeFailure, unwrap } from './failure.js';
import type { Keys } from './keys.js';
import type { Link } from './link.js';
import type { CommitDone } from './scripts.js';

export interface RedisRegistryOptions {
  readonly link: Link;
  readonly keys: Keys;
  readonly limits: RegistryLimits;
  /** Longest wait for replicas to confirm a commit. */
  readonly replicaWaitMs: number;
  readonly logger: StoreLog;
}

/** The registry in Redis; how it is laid out there is said in scripts.ts. */
export function createRedisRegistry(options: RedisRegistryOptions): RegistryStore {
  const { link, limits } = options;
  const { registry } = options.keys;
  /**
   * The server that the last load came from. After a failover or a restart another one answers: it may have lost
   * commits and counted on from there, and a delta from it would not be one to what was loaded.
   */
  let server = '';

  return {
    async load() {
      const [epoch, version, loadedFrom, records, revisions] = await link.call((client) =>
        client.dgwLoad(...registry, randomUUID()),
      );
      server = loadedFrom;
      return { epoch, version, records: joinRecords(records, revisions) };
    },

    async changes(epoch, version) {
      const delta = await link.call((client) => client.dgwChanges(...registry, epoch, version, server));
      if (delta === null) return null;
      const [latest, rows] = delta;
      const changed = rows.map(([id, revision, present, value]): [string, RegistryRecord | null] => [
        id,
        present === 1 ? { value, revision } : null,
      ]);
      return { epoch, version: latest, changed: new Map(changed) };
    },

    async commit(change) {
      const reply = await link.call((client) =>
        client.dgwCommit(...registry, commitArguments(change, limits)),
      );
      if (reply[0] === 'conflict') throw new RegistryConflict(reply[1]);
      const [, version, connected] = reply;
      if (connected > 0) await awaitReplicas(reply, options);
      return { version };
    },

    async readAudit(limit, before) {
      if (limit < 1 || (before !== undefined && !/^\d{1,20}-\d{1,20}$/.test(before))) return [];
      const end = before === undefined ? '+' : `(${before}`;
      const entries = await link.call((client) => client.xrevrange(registry[4], end, '-', 'COUNT', limit));
      return entries.map(([id, [, text]]) => ({ id, text: text ?? '' }));
    },
  };
}

/**
 * Waits until the replicas have the commit. It is made already: when they do not confirm, that is said, for a
 * failover now could lose it. Those not heard from for seconds are not waited for: each would cost the full time.
 */
async function awaitReplicas(
  [, version, connected, attentive]: CommitDone,
  { link, keys, replicaWaitMs, logger }: RedisRegistryOptions,
): Promise<void> {
  let confirmed = 0;
  let fault = 'no answer in time';
  try {
    const [, count] = await link.call(async (client) =>
      // The key leads WAIT to the server of the commit, in a cluster too.
      unwrap(await client.pipeline().exists(keys.registry[0]).wait(attentive, replicaWaitMs).exec()),
    );
    confirmed = Number(count);
  } catch (error) {
    fault = describeFailure(error);
  }
  if (confirmed >= connected) return;
  logger.warn(
    { version, replicas: connected, confirmed, fault },
    'a registry change was made, but not every replica of Redis has confirmed it',
  );
}

function commitArguments(change: RegistryCommit, limits: RegistryLimits): (string | number)[] {
  const { writes, expect = new Map<string, number>(), audit = [] } = change;
  const write = ([id, value]: readonly [string, string | null]) =>
    value === null ? ['delete', id, ''] : ['set', id, value];
  return [
    randomUUID(),
    limits.auditMax,
    limits.tombstonesMax,
    expect.size,
    writes.size,
    audit.length,
    ...[...expect].flat(),
    ...[...writes].flatMap(write),
    ...audit,
  ];
}

function joinRecords(records: readonly string[], revisions: readonly string[]): Map<string, RegistryRecord> {
  const revisionOf = new Map<string, number>();
  for (let at = 0; at + 1 < revisions.length; at += 2) {
    revisionOf.set(revisions[at] as string, Number(revisions[at + 1]));
  }
  const joined = new Map<string, RegistryRecord>();
  for (let at = 0; at + 1 < records.length; at += 2) {
    const id = records[at] as string;
    joined.set(id, { value: records[at + 1] as string, revision: revisionOf.get(id) ?? 0 });
  }
  return joined;
}
