/** Keys of cache entries. The days of a series are grouped by month; each whole period is a group. */

/** Increased when normalisation or the form of entries changes, so that old entries are not read. */
const FORM = 'c5';

export interface EntryKey {
  /** Name in maps and of locks. A cluster keeps the locks of one series in one slot. */
  readonly id: string;
  readonly series: string;
  readonly group: string;
  readonly field: string;
  /** Of a day. */
  readonly history?: string | undefined;
}

/** Sealed name of a day's rows in history; they cannot be read under another one. Must never change. */
export function contentName(series: string, day: string): string {
  return `h1:{${series}}:${day}`;
}

export function rowsKey(series: string, from: string | null, to: string | null): EntryKey {
  return wholeKey(series, 'w', 'rows', from, to);
}

export function bytesKey(series: string, from: string | null, to: string | null): EntryKey {
  return wholeKey(series, 'b', 'bytes', from, to);
}

/** @param date ISO day */
export function dayKey(series: string, date: string): EntryKey {
  return dayKeys(series, [date])[0] as EntryKey;
}

/** @param dates ISO days. Their keys share strings */
export function dayKeys(series: string, dates: readonly string[]): EntryKey[] {
  const [before, named] = [`${FORM}:{${series}}:d:`, `${FORM}:${series}`];
  let group = '';
  return dates.map((date) => {
    if (!date.startsWith(group) || group === '') group = date.slice(0, MONTH_CHARS);
    return { id: before + date, series: named, group, field: date.slice(MONTH_CHARS + 1), history: series };
  });
}

/** `YYYY-MM` */
const MONTH_CHARS = 7;

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
