/** What history holds of days that the platform answers without rows, or refuses; and the mark that it does. */
import type { Entry, RowsHeader } from '../report/entry.js';
import type { HistoryStore, HistoryWrite } from '../store/history-port.js';
import type { Erasures } from './erasures.js';
import type { Loss } from './forgotten.js';
import { readContents } from './read-contents.js';
import { believed, decodeHeads, encodeHeads, headsIn, type Revision } from './revision.js';

/** What was known last of a day. */
export interface RecalledDay {
  /** ISO */
  readonly date: string;
  /** Believed, and not an empty one that no second look has confirmed. */
  readonly revision: Revision;
  /** The day was seen final. */
  readonly final: boolean;
  /** Accounts that the report names. */
  readonly asked: readonly string[];
}

export interface RecallOptions {
  readonly store: Pick<HistoryStore, 'heads' | 'contents' | 'write'>;
  readonly isErased: Erasures['isErased'];
}

/** @returns by date; days of which nothing is known are absent. @throws StoreUnavailable */
export async function recallHeads(
  { store, isErased }: RecallOptions,
  series: string,
  dates: readonly string[],
  generation: string,
): Promise<ReadonlyMap<string, RecalledDay>> {
  const heads = await store.heads(series, dates);
  const days = heads.flatMap((head, at): [string, RecalledDay][] => {
    const { asked, revisions } = headsIn(head);
    const date = dates[at] as string;
    const known = believed(revisions, generation);
    const revision = known.findLast(({ unconfirmed }) => unconfirmed !== true);
    // Where the report names no account, its rows tell; see recallRows.
    const isGone = asked.length > 0 && revision !== undefined && isErased({ ...revision, asked, held: [] });
    if (revision === undefined || isGone) return [];
    const final = known.some(({ finalFrom }) => finalFrom !== undefined);
    return [[date, { date, revision, final, asked }]];
  });
  return new Map(days);
}

/** @returns in their order; null for rows that are gone, damaged or erased. @throws StoreUnavailable */
export async function recallRows(
  { store, isErased }: RecallOptions,
  series: string,
  days: readonly RecalledDay[],
): Promise<(Entry<RowsHeader> | null)[]> {
  const entries = await readContents(
    store,
    series,
    days.map(({ date, revision }) => ({ day: date, revision })),
  );
  return entries.map((entry, at) => {
    const { revision, asked } = days[at] as RecalledDay;
    if (entry === null || isErased({ ...revision, asked, held: entry.header.accounts })) return null;
    return entry;
  });
}

/** Rows of history in the place of what the platform said. @param asked of what it said */
export function fromHistory(
  {
    fetchStartedAt,
    fetchedAt,
    fetchedOn,
    seq,
    kind,
  }: Pick<RowsHeader, 'fetchStartedAt' | 'fetchedAt' | 'fetchedOn' | 'seq' | 'kind'>,
  past: Entry<RowsHeader>,
  { date, revision, final }: RecalledDay,
  { code, sinceMs, againMs }: Extract<Loss, { readonly kind: 'kept' }>,
): Entry<RowsHeader> {
  const seenMs = revision.confirmedUntil;
  return {
    ...past,
    header: {
      ...past.header,
      ...{ fetchStartedAt, fetchedAt, fetchedOn, seq, kind },
      forgotten: { code, days: [date], sinceMs, seenMs, final, againMs },
    },
  };
}

/** Notes since when the platform answers without these rows. A head that another writes at this moment is marked later. */
export async function markLost(
  store: Pick<HistoryStore, 'heads' | 'write'>,
  series: string,
  days: readonly RecalledDay[],
  lost: NonNullable<Revision['lost']>,
): Promise<void> {
  const heads = await store.heads(
    series,
    days.map(({ date }) => date),
  );
  const writes = heads.flatMap((one, at): HistoryWrite[] => {
    const known = one === null ? null : decodeHeads(one.heads);
    const { date, revision } = days[at] as RecalledDay;
    const isMeant = ({ id, lost: before }: Revision) => id === revision.id && before === undefined;
    if (one === null || known === null || !known.revisions.some(isMeant)) return [];
    const revisions = known.revisions.map((each) => (isMeant(each) ? { ...each, lost } : each));
    return [
      {
        ...{ day: date, stamp: one.stamp, heads: encodeHeads({ ...known, revisions }) },
        ...{ added: new Map(), removed: [] },
      },
    ];
  });
  if (writes.length > 0) await store.write(series, writes);
}
