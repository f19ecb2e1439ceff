/** What history holds of days that the platform answers without rows, or refuses; and the mark that it does. */
import type { Entry, RowsHeader } from '../rows/entry.js';
import { markDays, withMark } from './day-writes.js';
import type { Loss } from './forgotten.js';
import { readContents } from './read.js';
import type { Recorder } from './record.js';
import { believed, headsIn, type Revision } from './revision.js';

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

/**
 * What was known last of days, with what earlier fetches of this process still have to write.
 * @returns by date; days of which nothing is known are absent
 * @throws StoreUnavailable
 */
export async function recall(
  { turns, store, isErased }: Pick<Recorder, 'turns' | 'store' | 'isErased'>,
  series: string,
  dates: readonly string[],
  generation: string,
): Promise<ReadonlyMap<string, RecalledDay>> {
  // The history of the fetch before this one is written behind its answer.
  const heads = await turns(series, () => store.heads(series, dates));
  const days = heads.flatMap((head, at): [string, RecalledDay][] => {
    const { asked, revisions } = headsIn(head);
    const date = dates[at] as string;
    const known = believed(revisions, generation);
    const revision = known.findLast(({ unconfirmed }) => unconfirmed !== true);
    if (revision === undefined) return [];
    // Where the report names no account, its rows tell; see recallRows.
    if (asked.length > 0 && isErased({ ...revision, asked, held: [] })) return [];
    const final = known.some(({ finalFrom }) => finalFrom !== undefined);
    return [[date, { date, revision, final, asked }]];
  });
  return new Map(days);
}

/** @returns in their order; null for rows that are gone, damaged or erased. @throws StoreUnavailable */
export async function recallRows(
  { store, isErased }: Pick<Recorder, 'store' | 'isErased'>,
  series: string,
  days: readonly RecalledDay[],
): Promise<(Entry<RowsHeader> | null)[]> {
  const wanted = days.map(({ date, revision }) => ({ day: date, revision }));
  const entries = await readContents(store, series, wanted);
  return entries.map((entry, at) => {
    const { revision, asked } = days[at] as RecalledDay;
    if (entry === null || isErased({ ...revision, asked, held: entry.header.accounts })) return null;
    return entry;
  });
}

/** Notes since when the platform answers without the rows of these days, where that is new. Never rejects. */
export async function markLost(
  { turns, store, logger }: Pick<Recorder, 'turns' | 'store' | 'logger'>,
  series: string,
  days: readonly RecalledDay[],
  lost: NonNullable<Revision['lost']>,
): Promise<void> {
  const unmarked = days.filter(({ revision }) => revision.lost === undefined);
  if (unmarked.length === 0) return;
  const dates = unmarked.map(({ date }) => date);
  try {
    await turns(series, () =>
      markDays(store, series, dates, (known, at) => {
        const id = unmarked[at]?.revision.id;
        return withMark(known, (one) => one.id === id && one.lost === undefined, { lost });
      }),
    );
  } catch (error) {
    logger.warn(
      { err: error, days: unmarked.length },
      'could not mark in the history the days that the platform no longer answers; the next fetch marks them',
    );
  }
}

/** Rows of history in the place of what the platform said. @param said the header of that */
export function fromHistory(
  said: Pick<RowsHeader, 'fetchStartedAt' | 'fetchedAt' | 'fetchedOn' | 'seq' | 'kind'>,
  { header, body }: Entry<RowsHeader>,
  { date, revision, final }: RecalledDay,
  { code, sinceMs, againMs }: Omit<Extract<Loss, { readonly kind: 'kept' }>, 'kind'>,
): Entry<RowsHeader> {
  const { fetchStartedAt, fetchedAt, fetchedOn, seq, kind } = said;
  const forgotten = { code, days: [date], sinceMs, seenMs: revision.confirmedUntil, final, againMs };
  return { body, header: { ...header, fetchStartedAt, fetchedAt, fetchedOn, seq, kind, forgotten } };
}
