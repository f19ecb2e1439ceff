/**
 * Names of cache entries. The series stands in braces: a Redis cluster keeps all entries of one series in one slot,
 * so that they are read in one round trip.
 */

/** Changes when normalising or the form of entries changes: old entries are then never read. */
const FORM = 'c2';

/** The rows of one period. */
export function rowsKey(series: string, from: string | null, to: string | null): string {
  return `${FORM}:{${series}}:w:${from ?? ''}:${to ?? ''}`;
}

/** The platform's own bytes for one period. */
export function bytesKey(series: string, from: string | null, to: string | null): string {
  return `${FORM}:{${series}}:b:${from ?? ''}:${to ?? ''}`;
}

/** The rows of one day. */
export function dayKey(series: string, date: string): string {
  return `${FORM}:{${series}}:d:${date}`;
}
