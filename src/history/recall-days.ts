/** What history holds of days that the platform answers without rows, or refuses; and the mark that it does. */
import type { Logger } from 'pino';
import type { Entry, RowsHeader } from '../report/entry.js';
import type { HistoryStore } from '../store/history-port.js';
import type { Erasures } from './erasures.js';
import type { Loss } from './forgotten.js';
import { markDays, withMark } from './mark-days.js';
import { readContents } from './read-contents.js';
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

export interface Recalls {
  /**
   * What was known last of days.
   * @returns by date; days of which nothing is known are absent
   * @throws StoreUnavailable
   */
  recall(
    series: string,
    dates: readonly string[],
    generation: string,
  ): Promise<ReadonlyMap<string, RecalledDay>>;
  /** @returns in their order; null for rows that are gone, damaged or erased. @throws StoreUnavailable */
  recallRows(series: string, days: readonly RecalledDay[]): Promise<(Entry<RowsHeader> | null)[]>;
  /** Notes since when the platform answers without the rows of these days, where that is new. Never rejects. */
  markLost(series: string, days: readonly RecalledDay[], lost: NonNullable<Revision['lost']>): Promise<void>;
}

export interface RecallsOptions {
  readonly store: Pick<HistoryStore, 'heads' | 'contents' | 'write'>;
  readonly isErased: Erasures['isErased'];
  /** Resolves when what earlier fetches brought of the series is written. */
  readonly written: (series: string) => Promise<void>;
  readonly logger: Logger;
}

export function createRecalls({ store, isErased, written, logger }: RecallsOptions): Recalls {
  return {
    async recall(series, dates, generation) {
      // The history of the fetch before this one is written behind its answer.
      await written(series);
      const heads = await store.heads(series, dates);
      const days = heads.flatMap((head, at): [string, RecalledDay][] => {
        const { asked, revisions } = headsIn(head);
        const date = dates[at] as string;
        const known = believed(revisions, generation);
        const revision = known.findLast(({ unconfirmed }) => unconfirmed !== true);
        // Where the report names no account, its rows tell; see recallRows.
        const isGone =
          asked.length > 0 && revision !== undefined && isErased({ ...revision, asked, held: [] });
        if (revision === undefined || isGone) return [];
        const final = known.some(({ finalFrom }) => finalFrom !== undefined);
        return [[date, { date, revision, final, asked }]];
      });
      return new Map(days);
    },
    async recallRows(series, days) {
      const wanted = days.map(({ date, revision }) => ({ day: date, revision }));
      const entries = await readContents(store, series, wanted);
      return entries.map((entry, at) => {
        const { revision, asked } = days[at] as RecalledDay;
        if (entry === null || isErased({ ...revision, asked, held: entry.header.accounts })) return null;
        return entry;
      });
    },
    async markLost(series, days, lost) {
      const unmarked = days.filter(({ revision }) => revision.lost === undefined);
      if (unmarked.length === 0) return;
      try {
        const dates = unmarked.map(({ date }) => date);
        await markDays(store, series, dates, (known, at) => {
          const id = unmarked[at]?.revision.id;
          return withMark(known, (one) => one.id === id && one.lost === undefined, { lost });
        });
      } catch (error) {
        logger.warn(
          { err: error, days: unmarked.length },
          'days that the platform no longer answers could not be marked in the history; the next look marks them',
        );
      }
    },
  };
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
