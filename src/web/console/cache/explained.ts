/** What the gateway says of one report, and how people name one. Pure. */
import type { AnswerTo } from '../../../api/operations/table.js';

export type DayState = Entry['state'];

export type Entry = NonNullable<Explained['whole']>;

export type ExplainedDay = NonNullable<Explained['days']>[number];

export type Explained = AnswerTo<'GET /admin/v1/cache/explain'>;

/** In the order in which a day goes through them, backwards; a mark beside the colour for those who see none. */
export const STATES: readonly {
  readonly state: DayState;
  readonly mark: string;
  readonly says: string;
}[] = [
  { state: 'final', mark: '✓', says: 'kept, and does not change any more' },
  { state: 'fresh', mark: '•', says: 'kept, and answered as it is' },
  { state: 'stale', mark: '~', says: 'kept, but past its freshness' },
  { state: 'missing', mark: '×', says: 'not kept: the platform is asked' },
];

/**
 * The question to the gateway.
 * @param text an address or a path with its query, or an endpoint with its query: `campaigns/get?advertiserId=1`
 */
export function questionOf(text: string): string {
  const at = text.indexOf('?');
  const isAddress = /^(https?:\/)?\//i.test(text);
  const named =
    isAddress || at < 0 ? { url: text } : { endpoint: text.slice(0, at), query: text.slice(at + 1) };
  return new URLSearchParams(named).toString();
}

/** The advertiser that a report is about, where it names one alone. */
export function advertiserOf({ canonical }: Explained): string {
  const query = new URLSearchParams(canonical.target.split('?')[1] ?? '');
  const given = query.getAll('advertiserId');
  return given.length === 1 && /^\d+$/.test(given[0] ?? '') ? (given[0] ?? '') : '';
}

/** Days by month, `2026-11`, the oldest first. */
export function byMonth(days: readonly ExplainedDay[]): (readonly [string, readonly ExplainedDay[]])[] {
  const months = new Map<string, ExplainedDay[]>();
  for (const day of days) {
    const month = day.date.slice(0, 7);
    months.set(month, [...(months.get(month) ?? []), day]);
  }
  return [...months];
}

/** 1 for a Monday, 7 for a Sunday. */
export function weekday(date: string): number {
  return ((new Date(`${date}T00:00:00Z`).getUTCDay() + 6) % 7) + 1;
}

/** Where an arrow leads from a place in a list of days; null for other keys. */
export function stepOf(key: string, at: number, length: number): number | null {
  const to = {
    ArrowLeft: at - 1,
    ArrowRight: at + 1,
    ArrowUp: at - 7,
    ArrowDown: at + 7,
    PageUp: at - 28,
    PageDown: at + 28,
    Home: 0,
    End: length - 1,
  }[key];
  return to === undefined ? null : Math.min(Math.max(to, 0), length - 1);
}
