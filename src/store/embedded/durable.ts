/** Documents, counters and charges of the embedded store. */
import { createHash } from 'node:crypto';
import Type from 'typebox';
import { type ChargeAnswer, type ChargeAsk, type Charges, OPEN_CHARGES_MAX } from '../charges-port.js';
import {
  BATCH_MEMORY_MS,
  checkBatch,
  checkCharge,
  checkDocument,
  checkNote,
  tooManyOpen,
  wholeMs,
} from '../check-input.js';
import type { CounterAdd, CounterRaise, Counters, Documents } from '../port.js';
import { type Lapsing, type LapsingRecords, setLapsing } from './lapsing.js';
import { fromBytes, nameKey, TEXT, toBytes, WHOLE, wholeTable } from './records.js';
import type { Draft, Table } from './table.js';

/** Documents, by the digest of their key. */
const DOCUMENTS = 'n';

/** @param makeRoom called before a document is written; throws StoreUnavailable of `no-room` when the disk is full */
export function documentsOver(lapsing: LapsingRecords, makeRoom: () => Promise<void>): Documents {
  const keyOf = (key: string) => nameKey(DOCUMENTS, createHash('sha256').update(key).digest('hex'));
  const textOf = (found: Lapsing | null) => found && fromBytes(TEXT, found.value);
  const lasting = (text: string, ms: number) => ({ value: toBytes(text), endsAtMs: lapsing.now() + ms });
  return {
    async create(key, text, ttlMs) {
      checkDocument(text);
      const ms = wholeMs(ttlMs, 1);
      await makeRoom();
      return await lapsing.change(keyOf(key), (found) =>
        found === null ? { result: null, write: lasting(text, ms) } : { result: textOf(found) },
      );
    },
    get: async (key) => textOf(lapsing.get(keyOf(key))),
    async replace(key, before, after, ttlMs) {
      if (after !== null) checkDocument(after);
      const ms = after === null ? 0 : wholeMs(ttlMs, 1);
      if (after !== null) await makeRoom();
      return await lapsing.change(keyOf(key), (found) => {
        if (textOf(found) !== before) return { result: false };
        return { result: true, write: after === null ? null : lasting(after, ms) };
      });
    },
  };
}

/** Groups of counters, as records that end. */
const GROUPS = 'b';
/** Ids of applied batches, for {@link BATCH_MEMORY_MS}. */
const BATCHES = 'm';
const NOTHING = toBytes(null);

const Fields = Type.Array(Type.Tuple([Type.String(), Type.Number()]));

interface Batch {
  readonly id: string;
  readonly adds: readonly CounterAdd[];
  readonly raises: readonly CounterRaise[];
  readonly lifetimes: ReadonlyMap<string, number>;
}

export function countersOver(table: Table, lapsing: LapsingRecords): Counters {
  return {
    async add(id, adds, raises, ttlMs) {
      const lifetimes = checkBatch(adds, raises, ttlMs);
      if (lifetimes.size > 0)
        await table.change((draft) => applyBatch(draft, { id, adds, raises, lifetimes }, lapsing));
    },
    async read(groups) {
      return table.read((view) =>
        groups.map((group) => fieldsOf(lapsing.alive(view.get(nameKey(GROUPS, group))))),
      );
    },
  };
}

const fieldsOf = (group: Lapsing | null) => new Map(group === null ? [] : fromBytes(Fields, group.value));

function applyBatch(draft: Draft, { id, adds, raises, lifetimes }: Batch, lapsing: LapsingRecords): void {
  const now = lapsing.now();
  const batchKey = nameKey(BATCHES, id);
  const known = lapsing.alive(draft.get(batchKey));
  // Also removes one with a future time, after the clock was set back.
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
    setLapsing(draft, nameKey(GROUPS, name), {
      value: toBytes([...fields]),
      endsAtMs: now + (lifetimes.get(name) as number),
    });
  setLapsing(draft, batchKey, { value: NOTHING, endsAtMs: now + BATCH_MEMORY_MS });
}

const within = (total: number) =>
  Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, total));

/** Charges that are open, by their ids. */
const OPEN = 'o';
/** What is charged to each purse, until it is empty. */
const PURSES = 'p';
/** Ids of charges that have ended, for as long as that is remembered. */
const ENDED = 'f';
/** How many charges are open. */
const OPEN_COUNT = Buffer.from('W');

const Open = Type.Object({
  id: Type.String(),
  purse: Type.String(),
  amount: Type.Integer(),
  note: Type.String(),
});

export function chargesOver(table: Table, lapsing: LapsingRecords): Charges {
  return {
    async charge(ask) {
      checkCharge(ask);
      const ttlMs = wholeMs(ask.ttlMs, 1);
      return await table.change((draft) => applyCharge(draft, { ...ask, ttlMs }, lapsing));
    },
    async note(id, note) {
      checkNote(note);
      return await table.change((draft) => {
        const found = openOf(draft, id);
        if (found !== null) draft.set(nameKey(OPEN, id), toBytes({ ...found, note }));
        return found !== null;
      });
    },
    end: (id, how) => table.change((draft) => applyEnd(draft, id, how, lapsing)),
    charged: async (purse) =>
      table.read((view) => amountOf(lapsing.alive(view.get(nameKey(PURSES, purse)))?.value)),
    open: async () =>
      table
        .read((view) => view.range(wholeTable(OPEN)))
        .map(({ value }) => {
          const { id, purse, amount, note } = fromBytes(Open, value);
          return { id, purse, amount, note };
        }),
  };
}

const amountOf = (value: Buffer | null = null) => fromBytes(WHOLE, value) ?? 0;
const openOf = (draft: Draft, id: string) => fromBytes(Open, draft.get(nameKey(OPEN, id)));

function applyEnd(draft: Draft, id: string, how: 'kept' | 'back', lapsing: LapsingRecords): boolean {
  const found = openOf(draft, id);
  const ended = { value: NOTHING, endsAtMs: lapsing.now() + BATCH_MEMORY_MS };
  setLapsing(draft, nameKey(ENDED, id), ended);
  if (found === null) return false;
  draft.set(nameKey(OPEN, id), null);
  draft.set(OPEN_COUNT, toBytes(amountOf(draft.get(OPEN_COUNT)) - 1));
  const purseKey = nameKey(PURSES, found.purse);
  const purse = lapsing.alive(draft.get(purseKey));
  if (how === 'back' && purse !== null) {
    const value = toBytes(Math.max(0, amountOf(purse.value) - found.amount));
    setLapsing(draft, purseKey, { ...purse, value });
  }
  return true;
}

/** @throws StoreUnavailable, before anything is set */
function applyCharge(draft: Draft, ask: ChargeAsk, lapsing: LapsingRecords): ChargeAnswer {
  const { id, purse, amount, note, max, ttlMs } = ask;
  const now = lapsing.now();
  const key = nameKey(PURSES, purse);
  const charged = amountOf(lapsing.alive(draft.get(key))?.value);
  const ended = lapsing.alive(draft.get(nameKey(ENDED, id)));
  // Also removes one with a future time, after the clock was set back.
  if (ended !== null && ended.endsAtMs - now <= BATCH_MEMORY_MS) return { kind: 'ended', charged };
  if (openOf(draft, id) !== null) return { kind: 'made', charged };
  if (amount > max - charged) return { kind: 'over', charged };
  const open = amountOf(draft.get(OPEN_COUNT));
  if (open >= OPEN_CHARGES_MAX) throw tooManyOpen();
  draft.set(nameKey(OPEN, id), toBytes({ id, purse, amount, note }));
  draft.set(OPEN_COUNT, toBytes(open + 1));
  setLapsing(draft, key, { value: toBytes(charged + amount), endsAtMs: now + ttlMs });
  return { kind: 'made', charged: charged + amount };
}
