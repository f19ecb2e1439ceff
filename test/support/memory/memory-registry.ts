import { randomId } from '../../../src/lib/chance.js';
import {
  ANOTHER_REGISTRY,
  ANOTHER_VERSION,
  type RegistryCommit,
  RegistryConflict,
  type RegistryStore,
} from '../../../src/store/port.js';
import type { RegistryLimits } from '../../../src/store/registry-limits.js';

interface Entry {
  readonly value: string | null;
  readonly revision: number;
}

/** A registry as a server has it; a copy of it is another server's. */
export interface RegistryState {
  /** Which server, and which start of it. */
  server: string;
  /** '': there is no registry. */
  epoch: string;
  version: number;
  /** Deletions up to this version have been forgotten. */
  floor: number;
  records: ReadonlyMap<string, Entry>;
  audit: readonly string[];
  /** The number of the first line of `audit`. */
  auditFrom: number;
}

export const NO_REGISTRY: Omit<RegistryState, 'server'> = {
  ...{ epoch: '', version: 0, floor: 0, records: new Map(), audit: [], auditFrom: 1 },
};

/** A replica's way to the registry of a server in this process, as to one in Redis. */
export function createMemoryRegistry(state: RegistryState, limits: RegistryLimits): RegistryStore {
  let loadedFrom = '';
  let asked = '';
  // Who has loaded nothing yet is told all the same.
  const fromHere = () => loadedFrom === '' || loadedFrom === state.server;
  const present = () => [...state.records].filter(([, { value }]) => value !== null);

  return {
    async load(absent = 'create') {
      if (state.epoch === '' && absent === 'create') Object.assign(state, NO_REGISTRY, { epoch: randomId() });
      asked = state.server;
      if (state.epoch !== '') loadedFrom = asked;
      const { epoch, version } = state;
      const records = present().map(
        ([id, { value, revision }]) => [id, { value: value ?? '', revision }] as const,
      );
      return { epoch, version, records: new Map(records) };
    },
    async create({ epoch, version, records, audit }) {
      if (state.epoch !== '' || present().length > 0) return false;
      Object.assign(state, NO_REGISTRY, { epoch, version, floor: version, records: new Map(records) });
      keepAudit(state, audit, limits);
      return true;
    },
    movedOn: () => loadedFrom !== '' && asked !== '' && loadedFrom !== asked,
    async changes(epoch, version) {
      if (state.epoch === '' || epoch !== state.epoch || !fromHere()) return null;
      if (version > state.version || version < state.floor) return null;
      const changed = [...state.records].filter(([, { revision }]) => revision > version);
      return {
        ...{ epoch, version: state.version },
        changed: new Map(
          changed.map(([id, { value, revision }]) => [id, value === null ? null : { value, revision }]),
        ),
      };
    },
    async commit(change) {
      commitTo(state, change);
      keepAudit(state, change.audit ?? [], limits);
      forgetDeletions(state, limits);
      return { version: state.version };
    },
    async readAudit(limit, before) {
      if (limit < 1 || (before !== undefined && !/^\d{1,15}$/.test(before))) return [];
      const lines = state.audit.map((text, at) => ({ id: String(state.auditFrom + at), text }));
      return lines
        .filter(({ id }) => before === undefined || Number(id) < Number(before))
        .slice(-limit)
        .reverse();
    },
  };
}

/** @throws RegistryConflict, before anything is changed */
function commitTo(state: RegistryState, { writes, expect, epoch, version }: RegistryCommit): void {
  const entryOf = (id: string) => state.records.get(id) ?? { value: null, revision: 0 };
  if ((epoch ?? state.epoch) !== state.epoch) throw new RegistryConflict(ANOTHER_REGISTRY);
  if ((version ?? state.version) !== state.version) throw new RegistryConflict(ANOTHER_VERSION);
  for (const [id, revision] of expect ?? []) {
    const entry = entryOf(id);
    if ((entry.value === null ? 0 : entry.revision) !== revision) throw new RegistryConflict(id);
  }
  if (state.epoch === '') state.epoch = randomId();
  state.version += 1;
  const records = new Map(state.records);
  for (const [id, value] of writes)
    if (value !== null || entryOf(id).value !== null) records.set(id, { value, revision: state.version });
  state.records = records;
}

function keepAudit(state: RegistryState, lines: readonly string[], { auditMax }: RegistryLimits): void {
  const all = [...state.audit, ...lines];
  const gone = Math.max(0, all.length - auditMax);
  state.audit = all.slice(gone);
  state.auditFrom += gone;
}

function forgetDeletions(state: RegistryState, { tombstonesMax }: RegistryLimits): void {
  const deleted = [...state.records].filter(([, { value }]) => value === null);
  const gone = deleted.sort(([, a], [, b]) => a.revision - b.revision).slice(0, -tombstonesMax || undefined);
  if (deleted.length <= tombstonesMax) return;
  const records = new Map(state.records);
  for (const [id, { revision }] of gone) {
    records.delete(id);
    state.floor = Math.max(state.floor, revision);
  }
  state.records = records;
}
