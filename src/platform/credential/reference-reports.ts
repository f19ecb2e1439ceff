/**
 * A few reports that lately succeeded, of different advertisers, each cut to one final day: a new token is proven with
 * them, and must see as much. All replicas share them.
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

const KEY = 'credential/referenceReports';
const MOST = 5;
const DAY_MS = 86_400_000;
const KEPT_MS = 30 * DAY_MS;

export type ReferenceReports = ReturnType<typeof createReferenceReports>;

export function createReferenceReports(documents: Documents, clock: Clock) {
  let known: ReadonlyMap<string, StoredReferenceReport> = new Map();
  let shared = true;

  async function read(): Promise<string | null> {
    const text = await documents.get(KEY);
    // A damaged document is overwritten by the next flush.
    const others = text === null ? [] : (ReferenceReportList.parse(text) ?? []);
    known = merge(known, others, clock.now());
    return text;
  }

  return {
    /** Cheap enough to be called for every report. */
    note(reference: Omit<StoredReferenceReport, 'at'>): void {
      const before = known.get(reference.account);
      const isFull = before === undefined && known.size >= MOST;
      if (isFull || (before !== undefined && clock.now() - before.at < DAY_MS)) return;
      known = new Map(known).set(reference.account, { ...reference, at: clock.now() });
      shared = false;
    },
    /** The cheapest first. */
    async list(): Promise<readonly StoredReferenceReport[]> {
      await read().catch((error: unknown) => {
        if (!(error instanceof StoreUnavailable)) throw error;
      });
      return [...known.values()].sort((a, b) => a.rows - b.rows);
    },
    /** Shares what is new with the other replicas. @throws StoreUnavailable */
    async flush(): Promise<void> {
      if (shared) return;
      const before = await read();
      const text = JSON.stringify([...known.values()]);
      // False when another replica was faster: its reports are merged the next time.
      shared =
        before === null
          ? (await documents.create(KEY, text, KEPT_MS)) === null
          : await documents.replace(KEY, before, text, KEPT_MS);
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
