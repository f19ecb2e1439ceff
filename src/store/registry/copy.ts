/**
 * A replica's copy of the registry, and what may happen to it: a look at the store brings news, an own commit is
 * taken over at once. The two overlap, so news may be older than what the copy knows; it never goes back.
 *
 * Values in, values out; the looking and committing is done by `replica.ts`.
 */
import type { RegistryCommit, RegistryDelta, RegistryRecord, RegistrySnapshot } from '../port.js';

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
