/**
 * Names of cache entries. All entries of one series lie together; its days in groups by month, what is kept of a whole
 * period in a group of its own.
 */

/** Changes when normalising or the form of entries changes: old entries are then never read. */
const FORM = 'c5';

/** Where an entry is kept. */
export interface EntryKey {
  /** One text for it, as a name in maps and of locks. A cluster keeps the locks of one series in one slot. */
  readonly id: string;
  readonly series: string;
  readonly group: string;
  readonly field: string;
}

/** The rows of one period. */
export function rowsKey(series: string, from: string | null, to: string | null): EntryKey {
  return wholeKey(series, 'w', 'rows', from, to);
}

/** The platform's own bytes for one period. */
export function bytesKey(series: string, from: string | null, to: string | null): EntryKey {
  return wholeKey(series, 'b', 'bytes', from, to);
}

/** The rows of one day. @param date ISO day */
export function dayKey(series: string, date: string): EntryKey {
  return dayKeys(series, [date])[0] as EntryKey;
}

/** @param dates ISO days. What is the same for several is one text */
export function dayKeys(series: string, dates: readonly string[]): EntryKey[] {
  const [before, named] = [`${FORM}:{${series}}:d:`, `${FORM}:${series}`];
  let group = '';
  return dates.map((date) => {
    if (!date.startsWith(group) || group === '') group = date.slice(0, MONTH_CHARS);
    return { id: before + date, series: named, group, field: date.slice(MONTH_CHARS + 1) };
  });
}

/** Of an ISO day. */
const MONTH_CHARS = 7;

function wholeKey(
  series: string,
  kind: string,
  field: string,
  from: string | null,
  to: string | null,
): EntryKey {
  const period = `${from ?? ''}:${to ?? ''}`;
  return {
    id: `${FORM}:{${series}}:${kind}:${period}`,
    series: `${FORM}:${series}`,
    group: `w:${period}`,
    field,
  };
}
