/** The other period of a comparison: which days it has, and both periods in words. Pure. */
import { DATE, dayAfter, daysOf, type Period, type ViewState } from './question.js';
import {
  besideSpans,
  monthsEarlier,
  periodWords,
  type SpanName,
  spansOf,
  startOf,
  wholeIn,
} from './spans.js';

/** Members of the view that choose the other period. */
export type Against = Pick<ViewState, 'against' | 'weekdays' | 'otherFrom' | 'otherTo'>;

/** Both periods. */
export interface Compared {
  readonly now: Period;
  readonly before: Period;
  /** By which both are apart, if they are of whole months; else 0. */
  readonly months: number;
}

/** In each period the first day that the platform is still completing; absent: it has completed all. */
export type FirstOpen = Readonly<Partial<Record<'now' | 'before', string | undefined>>>;

/**
 * The choices with their titles, for a period. `previous`: as many days, and of whole months as many months.
 * @param now null: unknown
 */
export function choicesOf(chosen: Against, now: Period | null): [value: string, title: string][] {
  const days = now === null ? 0 : daysOf(now).length;
  const months = now === null ? 0 : monthsApart({ ...chosen, against: 'previous' }, now);
  const weeks = now === null ? 0 : wholeIn(now, 'week');
  const before = (count: number, noun: string) =>
    count === 1 ? `the ${noun} before` : `the ${count} ${noun}s before`;
  const byDay: [string, string] = ['days', days === 0 ? 'the days before' : before(days, 'day')];
  const previous = months > 0 ? before(months, 'month') : weeks > 0 ? before(weeks, 'week') : byDay[1];
  return [
    ['', 'nothing'],
    ...(chosen.against === 'month' || (now !== null && isToDate(now)) ? [SAME_DAYS] : []),
    ['previous', previous],
    ...(months > 0 || chosen.against === 'days' ? [byDay] : []),
    ['year', months > 0 ? `the same ${months === 1 ? 'month' : 'months'} a year before` : 'a year before'],
    ['custom', 'other days …'],
  ];
}

const SAME_DAYS: [string, string] = ['month', 'the same days of the month before'];

/** Whether it has the first days of a month, and not all. */
const isToDate = (now: Period): boolean =>
  now.from.endsWith('-01') &&
  now.from < now.to &&
  startOf(now.to, 'month') === now.from &&
  wholeIn(now, 'month') === 0;

const isDay = (text: string): boolean => DATE.test(text) && !Number.isNaN(Date.parse(text));

/**
 * @param chosen `weekdays`: each day stands beside the same weekday. Of `custom`, an empty last day follows from the length
 * @returns null if there is no such period
 */
export function otherPeriod(chosen: Against, now: Period): Period | null {
  const months = monthsApart(chosen, now);
  if (months > 0) {
    const after = dayAfter(now.to, 1);
    return { from: monthsEarlier(now.from, months), to: dayAfter(monthsEarlier(after, months), -1) };
  }
  const plain = plainPeriod(chosen, now);
  if (plain === null || chosen.weekdays === '') return plain;
  const from = dayAfter(plain.from, shiftOf(chosen, plain, now));
  // A leap day in one of them would make a year longer than the other.
  const length = daysOf(chosen.against === 'year' ? now : plain).length;
  return { from, to: dayAfter(from, length - 1) };
}

/** How many months the other period of whole months is before; 0: the periods are of days. */
export function monthsApart({ against, weekdays }: Against, now: Period): number {
  const months = weekdays === '' ? wholeIn(now, 'month') : 0;
  if (against === 'previous') return months;
  return against === 'year' && months > 0 ? 12 : 0;
}

const isBefore = (against: string): boolean => against === 'previous' || against === 'days';

function plainPeriod({ against, otherFrom, otherTo }: Against, now: Period): Period | null {
  const days = daysOf(now).length;
  if (isBefore(against)) return { from: dayAfter(now.from, -days), to: dayAfter(now.from, -1) };
  if (against === 'month') return { from: monthBefore(now.from), to: monthBefore(now.to) };
  if (against === 'year') return { from: yearBefore(now.from), to: yearBefore(now.to) };
  if (against !== 'custom' || !isDay(otherFrom)) return null;
  const to = otherTo === '' ? dayAfter(otherFrom, days - 1) : otherTo;
  return isDay(to) && otherFrom <= to ? { from: otherFrom, to } : null;
}

/** How many days of a period are still being completed. */
const openIn = (period: Period, first: string | undefined): number =>
  first === undefined ? 0 : daysOf(period).filter((day) => day >= first).length;

/** `5 of 30 days of this period are`, and those of the other one; null: all are completed. @param isPast `were` */
export function openInWords({ now, before }: Compared, first: FirstOpen, isPast = false): string | null {
  const sides = [
    { of: 'this period', days: daysOf(now).length, open: openIn(now, first.now) },
    { of: 'the other period', days: daysOf(before).length, open: openIn(before, first.before) },
  ].filter(({ open }) => open > 0);
  const told = sides.map(
    ({ of, days, open }) => `${open} of ${days} ${days === 1 ? 'day' : 'days'} of ${of}`,
  );
  if (told.length === 0) return null;
  const isOne = sides.length === 1 && sides[0]?.open === 1;
  return `${told.join(' and ')} ${isPast ? (isOne ? 'was' : 'were') : isOne ? 'is' : 'are'}`;
}

/** Both periods up to the last pair of days that are completed; the pairs stay. Null: there is none. */
export function finalDays({ now, before, months }: Compared, first: FirstOpen): Compared | null {
  const spans = spansOf(now, 'day');
  const beside = besideSpans(spans, before, months);
  const isOpen = (day: string, from: string | undefined) => from !== undefined && day >= from;
  const open = spans.findIndex(
    ({ start }, place) =>
      isOpen(start, first.now) || (beside[place] ?? []).some((day) => isOpen(day, first.before)),
  );
  const count = open < 0 ? spans.length : open;
  const [here, there] = [spans[count - 1]?.start, beside.slice(0, count).flat().at(-1)];
  if (here === undefined || there === undefined) return null;
  return { now: { from: now.from, to: here }, before: { from: before.from, to: there }, months };
}

/** Days to move a period so that it begins on the weekday of the other. */
function shiftOf({ against }: Against, { from }: Period, now: Period): number {
  const apart = Math.round((Date.parse(now.from) - Date.parse(from)) / 86_400_000);
  const rest = ((apart % 7) + 7) % 7;
  // The days before end before this period begins, so they move back only.
  if (isBefore(against) || against === 'month') return rest === 0 ? 0 : rest - 7;
  return rest <= 3 ? rest : rest - 7;
}

/** The last day of that month, if it is shorter. */
function monthBefore(day: string): string {
  const last = dayAfter(startOf(day, 'month'), -1);
  const place = Math.min(Number(day.slice(8)), Number(last.slice(8)));
  return last.slice(0, 8) + String(place).padStart(2, '0');
}

/** The 29th of February becomes the 28th. */
function yearBefore(day: string): string {
  const year = String(Number(day.slice(0, 4)) - 1).padStart(4, '0');
  return day.endsWith('02-29') ? `${year}-02-28` : `${year}${day.slice(4)}`;
}

/** Both periods in words, with their weekdays. */
export function periodsInWords({ now, before }: Compared): string {
  const [days, other] = [daysOf(now).length, daysOf(before).length];
  const both = `${periodWords(now, true)}, compared with ${periodWords(before, true)}.`;
  const lengths = days === other ? '' : ` The periods have ${days} and ${other} days.`;
  return both + lengths;
}

/** Which days stand beside each other, and of whole months which have none beside them; null: each the one at its place. */
export function pairsInWords({ now, before, months }: Compared, by: SpanName): string | null {
  if (months === 0)
    return by === 'day'
      ? null
      : `Each ${by} stands beside as many days of the other period, from the same place in it.`;
  if (by === 'month') return 'Each month stands beside a whole month.';
  const spans = spansOf(now, 'day');
  const beside = besideSpans(spans, before, months);
  const paired = new Set(beside.flat());
  const alone = [
    ...spans.filter((_, index) => beside[index]?.length === 0).map(({ start }) => start),
    ...daysOf(before).filter((day) => !paired.has(day)),
  ];
  const told = (day: string) => periodWords({ from: day, to: day });
  const first = `${told(now.from)} beside ${told(before.from)}`;
  const are = alone.length === 1 ? 'has none beside it, but is' : 'have none beside them, but are';
  const left = alone.length === 0 ? '' : ` ${alone.map(told).join('; ')} ${are} in the totals.`;
  return `Each day stands beside the same day of the month: ${first}.${left}`;
}
