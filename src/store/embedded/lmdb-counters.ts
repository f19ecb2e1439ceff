/** Groups as records that end. Every batch writes the head, whose stamp is the condition of all. */
import Type from 'typebox';
import { BATCH_MEMORY_MS, checkBatch, wholeMs } from '../check-input.js';
import type { CounterAdd, CounterRaise, Counters } from '../port.js';
import type { Environment } from './environment.js';
import { createGroupCommit, type Draft } from './group-commit.js';
import { nameKey } from './keys.js';
import type { Lapsing, LapsingRecords } from './lapsing.js';
import { fromBytes, toBytes } from './stored-json.js';

const GROUPS = 'b';
/** Batches that were applied, for as long as they are remembered. */
const BATCHES = 'm';
const HEAD = Buffer.from('T');
const NOTHING = toBytes(null);

const Fields = Type.Array(Type.Tuple([Type.String(), Type.Number()]));

interface Batch {
  readonly id: string;
  readonly adds: readonly CounterAdd[];
  readonly raises: readonly CounterRaise[];
  readonly ttlMs: number;
}

export function createLmdbCounters(environment: Environment, lapsing: LapsingRecords): Counters {
  const commit = createGroupCommit<Batch, void>({
    environment,
    head: HEAD,
    apply: (draft, batch) => applyBatch(draft, batch, lapsing),
    finish: (draft) => draft.set(HEAD, NOTHING),
  });
  return {
    async add(id, adds, raises, ttlMs) {
      checkBatch(adds, raises);
      const ms = wholeMs(ttlMs, 1);
      if (adds.length + raises.length > 0) await commit({ id, adds, raises, ttlMs: ms });
    },
    async read(groups) {
      return environment.read((view) =>
        groups.map((group) => fieldsOf(lapsing.alive(view.get(nameKey(GROUPS, group))?.value))),
      );
    },
  };
}

const fieldsOf = (group: Lapsing | null) => new Map(group === null ? [] : fromBytes(Fields, group.value));

function applyBatch(draft: Draft, { id, adds, raises, ttlMs }: Batch, lapsing: LapsingRecords): void {
  const now = lapsing.now();
  const stage = (key: Buffer, next: Lapsing) => {
    for (const write of lapsing.writes(key, draft.get(key), next)) draft.set(write.key, write.value);
  };
  const batchKey = nameKey(BATCHES, id);
  const known = lapsing.alive(draft.get(batchKey));
  // One from a future, as the machine's clock was put back since, is forgotten too.
  if (known !== null && known.endsAtMs - now <= BATCH_MEMORY_MS) return;
  const groups = new Map<string, Map<string, number>>();
  const openGroup = (name: string): Map<string, number> => {
    const fields = groups.get(name) ?? fieldsOf(lapsing.alive(draft.get(nameKey(GROUPS, name))));
    groups.set(name, fields);
    return fields;
  };
  for (const { group, field, by } of adds) {
    const fields = openGroup(group);
    fields.set(field, within((fields.get(field) ?? 0) + by));
  }
  for (const { group, field, to } of raises) {
    const fields = openGroup(group);
    // Zero has no sign here, nor in JSON.
    fields.set(field, Math.max(fields.get(field) ?? to, to) + 0);
  }
  for (const [name, fields] of groups)
    stage(nameKey(GROUPS, name), { value: toBytes([...fields]), endsAtMs: now + ttlMs });
  stage(batchKey, { value: NOTHING, endsAtMs: now + BATCH_MEMORY_MS });
}

const within = (total: number) =>
  Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, total));
