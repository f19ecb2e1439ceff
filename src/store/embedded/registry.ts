/** The registry: records by id, the changes by version, and the audit. */
import Type, { type Static } from 'typebox';
import { randomId } from '../../lib/chance.js';
import {
  ANOTHER_REGISTRY,
  ANOTHER_VERSION,
  type AuditLine,
  type RegistryCommit,
  RegistryConflict,
  type RegistryDelta,
  type RegistryImage,
  type RegistryLimits,
  type RegistryRecord,
  type RegistrySnapshot,
  type RegistryStore,
} from '../port.js';
import type { View } from './environment.js';
import { fromBytes, nameKey, numberKey, TEXT, toBytes, wholeTable } from './records.js';
import type { Draft, Table } from './table.js';

/** Records by id, including deleted ones while they are remembered. */
const RECORDS = 'r';
/** Ids by the version of their last change; deleted ones once more. */
const CHANGES = 'c';
const DELETIONS = 'd';
const AUDIT = 'a';
const HEAD = Buffer.from('R');

const Head = Type.Object({
  epoch: Type.String(),
  version: Type.Integer(),
  /** Deletions up to this version are forgotten. */
  floor: Type.Integer(),
  deletions: Type.Integer(),
  /** The numbers of the oldest audit line kept, and of the next one. */
  checkFrom: Type.Integer(),
  auditNext: Type.Integer(),
});
type Head = Static<typeof Head>;

const Entry = Type.Object({
  id: Type.String(),
  revision: Type.Integer(),
  value: Type.Union([Type.String(), Type.Null()]),
});

/** Maximum of old audit lines removed by one commit, as the limit may have been lowered. */
const AUDIT_REMOVED_MAX = 1_000;

export function registryOver(table: Table, limits: RegistryLimits): RegistryStore {
  return {
    async load(absent = 'create') {
      const found = table.read(snapshot);
      if (found !== null) return found;
      if (absent === 'leave') return { epoch: '', version: 0, records: new Map() };
      await table.change((draft) => draft.has(HEAD) || draft.set(HEAD, toBytes(newHead())));
      return table.read(snapshot) as RegistrySnapshot;
    },
    create: (image) => table.change((draft) => createFrom(draft, image)),
    movedOn: () => false,
    changes: async (epoch, version) => table.read((view) => changes(view, epoch, version)),
    commit: (change) => table.change((draft) => ({ version: applyCommit(draft, change, limits) })),
    readAudit: async (limit, before) => table.read((view) => readAudit(view, limits, limit, before)),
  };
}

function newHead(): Head {
  return { epoch: randomId(), version: 0, floor: 0, deletions: 0, checkFrom: 1, auditNext: 1 };
}

const headOf = (draft: Draft): Head => fromBytes(Head, draft.get(HEAD)) ?? newHead();
const changeKey = (revision: number, id: string) => numberKey(CHANGES, revision, nameKey('', id));
const deletionKey = (revision: number, id: string) => numberKey(DELETIONS, revision, nameKey('', id));
const entryOf = (reader: Pick<Draft, 'get'>, id: string) =>
  fromBytes(Entry, reader.get(nameKey(RECORDS, id)));

/** @throws RegistryConflict, before anything is set */
function applyCommit(draft: Draft, change: RegistryCommit, limits: RegistryLimits): number {
  const { writes, expect = new Map<string, number>(), audit = [] } = change;
  const head = headOf(draft);
  if ((change.epoch ?? head.epoch) !== head.epoch) throw new RegistryConflict(ANOTHER_REGISTRY);
  if ((change.version ?? head.version) !== head.version) throw new RegistryConflict(ANOTHER_VERSION);
  for (const [id, revision] of expect) {
    const entry = entryOf(draft, id);
    if ((entry === null || entry.value === null ? 0 : entry.revision) !== revision)
      throw new RegistryConflict(id);
  }
  const version = head.version + 1;
  let { deletions, auditNext } = head;
  for (const [id, value] of writes) deletions += applyWrite(draft, version, id, value);
  auditNext = addAudit(draft, auditNext, audit);
  trim(draft, { ...head, version, deletions, auditNext }, limits);
  return version;
}

function createFrom(draft: Draft, { epoch, version, records, audit }: RegistryImage): boolean {
  if (draft.has(HEAD) || draft.range(wholeTable(RECORDS), 1).length > 0) return false;
  for (const [id, { revision, value }] of records) applyWrite(draft, revision, id, value);
  const auditNext = addAudit(draft, 1, audit);
  draft.set(HEAD, toBytes({ ...newHead(), epoch, version, floor: version, auditNext }));
  return true;
}

/** @returns the number of the next line */
function addAudit(draft: Draft, first: number, lines: readonly string[]): number {
  for (const [at, line] of lines.entries()) draft.set(numberKey(AUDIT, first + at), toBytes(line));
  return first + lines.length;
}

/** @returns the change of the number of remembered deletions */
function applyWrite(draft: Draft, revision: number, id: string, value: string | null): number {
  const old = entryOf(draft, id);
  const was = old?.value ?? null;
  if (value === null && was === null) return 0;
  if (old !== null) {
    draft.set(changeKey(old.revision, id), null);
    if (was === null) draft.set(deletionKey(old.revision, id), null);
  }
  draft.set(nameKey(RECORDS, id), toBytes({ id, revision, value }));
  draft.set(changeKey(revision, id), toBytes(id));
  if (value === null) draft.set(deletionKey(revision, id), toBytes(id));
  if (value === null) return 1;
  return old !== null && was === null ? -1 : 0;
}

/** Writes the head, and removes the oldest deletions and audit lines beyond the limits. */
function trim(draft: Draft, head: Head, { auditMax, tombstonesMax }: RegistryLimits): void {
  let { deletions, floor, checkFrom } = head;
  for (const { key, value } of draft.range(wholeTable(DELETIONS), deletions - tombstonesMax)) {
    const id = fromBytes(TEXT, value);
    const entry = entryOf(draft, id);
    floor = Math.max(floor, entry?.revision ?? 0);
    deletions -= 1;
    draft.set(key, null);
    draft.set(nameKey(RECORDS, id), null);
    draft.set(changeKey(entry?.revision ?? 0, id), null);
  }
  const until = Math.min(head.auditNext - auditMax, checkFrom + AUDIT_REMOVED_MAX);
  for (; checkFrom < until; checkFrom += 1) draft.set(numberKey(AUDIT, checkFrom), null);
  draft.set(HEAD, toBytes({ ...head, deletions, floor, checkFrom }));
}

function snapshot(view: View): RegistrySnapshot | null {
  const head = fromBytes(Head, view.get(HEAD));
  if (head === null) return null;
  const records = new Map<string, RegistryRecord>();
  for (const { value: bytes } of view.range(wholeTable(RECORDS))) {
    const { id, revision, value } = fromBytes(Entry, bytes);
    if (value !== null) records.set(id, { value, revision });
  }
  return { epoch: head.epoch, version: head.version, records };
}

function changes(view: View, epoch: string, version: number): RegistryDelta | null {
  const head = fromBytes(Head, view.get(HEAD));
  if (head === null || epoch !== head.epoch || version > head.version || version < head.floor) return null;
  const changed = new Map<string, RegistryRecord | null>();
  if (version < head.version) {
    const bounds = { from: numberKey(CHANGES, version + 1), to: wholeTable(CHANGES).to };
    for (const { value: id } of view.range(bounds)) {
      const entry = entryOf(view, fromBytes(TEXT, id));
      if (entry === null) continue;
      changed.set(entry.id, entry.value === null ? null : { value: entry.value, revision: entry.revision });
    }
  }
  return { epoch, version: head.version, changed };
}

function readAudit(
  view: View,
  { auditMax }: RegistryLimits,
  limit: number,
  before: string | undefined,
): AuditLine[] {
  const head = fromBytes(Head, view.get(HEAD));
  if (head === null || limit < 1 || (before !== undefined && !/^\d{1,15}$/.test(before))) return [];
  const { auditNext } = head;
  const end = before === undefined ? auditNext : Math.min(auditNext, Number(before));
  const oldest = Math.max(auditNext - auditMax, head.checkFrom);
  if (end <= oldest) return [];
  const bounds = { from: numberKey(AUDIT, oldest), to: numberKey(AUDIT, end) };
  return view.range({ ...bounds, limit, reverse: true }).map(({ value }, at) => ({
    id: String(end - 1 - at),
    text: fromBytes(TEXT, value),
  }));
}
