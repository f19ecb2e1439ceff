/** The days, weeks or months of a period. Pure. */
import { groupBy } from '../../lib/group-by.js';
import { dates } from './dates.js';
import type { Meta } from './parse.js';
import { dayAfter, daysOf, type Period } from './question.js';

/** With titles for a choice. A week is that of ISO 8601: it starts on Monday. */
export const SPANS = [
  { value: 'day', title: 'Day' },
  { value: 'week', title: 'Week' },
  { value: 'month', title: 'Month' },
] as const;

export type SpanName = (typeof SPANS)[number]['value'];

/** @param by of an address */
export const spanIn = (by: string): SpanName => SPANS.find(({ value }) => value === by)?.value ?? 'day';

export interface Span {
  /** Its first day, which may be before the period. */
  readonly start: string;
  /** `Week 48, Nov 23 – 29` */
  readonly title: string;
  /** `W48`, for axes; with an asterisk if days are missing. */
  readonly short: string;
  /** Its last day. */
  readonly end: string;
  /** Its days in the period. */
  readonly days: readonly string[];
  /** How many of its days are in the period, `5 of 7 days`; null: all. */
  readonly part: string | null;
}

/** All spans that have a day in the period. */
export function spansOf(period: Period, by: SpanName): Span[] {
  const groups = groupBy(daysOf(period), (day) => startOf(day, by));
  // The year is told where there are several.
  const tellsYear = period.from.slice(0, 4) !== period.to.slice(0, 4);
  return [...groups].map(([start, days]) => {
    const end = endOf(start, by);
    const all = daysOf({ from: start, to: end }).length;
    const part = days.length < all ? `${days.length} of ${all} days` : null;
    const words = TITLES[by](start, end, tellsYear);
    return {
      ...{ start, end, days, part },
      get title() {
        return words.title();
      },
      get short() {
        return `${words.short()}${part === null ? '' : '*'}`;
      },
    };
  });
}

/** How many whole weeks or months the period is; 0: it is not of whole ones. */
export function wholeIn(period: Period, by: 'week' | 'month'): number {
  const spans = spansOf(period, by);
  return spans.every(({ part }) => part === null) ? spans.length : 0;
}

/** @param start the first day of a month. @returns that of the month so many months earlier */
export function monthsEarlier(start: string, months: number): string {
  const date = new Date(start);
  date.setUTCMonth(date.getUTCMonth() - months);
  return date.toISOString().slice(0, 10);
}

/**
 * The days of another period that stand beside the spans; none where it has none.
 * @param months by which both periods of whole months are apart: days are paired by their day of the month. 0: by place
 */
export function besideSpans(spans: readonly Span[], other: Period, months: number): string[][] {
  const days = daysOf(other);
  if (months === 0) return spans.map((span) => days.splice(0, span.days.length));
  return spans.map(({ start, end, days: own, part }) => {
    const monthOf = (day: string) => monthsEarlier(startOf(day, 'month'), months);
    // Whole, as one of them may be longer.
    if (part === null && start !== end && start === startOf(end, 'month') && end === endOf(start, 'month'))
      return daysOf({ from: monthOf(start), to: endOf(monthOf(start), 'month') });
    const same = own.map((day) => monthOf(day).slice(0, 8) + day.slice(8));
    return same.filter((day) => days.includes(day));
  });
}

/** `Oct 3 – 9, 2026`; `Sat, Oct 3, 2026`; `no day` */
export function toldDays(days: readonly string[] = []): string {
  const [from, to = from] = [days[0], days.at(-1)];
  return from === undefined || to === undefined ? 'no day' : periodWords({ from, to }, from === to);
}

/** The first day of the span that has the day. */
export function startOf(day: string, by: SpanName): string {
  if (by === 'month') return `${day.slice(0, 7)}-01`;
  return by === 'day' ? day : dayAfter(day, -((weekdayOf(day) + 6) % 7));
}

/** @param start its first day */
function endOf(start: string, by: SpanName): string {
  if (by === 'week') return dayAfter(start, 6);
  return by === 'day' ? start : dayAfter(startOf(dayAfter(start, 31), 'month'), -1);
}

const weekdayOf = (day: string): number => new Date(day).getUTCDay();

/** That of ISO 8601: week 1 has the year's first Thursday. */
function weekOf(monday: string): number {
  const thursday = dayAfter(monday, 3);
  return Math.ceil(daysOf({ from: `${thursday.slice(0, 4)}-01-01`, to: thursday }).length / 7);
}

/** `Oct 30 – Nov 28, 2026`; with weekdays `Fri, Oct 30 – Sat, Nov 28, 2026` */
export const periodWords = ({ from, to }: Period, weekdays = false): string =>
  (weekdays ? dates.weekday : dates.full)(from, to);

/** The period of an answer; null if it has not both ends. */
export function closedPeriod(period: Meta['period'] | undefined): Period | null {
  const { from = null, to = null } = period ?? {};
  return from === null || to === null ? null : { from, to };
}

/** That of an answer in words; it may leave an end open. */
export function toldPeriod(period: Meta['period']): string {
  const { from = null, to = null } = period ?? {};
  if (from !== null) return to === null ? `from ${dates.full(from)} on` : periodWords({ from, to });
  return to === null ? 'period chosen by the platform' : `until ${dates.full(to)}`;
}

/** Written when they are read: most spans are only counted. */
const TITLES: Readonly<
  Record<
    SpanName,
    (start: string, end: string, tellsYear: boolean) => Readonly<Record<'title' | 'short', () => string>>
  >
> = {
  day: (day) => ({ title: () => dates.weekday(day), short: () => dates.brief(day) }),
  week: (start, end, tellsYear) => ({
    title: () => `Week ${weekOf(start)}, ${(tellsYear ? dates.full : dates.brief)(start, end)}`,
    short: () => `W${weekOf(start)}`,
  }),
  month: (start) => ({ title: () => dates.month(start), short: () => dates.month(start) }),
};
