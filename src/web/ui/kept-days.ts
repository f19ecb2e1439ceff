/** Cached days of a report. Pure. */
import { counted, moment, span } from './format.js';

/** A cached day, or a report cached as a whole. */
export interface Kept {
  readonly state: (typeof STATES)[number]['state'];
  /** Time of the fetch; null: never. */
  readonly asOf: string | null;
  /** Remaining freshness; negative: stale. */
  readonly ttlSeconds: number | null;
  readonly rows: number | null;
  /** Of the soft purge that made it stale. */
  readonly purgedAt?: string | null;
}

export interface KeptDay extends Kept {
  readonly date: string;
}

/** The marks serve people who do not see the colours. */
export const STATES = [
  { state: 'final', mark: '✓', says: 'cached, no more changes expected' },
  { state: 'fresh', mark: '•', says: 'cached and fresh' },
  { state: 'stale', mark: '~', says: 'cached but stale' },
  { state: 'missing', mark: '×', says: 'not cached: needs a platform call' },
] as const;

/** Days by month, `2026-11`, the oldest first. */
export function byMonth(days: readonly KeptDay[]): (readonly [string, readonly KeptDay[]])[] {
  const months = new Map<string, KeptDay[]>();
  for (const day of days) {
    const month = day.date.slice(0, 7);
    const own = months.get(month) ?? [];
    months.set(month, own);
    own.push(day);
  }
  return [...months];
}

/** 1 for a Monday, 7 for a Sunday. */
export const weekday = (date: string): number => ((new Date(date).getUTCDay() + 6) % 7) + 1;

const STEPS: Readonly<Record<string, number>> = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowUp: -7,
  ArrowDown: 7,
  PageUp: -28,
  PageDown: 28,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** @returns the index that a key leads to; null for other keys */
export function stepOf(key: string, at: number, length: number): number | null {
  const step = STEPS[key];
  return step === undefined ? null : Math.min(Math.max(at + step, 0), length - 1);
}

export function entryInWords({ asOf, ttlSeconds, rows, purgedAt }: Kept): string {
  if (asOf === null) return 'Not cached.';
  const fresh =
    (ttlSeconds ?? 0) < 0 ? `until ${span(-(ttlSeconds ?? 0))} ago` : `for another ${span(ttlSeconds ?? 0)}`;
  const left = ttlSeconds === null ? '' : `, fresh ${fresh}`;
  const now = purgedAt ? `, marked stale ${moment(purgedAt)}` : left;
  return `${rows === null ? 'Rows' : counted(rows, 'row')} as of ${moment(asOf)}${now}.`;
}
