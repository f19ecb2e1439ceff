/** Charges in lmdb. Every change writes the head, whose stamp is the condition of all. */
import Type from 'typebox';
import { type ChargeAnswer, type ChargeAsk, type Charges, OPEN_CHARGES_MAX } from '../charges-port.js';
import { BATCH_MEMORY_MS, checkCharge, checkNote, wholeMs } from '../check-input.js';
import { tooManyOpen } from '../too-many-open.js';
import type { Environment } from './environment.js';
import { createGroupCommit, type Draft } from './group-commit.js';
import { nameKey, wholeTable } from './keys.js';
import type { LapsingRecords } from './lapsing.js';
import { fromBytes, toBytes } from './stored-json.js';

/** Charges that are open, by their ids. */
const OPEN = 'o';
/** What is charged to each purse, until it is empty. */
const PURSES = 'p';
/** Ids of charges that have ended, for as long as that is remembered. */
const ENDED = 'f';
const HEAD = Buffer.from('W');

const Open = Type.Object({
  id: Type.String(),
  purse: Type.String(),
  amount: Type.Integer(),
  note: Type.String(),
});
/** How many charges are open. */
const Count = Type.Integer();

type Change =
  | { readonly does: 'charge'; readonly ask: ChargeAsk }
  | { readonly does: 'note'; readonly id: string; readonly note: string }
  | { readonly does: 'end'; readonly id: string; readonly how: 'kept' | 'back' };

type Result = ChargeAnswer | boolean;

export function createLmdbCharges(environment: Environment, lapsing: LapsingRecords): Charges {
  const commit = createGroupCommit<Change, Result>({
    environment,
    head: HEAD,
    apply: (draft, change) => applyChange(draft, change, lapsing),
    // Set for a change that has not counted one, too: others tell by it that something was changed.
    finish: (draft) => draft.set(HEAD, toBytes(countOpen(draft))),
  });

  return {
    async charge(ask) {
      checkCharge(ask);
      const ttlMs = wholeMs(ask.ttlMs, 1);
      return (await commit({ does: 'charge', ask: { ...ask, ttlMs } })) as ChargeAnswer;
    },
    async note(id, note) {
      checkNote(note);
      return (await commit({ does: 'note', id, note })) as boolean;
    },
    end: async (id, how) => (await commit({ does: 'end', id, how })) as boolean,
    charged: async (purse) =>
      environment.read((view) => amountOf(lapsing.alive(view.get(nameKey(PURSES, purse))?.value)?.value)),
    open: async () =>
      environment
        .read((view) => view.range(wholeTable(OPEN)))
        .map(({ value }) => {
          const { id, purse, amount, note } = fromBytes(Open, value);
          return { id, purse, amount, note };
        }),
  };
}

const amountOf = (value: Buffer | undefined) => (value === undefined ? 0 : fromBytes(Type.Integer(), value));

function countOpen(draft: Draft): number {
  const head = draft.get(HEAD);
  return head === null ? 0 : fromBytes(Count, head);
}

function openOf(draft: Draft, id: string) {
  const bytes = draft.get(nameKey(OPEN, id));
  return bytes === null ? null : fromBytes(Open, bytes);
}

/** @throws StoreUnavailable, before anything is set */
function applyChange(draft: Draft, change: Change, lapsing: LapsingRecords): Result {
  if (change.does === 'charge') return applyCharge(draft, change.ask, lapsing);
  const found = openOf(draft, change.id);
  if (change.does === 'note') {
    if (found !== null) draft.set(nameKey(OPEN, change.id), toBytes({ ...found, note: change.note }));
    return found !== null;
  }
  const { id, how } = change;
  const ended = { value: toBytes(null), endsAtMs: lapsing.now() + BATCH_MEMORY_MS };
  setLapsing(draft, lapsing, nameKey(ENDED, id), ended);
  if (found === null) return false;
  draft.set(nameKey(OPEN, id), null);
  draft.set(HEAD, toBytes(countOpen(draft) - 1));
  const purseKey = nameKey(PURSES, found.purse);
  const purse = lapsing.alive(draft.get(purseKey));
  if (how === 'back' && purse !== null) {
    const value = toBytes(Math.max(0, amountOf(purse.value) - found.amount));
    setLapsing(draft, lapsing, purseKey, { ...purse, value });
  }
  return true;
}

function applyCharge(draft: Draft, ask: ChargeAsk, lapsing: LapsingRecords): ChargeAnswer {
  const { id, purse, amount, note, max, ttlMs } = ask;
  const now = lapsing.now();
  const key = nameKey(PURSES, purse);
  const charged = amountOf(lapsing.alive(draft.get(key))?.value);
  const ended = lapsing.alive(draft.get(nameKey(ENDED, id)));
  // One from a future, as the machine's clock was put back since, is forgotten too.
  if (ended !== null && ended.endsAtMs - now <= BATCH_MEMORY_MS) return { kind: 'ended', charged };
  if (openOf(draft, id) !== null) return { kind: 'made', charged };
  if (amount > max - charged) return { kind: 'over', charged };
  const open = countOpen(draft);
  if (open >= OPEN_CHARGES_MAX) throw tooManyOpen();
  draft.set(nameKey(OPEN, id), toBytes({ id, purse, amount, note }));
  draft.set(HEAD, toBytes(open + 1));
  setLapsing(draft, lapsing, key, { value: toBytes(charged + amount), endsAtMs: now + ttlMs });
  return { kind: 'made', charged: charged + amount };
}

function setLapsing(
  draft: Draft,
  lapsing: LapsingRecords,
  key: Buffer,
  next: { readonly value: Buffer; readonly endsAtMs: number },
): void {
  for (const write of lapsing.writes(key, draft.get(key), next)) draft.set(write.key, write.value);
}
