/** What is durable beside registry and history, within this process: counters, charges, documents. */
import {
  type Charge,
  type ChargeAnswer,
  type Charges,
  OPEN_CHARGES_MAX,
} from '../../../src/store/charges-port.js';
import {
  BATCH_MEMORY_MS,
  checkBatch,
  checkCharge,
  checkDocument,
  checkNote,
  tooManyOpen,
  wholeMs,
} from '../../../src/store/check-input.js';
import type { LapsingMap } from '../../../src/store/embedded/lapsing.js';
import type { Counters, Documents } from '../../../src/store/port.js';
import type { SavedMap } from './saved-map.js';

const within = (total: number) =>
  Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, total));

export function createMemoryCounters(
  groups: LapsingMap<ReadonlyMap<string, number>>,
  batches: LapsingMap<true>,
): Counters {
  return {
    async add(batchId, adds, raises, ttlMs) {
      checkBatch(adds, raises);
      const ms = wholeMs(ttlMs, 1);
      if (adds.length + raises.length === 0 || batches.get(batchId) === true) return;
      const set = (group: string, field: string, to: (before: number | undefined) => number) => {
        const fields = new Map(groups.get(group));
        fields.set(field, to(fields.get(field)));
        groups.set(group, fields, ms);
      };
      for (const { group, field, by } of adds) set(group, field, (before = 0) => within(before + by));
      for (const { group, field, to } of raises) set(group, field, (before = to) => Math.max(before, to) + 0);
      batches.set(batchId, true, BATCH_MEMORY_MS);
    },
    read: async (names) => names.map((name) => new Map(groups.get(name))),
  };
}

export interface MemoryCharges {
  readonly open: SavedMap<Charge>;
  readonly purses: LapsingMap<number>;
  readonly ended: LapsingMap<true>;
}

export function createMemoryCharges({ open, purses, ended }: MemoryCharges): Charges {
  return {
    async charge(ask): Promise<ChargeAnswer> {
      checkCharge(ask);
      const ttlMs = wholeMs(ask.ttlMs, 1);
      const { id, purse, amount, note, max } = ask;
      const charged = purses.get(purse) ?? 0;
      if (ended.get(id) === true) return { kind: 'ended', charged };
      if (open.has(id)) return { kind: 'made', charged };
      if (amount > max - charged) return { kind: 'over', charged };
      if (open.size >= OPEN_CHARGES_MAX) throw tooManyOpen();
      open.set(id, { id, purse, amount, note });
      purses.set(purse, charged + amount, ttlMs);
      return { kind: 'made', charged: charged + amount };
    },
    async note(id, note) {
      checkNote(note);
      const found = open.get(id);
      if (found !== undefined) open.set(id, { ...found, note });
      return found !== undefined;
    },
    async end(id, how) {
      const found = open.get(id);
      ended.set(id, true, BATCH_MEMORY_MS);
      if (found === undefined) return false;
      open.delete(id);
      if (how === 'back')
        purses.replace(found.purse, Math.max(0, (purses.get(found.purse) ?? 0) - found.amount));
      return true;
    },
    charged: async (purse) => purses.get(purse) ?? 0,
    open: async () => [...open.values()],
  };
}

export function createMemoryDocuments(texts: LapsingMap<string>): Documents {
  return {
    async create(key, text, ttlMs) {
      checkDocument(text);
      const ms = wholeMs(ttlMs, 1);
      const found = texts.get(key);
      if (found === undefined) texts.set(key, text, ms);
      return found ?? null;
    },
    get: async (key) => texts.get(key) ?? null,
    async replace(key, before, after, ttlMs) {
      if (after !== null) checkDocument(after);
      const ms = after === null ? 0 : wholeMs(ttlMs, 1);
      if (texts.get(key) !== before) return false;
      if (after === null) texts.delete(key);
      else texts.set(key, after, ms);
      return true;
    },
  };
}
