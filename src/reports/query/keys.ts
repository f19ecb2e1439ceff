/** Keys of cache entries, and ids of days. */

/** Increased when normalisation or the form of entries changes, so that old entries are not read. */
const FORM = 'c5';

export interface EntryKey {
  /** Name in the store, in maps and of locks. In a cluster the text in braces puts all of a series in one slot. */
  readonly id: string;
}

export function rowsKey(series: string, from: string | null, to: string | null): EntryKey {
  return { id: `${FORM}:{${series}}:w:${from ?? ''}:${to ?? ''}` };
}

export function bytesKey(series: string, from: string | null, to: string | null): EntryKey {
  return { id: `${FORM}:{${series}}:b:${from ?? ''}:${to ?? ''}` };
}

/** Id of a day, as {@link EntryKey.id}. @param date ISO */
export function dayId(series: string, date: string): string {
  return `${FORM}:{${series}}:d:${date}`;
}
