import type { AuditLine, RegistryCommit, RegistryDelta, RegistryRecord, RegistrySnapshot } from '../port.js';
import { ANOTHER_REGISTRY, ANOTHER_VERSION, RegistryConflict } from '../port.js';
import type { RegistryLimits } from '../registry-limits.js';
import { type AuditTail, createAuditTail } from './audit-tail.js';
import { chunks } from './chunks.js';
import type { JournalledState } from './journalled-state.js';

/** A commit as it stands in the journal. */
export interface CommitEntry {
  readonly version: number;
  readonly writes: readonly (readonly [id: string, value: string | null])[];
  readonly audit: readonly string[];
}

/** A state as it stands at the head of a journal: this, then its parts. */
export interface StateHeader {
  readonly epoch: string;
  readonly version: number;
  /** Deletions up to this version have been forgotten. */
  readonly floor: number;
  /** The number of the first audit line kept. */
  readonly auditFrom: number;
}

export type StatePart =
  | { readonly records: readonly (readonly [id: string, value: string, revision: number])[] }
  | { readonly tombstones: readonly (readonly [id: string, revision: number])[] }
  | { readonly audit: readonly string[] };

/** The registry in memory. Nothing here touches a file or waits. */
export interface RegistryState extends JournalledState<RegistryCommit, CommitEntry> {
  readonly version: number;
  header(): StateHeader;
  parts(): readonly (() => StatePart)[];
  restore(part: StatePart): void;
  /**
   * Numbers commits as if made one after the other, without making them: each is checked against those before it.
   * @returns for each the entry to be made, or the conflict that refuses it
   */
  prepare(commits: readonly RegistryCommit[]): (CommitEntry | RegistryConflict)[];
  apply(entry: CommitEntry): void;
  snapshot(): RegistrySnapshot;
  changes(epoch: string, version: number): RegistryDelta | null;
  readAudit(limit: number, before?: string): AuditLine[];
}

interface Tables {
  readonly records: Map<string, RegistryRecord>;
  /** Deleted ids, oldest deletion first. */
  readonly tombstones: Map<string, number>;
  readonly audit: AuditTail;
}

export function createRegistryState(header: StateHeader, limits: RegistryLimits): RegistryState {
  const { epoch } = header;
  let { version, floor } = header;
  const records: Tables['records'] = new Map();
  const tombstones: Tables['tombstones'] = new Map();
  const audit = createAuditTail(header.auditFrom, limits.auditMax);
  const tables = { records, tombstones, audit };

  function write(id: string, value: string | null): void {
    if (value !== null) {
      records.set(id, { value, revision: version });
      tombstones.delete(id);
    } else if (records.delete(id)) tombstones.set(id, version);
  }

  function forget(): void {
    for (const [id, revision] of tombstones) {
      if (tombstones.size <= limits.tombstonesMax) return;
      tombstones.delete(id);
      floor = revision;
    }
  }

  return {
    get version() {
      return version;
    },
    header: () => ({ epoch, version, floor, auditFrom: audit.from }),
    parts: () => stateParts(tables),
    restore: (part) => restorePart(tables, part),
    prepare: (commits) => prepareCommits({ epoch, version }, records, commits),
    apply(entry) {
      version = entry.version;
      for (const [id, value] of entry.writes) write(id, value);
      audit.add(entry.audit);
      forget();
    },
    snapshot: () => ({ epoch, version, records: new Map(records) }),
    changes(since, sinceVersion) {
      if (since !== epoch || sinceVersion > version || sinceVersion < floor) return null;
      const changed = sinceVersion === version ? new Map() : changedSince(tables, sinceVersion);
      return { epoch, version, changed };
    },
    readAudit: audit.read,
  };
}

function stateParts({ records, tombstones, audit }: Tables): (() => StatePart)[] {
  const write = ([id, { value, revision }]: [string, RegistryRecord]) => [id, value, revision] as const;
  return [
    ...chunks([...records], (chunk) => ({ records: chunk.map(write) })),
    ...chunks([...tombstones], (chunk) => ({ tombstones: chunk })),
    ...chunks(audit.lines(), (chunk) => ({ audit: chunk })),
  ];
}

function restorePart({ records, tombstones, audit }: Tables, part: StatePart): void {
  if ('records' in part) {
    for (const [id, value, revision] of part.records) records.set(id, { value, revision });
  } else if ('tombstones' in part) {
    for (const [id, revision] of part.tombstones) tombstones.set(id, revision);
  } else audit.add(part.audit);
}

function prepareCommits(
  { epoch, version }: Pick<StateHeader, 'epoch' | 'version'>,
  records: ReadonlyMap<string, RegistryRecord>,
  commits: readonly RegistryCommit[],
): (CommitEntry | RegistryConflict)[] {
  const staged = new Map<string, number>();
  let next = version;
  return commits.map((commit) => {
    const { writes, expect = new Map<string, number>(), audit = [] } = commit;
    if ((commit.epoch ?? epoch) !== epoch) return new RegistryConflict(ANOTHER_REGISTRY);
    if ((commit.version ?? next) !== next) return new RegistryConflict(ANOTHER_VERSION);
    for (const [id, revision] of expect) {
      const found = staged.get(id) ?? records.get(id)?.revision ?? 0;
      if (found !== revision) return new RegistryConflict(id);
    }
    next += 1;
    for (const [id, value] of writes) staged.set(id, value === null ? 0 : next);
    return { version: next, writes: [...writes], audit: [...audit] };
  });
}

function changedSince({ records, tombstones }: Tables, version: number): Map<string, RegistryRecord | null> {
  const changed = new Map<string, RegistryRecord | null>();
  for (const [id, record] of records) if (record.revision > version) changed.set(id, record);
  for (const [id, revision] of tombstones) if (revision > version) changed.set(id, null);
  return changed;
}
