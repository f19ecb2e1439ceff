import { randomId } from '../../chance.js';
import { type RegistryCommit, RegistryConflict, type RegistryRecord, type RegistryStore } from '../port.js';
import { StoreRefused } from '../refused.js';
import type { RegistryLimits } from '../registry-limits.js';
import { awaitReplicas, type ReplicaWait } from './await-replicas.js';
import type { Keys } from './keys.js';

export interface RedisRegistryOptions extends ReplicaWait {
  readonly keys: Keys;
  readonly limits: RegistryLimits;
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
  let asked = '';

  return {
    async load(absent = 'create') {
      const [epoch, version, loadedFrom, records, revisions] = await link.call((client) =>
        client.dgwLoad(...registry, absent === 'create' ? randomId() : ''),
      );
      asked = loadedFrom;
      if (epoch !== '') server = loadedFrom;
      return { epoch, version: checked(version), records: joinRecords(records, revisions) };
    },

    async create({ epoch, version, records, audit }) {
      const [made, ...replicas] = await link.call((client) =>
        client.dgwCreate(...registry, [
          epoch,
          version,
          randomId(),
          limits.auditMax,
          records.size,
          ...[...records].flatMap(([id, { value, revision }]) => [id, value, revision]),
          ...audit,
        ]),
      );
      if (made === 0) return false;
      await awaitReplicas(registry[0], replicas as [number, number], { version }, options);
      return true;
    },

    movedOn() {
      const [before, now] = [server, asked].map((home) => home.split('/')[0] ?? '');
      return before !== '' && now !== '' && before !== now;
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
      const [, version, ...replicas] = reply;
      // Any of its keys leads to the server.
      const unconfirmed = await awaitReplicas(registry[0], replicas, { version }, options);
      return unconfirmed === null ? { version } : { version, unconfirmed };
    },

    async readAudit(limit, before) {
      if (limit < 1 || (before !== undefined && !/^\d{1,20}-\d{1,20}$/.test(before))) return [];
      const end = before === undefined ? '+' : `(${before}`;
      const entries = await link.call((client) => client.xrevrange(registry[4], end, '-', 'COUNT', limit));
      return entries.map(([id, [, text]]) => ({ id, text: text ?? '' }));
    },
  };
}

function commitArguments(change: RegistryCommit, limits: RegistryLimits): (string | number)[] {
  const { writes, expect = new Map<string, number>(), audit = [] } = change;
  const write = ([id, value]: readonly [string, string | null]) =>
    value === null ? ['delete', id, ''] : ['set', id, value];
  return [
    randomId(),
    limits.auditMax,
    limits.tombstonesMax,
    expect.size,
    writes.size,
    audit.length,
    change.epoch ?? '',
    change.version ?? '',
    ...[...expect].flat(),
    ...[...writes].flatMap(write),
    ...audit,
  ];
}

/** @throws StoreRefused where there is none: what a script answers ends at a number that is none */
function checked(version: number | undefined): number {
  if (version !== undefined) return version;
  throw new StoreRefused(
    'the registry in Redis is damaged: its version is no number; restore Redis from a backup',
  );
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
