/**
 * What a store that changed hands has lost: commits that were acknowledged, known here, and are gone (a Redis failover
 * replicates asynchronously).
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

// A replica's copy of the registry, and what may happen to it: a look at the store brings news, an own commit is
// taken over at once. The two overlap, so news may be older than what the copy knows; it never goes back.
//
// Values in, values out; the looking and committing is done by `replica.ts`.

export type RegistryCopy = ReturnType<typeof createRegistryCopy>;

interface Own {
  readonly writes: RegistryCommit['writes'];
  readonly version: number;
  /** The look that was under way, or the last one, when it became known. */
  readonly look: number;
}

export function createRegistryCopy(first: RegistrySnapshot) {
  let { epoch, version } = first;
  let records = new Map(first.records);
  let mustLoad = false;
  let looks = 0;
  /** Own commits that the copy's version does not include, by version. */
  let own: readonly Own[] = [];

  function set(id: string, record: RegistryRecord | null): void {
    if (record === null) records.delete(id);
    else records.set(id, record);
  }

  /** Lays own commits over what the copy's version includes; in order, for they may write the same ids. */
  function layOwnOver(): string[] {
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
    /** Everything up to this version is in the copy; own commits may be beyond it. */
    get version() {
      return version;
    },
    /** The newest version known of, own commits included. */
    get newest() {
      return Math.max(version, ...own.map((commit) => commit.version));
    },
    get records(): ReadonlyMap<string, RegistryRecord> {
      return records;
    },
    /** After a load: own commits of meanwhile may be lost with the registry it replaced; only another load can tell. */
    get mustLoad() {
      return mustLoad;
    },
    /** A look begins: what was committed until now is in what it brings. */
    beginLook(): void {
      looks += 1;
    },
    /** @returns the ids that may have changed, here and below */
    takeDelta(delta: RegistryDelta): Set<string> {
      const changed = new Set<string>();
      for (const [id, record] of delta.changed) {
        if ((records.get(id)?.revision ?? 0) >= (record?.revision ?? delta.version)) continue;
        set(id, record);
        changed.add(id);
      }
      version = delta.version;
      return new Set([...changed, ...layOwnOver()]);
    },
    takeSnapshot(next: RegistrySnapshot): Set<string> {
      const touched = [...records.keys(), ...next.records.keys()];
      ({ epoch, version } = next);
      records = new Map(next.records);
      own = own.filter(({ look }) => look === looks);
      mustLoad = own.length > 0;
      return new Set([...touched, ...layOwnOver()]);
    },
    /** @returns null when the copy's version includes this commit, or cannot be compared with it */
    takeOwn(writes: RegistryCommit['writes'], at: number): Set<string> | null {
      if (at <= version) return null;
      own = [...own, { writes, version: at, look: looks }];
      return new Set(layOwnOver());
    },
  };
}

/** A record that says what was mended, for replicas that knew still more than the one that mended it. */
export const MENDED_RECORD = 'meta/mended';
const MENDED_KEPT_MS = 3_600_000;

/** What a replica's copy held at one moment. */
export type Known = Pick<RegistryCopy, 'epoch' | 'version' | 'newest' | 'records'>;

/** A record as it should be. */
interface LostRecord {
  readonly id: string;
  /** Null: it was deleted. */
  readonly value: string | null;
  /** The version at which that was so; of a deletion, at the latest. */
  readonly revision: number;
  /** What the store has instead: 0 is nothing. */
  readonly found: number;
}

/** By id: which version was put back, what its text was, and when (epoch milliseconds). */
const Mended = recordForm(
  Type.Record(
    Type.String(),
    Type.Object({ revision: Type.Number(), text: Type.String(), at: Type.Number() }),
  ),
);
type Mended = RecordOf<typeof Mended>;

/**
 * A record is lost when the store's is older than what was known, or was put back by a replica that knew less. One that
 * the store does not have is lost only when the store has not got to its version: else somebody may have deleted it. A
 * deletion is lost only when the store's version went back, for the same reason. A registry of another epoch is another.
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

/** The text of {@link MENDED_RECORD} after putting these back. */
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
 * Loads the registry, and first puts back the changes known here that it has lost. A registry of another epoch, or none, is
 * returned as it is; see succession.ts.
 *
 * All is put back in one commit, audited, and only where no other commit came since. Several replicas may try at once; the
 * slower ones find it done.
 * @throws StoreUnavailable, and then what was known stays known; RegistryConflict when others kept writing
 */
export async function loadAndMend(
  known: Known,
  store: RegistryStore,
  clock: Clock,
  onMended: (facts: object) => void,
): Promise<RegistrySnapshot> {
  for (let tries = 1; ; tries++) {
    const snapshot = await store.load('leave');
    const lost = findLost(known, snapshot);
    if (lost.length === 0) return snapshot;
    try {
      onMended(await putBack(known, snapshot, lost, store, clock));
    } catch (error) {
      if (!(error instanceof RegistryConflict) || tries === MAX_TRIES) throw error;
      await sleep(randomShare() * CONFLICT_WAIT_MS);
    }
  }
}

/** @returns what the audit says of it */
async function putBack(
  known: Known,
  { epoch, version, records }: RegistrySnapshot,
  lost: readonly LostRecord[],
  store: RegistryStore,
  clock: Clock,
): Promise<object> {
  const after = { records: lost.map(({ id }) => id), knownVersion: known.newest, foundVersion: version };
  const event = { action: 'registry.mend', subject: 'registry', after };
  await store.commit({
    epoch,
    writes: new Map<string, string | null>([
      ...lost.map(({ id, value }) => [id, value] as const),
      [MENDED_RECORD, noteMended(records, lost, clock.now())],
    ]),
    expect: new Map([
      ...lost.map(({ id, found }) => [id, found] as const),
      [MENDED_RECORD, records.get(MENDED_RECORD)?.revision ?? 0],
    ]),
    audit: [auditLine(event, GATEWAY_ACTOR, clock.now())],
  });
  return after;
}
