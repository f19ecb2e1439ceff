/** Keys of cache entries, and ids of days. */

/** Increased when normalisation or the form of entries changes, so that old entries are not read. */
const FORM = 'c5';

export interface EntryKey {
  /** Name in maps and of locks. A cluster keeps the locks of one series in one slot. */
  readonly id: string;
  readonly series: string;
  readonly group: string;
  readonly field: string;
}

export function rowsKey(series: string, from: string | null, to: string | null): EntryKey {
  return wholeKey(series, 'w', 'rows', from, to);
}

export function bytesKey(series: string, from: string | null, to: string | null): EntryKey {
  return wholeKey(series, 'b', 'bytes', from, to);
}

/** Id of a day, as {@link EntryKey.id}. @param date ISO */
export function dayId(series: string, date: string): string {
  return `${FORM}:{${series}}:d:${date}`;
}

function wholeKey(
  series: string,
  prefix: string,
  field: string,
  from: string | null,
  to: string | null,
): EntryKey {
  const period = `${from ?? ''}:${to ?? ''}`;
  return {
    id: `${FORM}:{${series}}:${prefix}:${period}`,
    series: `${FORM}:${series}`,
    group: `w:${period}`,
    field,
  };
}
