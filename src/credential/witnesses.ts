/**
 * Reports that lately succeeded, each cut to one final day: what a token is proven with, and held against. A few of
 * them, of different advertisers, kept by all replicas together.
 */
import Type from 'typebox';
import type { Clock } from '../clock.js';
import { type RecordOf, recordForm } from '../record.js';
import { type Notes, StoreUnavailable } from '../store/port.js';

const WitnessList = recordForm(
  Type.Array(
    Type.Object({
      /** Whose report it is; `*` when it names nobody. */
      account: Type.String(),
      /** Path and query of the GET below the base URL. */
      target: Type.String(),
      /** Path below `/api/v1/report/`, and how it is split: for whoever counts its rows. */
      endpoint: Type.String(),
      split: Type.Array(Type.String()),
      day: Type.String(),
      /** Rows it had, at least one. */
      rows: Type.Number(),
      /** Epoch milliseconds. */
      at: Type.Number(),
    }),
  ),
);
export type Witness = RecordOf<typeof WitnessList>[number];

export interface Witnesses {
  /** Cheap enough to be called for every report. */
  note(witness: Omit<Witness, 'at'>): void;
  /** The cheapest first. */
  list(): Promise<readonly Witness[]>;
  /** Shares what is new with the other replicas. @throws StoreUnavailable */
  flush(): Promise<void>;
}

const KEY = 'credential/witnesses';
const MOST = 5;
const DAY_MS = 86_400_000;
const KEPT_MS = 30 * DAY_MS;

export function createWitnesses(notes: Notes, clock: Clock): Witnesses {
  let known: ReadonlyMap<string, Witness> = new Map();
  let shared = true;

  async function read(): Promise<string | null> {
    const text = await notes.get(KEY);
    // What is damaged is written over by the next.
    const others = text === null ? [] : (WitnessList.parse(text) ?? []);
    known = merge(known, others, clock.now());
    return text;
  }

  return {
    note(witness) {
      const before = known.get(witness.account);
      const isFull = before === undefined && known.size >= MOST;
      if (isFull || (before !== undefined && clock.now() - before.at < DAY_MS)) return;
      known = new Map(known).set(witness.account, { ...witness, at: clock.now() });
      shared = false;
    },
    async list() {
      await read().catch((error: unknown) => {
        if (!(error instanceof StoreUnavailable)) throw error;
      });
      return [...known.values()].sort((a, b) => a.rows - b.rows);
    },
    async flush() {
      if (shared) return;
      const before = await read();
      const text = JSON.stringify([...known.values()]);
      const done =
        before === null
          ? (await notes.create(KEY, text, KEPT_MS)) === null
          : await notes.replace(KEY, before, text, KEPT_MS);
      // Another replica was faster: its witnesses are taken in the next time.
      shared = done;
    },
  };
}

/** The newest of each account, of the accounts with the newest ones. */
function merge(
  known: ReadonlyMap<string, Witness>,
  others: readonly Witness[],
  nowMs: number,
): ReadonlyMap<string, Witness> {
  const newestFirst = [...known.values(), ...others]
    .filter(({ at }) => nowMs - at < KEPT_MS)
    .sort((a, b) => b.at - a.at);
  const merged = new Map<string, Witness>();
  for (const witness of newestFirst) {
    if (!merged.has(witness.account) && merged.size < MOST) merged.set(witness.account, witness);
  }
  return merged;
}
