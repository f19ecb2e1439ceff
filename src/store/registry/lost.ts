/**
 * A replica's copy of the registry, and the repair of acknowledged commits that the store has lost, as after a failover of
 * Redis, which replicates asynchronously.
 */
import { createHash } from 'node:crypto';
import Type from 'typebox';
import { randomShare } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { sleep } from '../../lib/time.js';
import { auditLine, GATEWAY_ACTOR } from '../../telemetry/audit.js';
import {
  type RegistryCommit,
  RegistryConflict,
  type RegistryDelta,
  type RegistryRecord,
  type RegistrySnapshot,
  type RegistryStore,
} from '../port.js';

export type RegistryCopy = ReturnType<typeof createRegistryCopy>;

interface Own {
  readonly writes: RegistryCommit['writes'];
  readonly version: number;
  /** Number of the running or last look when the commit became known. */
  readonly look: number;
}

/** Own commits are applied at once, so a look at the store may find an older version; the copy never goes back. */
export function createRegistryCopy(first: RegistrySnapshot) {
  let { epoch, version } = first;
  let records = new Map(first.records);
  let mustLoad = false;
  let looks = 0;
  /** Own commits newer than the copy's version. */
  let own: readonly Own[] = [];
  const newest = () => Math.max(version, ...own.map((commit) => commit.version));

  function set(id: string, record: RegistryRecord | null): void {
    if (record === null) records.delete(id);
    else records.set(id, record);
  }

  /** Applies them in order. @returns the ids that may have changed; the same below */
  function applyOwn(): string[] {
    own = own.filter((commit) => commit.version > version).sort((a, b) => a.version - b.version);
    for (const commit of own) {
      for (const [id, value] of commit.writes) {
        set(id, value === null ? null : { value, revision: commit.version });
      }
    }
    return own.flatMap(({ writes }) => [...writes.keys()]);
  }

  return {
    get epoch() {
      return epoch;
    },
    /** The copy has every commit up to this version, and maybe own ones beyond. */
    get version() {
      return version;
    },
    /** The newest version, including own commits. */
    get newest() {
      return newest();
    },
    /** Whether no commit of another replica is missing up to the newest version. */
    get isComplete() {
      return own.length === newest() - version;
    },
    get records(): ReadonlyMap<string, RegistryRecord> {
      return records;
    },
    /** True if commits were made during a load: only another load shows whether they were lost. */
    get mustLoad() {
      return mustLoad;
    },
    /** Called when a look begins: its result includes all commits made before. */
    beginLook(): void {
      looks += 1;
    },
    takeDelta(delta: RegistryDelta): Set<string> {
      const changed = new Set<string>();
      for (const [id, record] of delta.changed) {
        if ((records.get(id)?.revision ?? 0) >= (record?.revision ?? delta.version)) continue;
        set(id, record);
        changed.add(id);
      }
      version = delta.version;
      return new Set([...changed, ...applyOwn()]);
    },
    takeSnapshot(next: RegistrySnapshot): Set<string> {
      const touched = [...records.keys(), ...next.records.keys()];
      ({ epoch, version } = next);
      records = new Map(next.records);
      own = own.filter(({ look }) => look === looks);
      mustLoad = own.length > 0;
      return new Set([...touched, ...applyOwn()]);
    },
    /** @returns null if the copy includes this commit already */
    takeOwn(writes: RegistryCommit['writes'], at: number): Set<string> | null {
      if (at <= version) return null;
      own = [...own, { writes, version: at, look: looks }];
      return new Set(applyOwn());
    },
  };
}

/** Lists restored records, for replicas that know newer versions than the replica that restored them. */
export const MENDED_RECORD = 'meta/mended';
const MENDED_KEPT_MS = 3_600_000;

/** A replica's copy at one moment. */
export type Known = Pick<RegistryCopy, 'epoch' | 'version' | 'newest' | 'records'>;
export type CopyState = Known & Pick<RegistryCopy, 'isComplete'>;

/** A record to be restored. */
interface LostRecord {
  readonly id: string;
  /** Null: deleted. */
  readonly value: string | null;
  /** Its version; of a deletion, the latest possible one. */
  readonly revision: number;
  /** The revision in the store; 0: absent. */
  readonly found: number;
}

/** By id: the restored version, the digest of its text, and when (epoch milliseconds). */
const Mended = recordForm(
  Type.Record(
    Type.String(),
    Type.Object({ revision: Type.Number(), text: Type.String(), at: Type.Number() }),
  ),
);
type Mended = RecordOf<typeof Mended>;

/**
 * A record is lost if the store has an older version, or one restored by a replica that knew less. An absent record is lost
 * only if the store has not reached its version; otherwise it may have been deleted. A deletion is lost only if the version of
 * the store went back. A registry of another epoch is a different one.
 */
export function findLost(known: Known, snapshot: RegistrySnapshot): LostRecord[] {
  if (known.epoch !== snapshot.epoch) return [];
  const mended = readMended(snapshot.records);
  const lost: LostRecord[] = [];
  for (const [id, { value, revision }] of known.records) {
    const now = snapshot.records.get(id);
    if (id === MENDED_RECORD || now?.value === value) continue;
    if (now === undefined) {
      if (revision > snapshot.version) lost.push({ id, value, revision, found: 0 });
    } else if (now.revision < revision || isPoorlyMended(mended, id, now, revision)) {
      lost.push({ id, value, revision, found: now.revision });
    }
  }
  if (snapshot.version >= known.newest) return lost;
  for (const [id, now] of snapshot.records) {
    if (known.records.has(id) || id === MENDED_RECORD || now.revision > known.version) continue;
    lost.push({ id, value: null, revision: known.newest, found: now.revision });
  }
  return lost;
}

function isPoorlyMended(mended: Mended, id: string, now: RegistryRecord, revision: number): boolean {
  const mend = Object.hasOwn(mended, id) ? mended[id] : undefined;
  return mend !== undefined && mend.revision < revision && mend.text === digest(now.value);
}

/** @returns the text of {@link MENDED_RECORD} after these were restored */
export function noteMended(
  records: ReadonlyMap<string, RegistryRecord>,
  lost: readonly LostRecord[],
  nowMs: number,
): string {
  const recent = Object.entries(readMended(records)).filter(([, { at }]) => nowMs - at < MENDED_KEPT_MS);
  const added = lost.flatMap(({ id, value, revision }): [string, Mended[string]][] =>
    value === null ? [] : [[id, { revision, text: digest(value), at: nowMs }]],
  );
  return JSON.stringify(Object.fromEntries([...recent, ...added]));
}

function readMended(records: ReadonlyMap<string, RegistryRecord>): Mended {
  const text = records.get(MENDED_RECORD)?.value;
  return text === undefined ? {} : Mended.read(text, MENDED_RECORD);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

const MAX_TRIES = 20;
const CONFLICT_WAIT_MS = 20;

/**
 * Loads the registry, after lost changes that are known here were restored in one audited commit. A registry of another epoch,
 * or none, is returned as it is; see succession.ts.
 * @throws StoreUnavailable; RegistryConflict after several conflicts
 */
export async function loadAndMend(
  known: Known,
  store: RegistryStore,
  clock: Clock,
  onResolved: (facts: object) => void,
): Promise<RegistrySnapshot> {
  for (let tries = 1; ; tries++) {
    const snapshot = await store.load('leave');
    const { epoch, version, records } = snapshot;
    const lost = findLost(known, snapshot);
    if (lost.length === 0) return snapshot;
    const after = { records: lost.map(({ id }) => id), knownVersion: known.newest, foundVersion: version };
    const event = { action: 'registry.mend', subject: 'registry', after };
    const note = noteMended(records, lost, clock.now());
    const writes = new Map([...lost.map(({ id, value }) => [id, value] as const), [MENDED_RECORD, note]]);
    const expect = new Map(lost.map(({ id, found }) => [id, found]));
    expect.set(MENDED_RECORD, records.get(MENDED_RECORD)?.revision ?? 0);
    try {
      await store.commit({ epoch, writes, expect, audit: [auditLine(event, GATEWAY_ACTOR, clock.now())] });
      onResolved(after);
    } catch (error) {
      if (!(error instanceof RegistryConflict) || tries === MAX_TRIES) throw error;
      await sleep(randomShare() * CONFLICT_WAIT_MS);
    }
  }
}
