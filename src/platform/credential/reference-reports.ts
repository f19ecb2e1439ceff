/**
 * Reports that lately succeeded, each cut to one final day: what a token is proven with, and held against. A few of
 * them, of different advertisers, kept by all replicas together.
 */
import Type from 'typebox';
import type { Clock } from '../../lib/clock.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { type Documents, StoreUnavailable } from '../../store/port.js';

const ReferenceReportList = recordForm(
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
export type StoredReferenceReport = RecordOf<typeof ReferenceReportList>[number];

export interface ReferenceReports {
  /** Cheap enough to be called for every report. */
  note(reference: Omit<StoredReferenceReport, 'at'>): void;
  /** The cheapest first. */
  list(): Promise<readonly StoredReferenceReport[]>;
  /** Shares what is new with the other replicas. @throws StoreUnavailable */
  flush(): Promise<void>;
}

const KEY = 'credential/referenceReports';
const MOST = 5;
const DAY_MS = 86_400_000;
const KEPT_MS = 30 * DAY_MS;

export function createReferenceReports(documents: Documents, clock: Clock): ReferenceReports {
  let known: ReadonlyMap<string, StoredReferenceReport> = new Map();
  let shared = true;

  async function read(): Promise<string | null> {
    const text = await documents.get(KEY);
    // What is damaged is written over by the next.
    const others = text === null ? [] : (ReferenceReportList.parse(text) ?? []);
    known = merge(known, others, clock.now());
    return text;
  }

  return {
    note(reference) {
      const before = known.get(reference.account);
      const isFull = before === undefined && known.size >= MOST;
      if (isFull || (before !== undefined && clock.now() - before.at < DAY_MS)) return;
      known = new Map(known).set(reference.account, { ...reference, at: clock.now() });
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
          ? (await documents.create(KEY, text, KEPT_MS)) === null
          : await documents.replace(KEY, before, text, KEPT_MS);
      // Another replica was faster: its referenceReports are taken in the next time.
      shared = done;
    },
  };
}

/** The newest of each account, of the accounts with the newest ones. */
function merge(
  known: ReadonlyMap<string, StoredReferenceReport>,
  others: readonly StoredReferenceReport[],
  nowMs: number,
): ReadonlyMap<string, StoredReferenceReport> {
  const newestFirst = [...known.values(), ...others]
    .filter(({ at }) => nowMs - at < KEPT_MS)
    .sort((a, b) => b.at - a.at);
  const merged = new Map<string, StoredReferenceReport>();
  for (const reference of newestFirst) {
    if (!merged.has(reference.account) && merged.size < MOST) merged.set(reference.account, reference);
  }
  return merged;
}
