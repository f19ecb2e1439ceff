/**
 * A few recent successful reports of different advertisers, each of one final day, shared by all replicas. A new token must
 * see the same rows.
 */
import Type from 'typebox';
import type { Clock } from '../../lib/clock.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { type Documents, whenAway } from '../../store/port.js';
import { mergeDocument } from '../../store/shared-tallies.js';

const ReferenceReportList = recordForm(
  Type.Array(
    Type.Object({
      /** The account of the report; `*` without one. */
      account: Type.String(),
      /** Path and query of the GET below the base URL. */
      target: Type.String(),
      /** Path below `/api/v1/report/`, and how it is split, for counting its rows. */
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
type Reports = RecordOf<typeof ReferenceReportList>;
export type StoredReferenceReport = Reports[number];

const KEY = 'credential/referenceReports';
const MOST = 5;
const DAY_MS = 86_400_000;
const KEPT_MS = 30 * DAY_MS;

export type ReferenceReports = ReturnType<typeof createReferenceReports>;

export function createReferenceReports(documents: Documents, clock: Clock) {
  let known: ReadonlyMap<string, StoredReferenceReport> = new Map();
  let shared = true;

  return {
    /** Cheap enough for every report. */
    note(reference: Omit<StoredReferenceReport, 'at'>): void {
      const before = known.get(reference.account);
      const isFull = before === undefined && known.size >= MOST;
      if (isFull || (before !== undefined && clock.now() - before.at < DAY_MS)) return;
      known = new Map(known).set(reference.account, { ...reference, at: clock.now() });
      shared = false;
    },
    /** Whether this process knows of one. */
    hasAny: (): boolean => known.size > 0,
    /** The cheapest first. */
    async list(): Promise<readonly StoredReferenceReport[]> {
      const text = await documents.get(KEY).catch(whenAway(() => null));
      known = merge(known, text === null ? [] : decode(text), clock.now());
      return [...known.values()].sort((a, b) => a.rows - b.rows);
    },
    /** @throws StoreUnavailable */
    async flush(): Promise<void> {
      if (shared) return;
      shared = true;
      const add = (others: Reports | null): Reports => {
        known = merge(known, others ?? [], clock.now());
        return [...known.values()];
      };
      await mergeDocument(documents, { key: KEY, ttlMs: KEPT_MS, decode, encode: JSON.stringify, add }).catch(
        (error: unknown) => {
          shared = false;
          throw error;
        },
      );
    },
  };
}

/** A damaged document is overwritten by the next flush. */
const decode = (text: string): Reports => ReferenceReportList.parse(text) ?? [];

/** The newest report of each account, for the accounts with the newest reports. */
function merge(
  known: ReadonlyMap<string, StoredReferenceReport>,
  others: Reports,
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
