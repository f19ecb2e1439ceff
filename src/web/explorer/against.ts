/** The other period of a comparison: which days it has, and both periods in words. Pure. */
import { DATE, dayAfter, daysOf, type Period, type ViewState } from './question.js';
import { periodWords } from './spans.js';

/** Members of the view that choose the other period. */
export type Against = Pick<ViewState, 'against' | 'weekdays' | 'otherFrom' | 'otherTo'>;

/** Choices, and their titles. */
export const AGAINST = [
  ['', 'nothing'],
  ['previous', 'the days before'],
  ['year', 'a year before'],
  ['custom', 'other days …'],
] as const;

const isDay = (text: string): boolean => DATE.test(text) && !Number.isNaN(Date.parse(text));

/**
 * @param chosen `weekdays`: each day stands beside the same weekday. Of `custom`, an empty last day follows from the length
 * @returns null if there is no such period
 */
export function otherPeriod(chosen: Against, now: Period): Period | null {
  const plain = plainPeriod(chosen, now);
  if (plain === null || chosen.weekdays === '') return plain;
  const from = dayAfter(plain.from, shiftOf(chosen, plain, now));
  // A leap day in one of them would make a year longer than the other.
  const length = daysOf(chosen.against === 'year' ? now : plain).length;
  return { from, to: dayAfter(from, length - 1) };
}

function plainPeriod({ against, otherFrom, otherTo }: Against, now: Period): Period | null {
  const days = daysOf(now).length;
  if (against === 'previous') return { from: dayAfter(now.from, -days), to: dayAfter(now.from, -1) };
  if (against === 'year') return { from: yearBefore(now.from), to: yearBefore(now.to) };
  if (against !== 'custom' || !isDay(otherFrom)) return null;
  const to = otherTo === '' ? dayAfter(otherFrom, days - 1) : otherTo;
  return isDay(to) && otherFrom <= to ? { from: otherFrom, to } : null;
}

/** Days to move a period so that it begins on the weekday of the other. */
function shiftOf({ against }: Against, { from }: Period, now: Period): number {
  const apart = Math.round((Date.parse(now.from) - Date.parse(from)) / 86_400_000);
  const rest = ((apart % 7) + 7) % 7;
  // The days before end before this period begins, so they move back only.
  if (against === 'previous') return rest === 0 ? 0 : rest - 7;
  return rest <= 3 ? rest : rest - 7;
}

/** The 29th of February becomes the 28th. */
function yearBefore(day: string): string {
  const year = String(Number(day.slice(0, 4)) - 1).padStart(4, '0');
  return day.endsWith('02-29') ? `${year}-02-28` : `${year}${day.slice(4)}`;
}

/** What the choice means for these periods: their days in words, and why they are these. */
export function periodsInWords(chosen: Against, now: Period, before: Period): string {
  const apart = Math.round((Date.parse(now.from) - Date.parse(before.from)) / 86_400_000);
  const [days, other] = [daysOf(now).length, daysOf(before).length];
  const both = `${periodWords(now, true)}, compared with ${periodWords(before, true)}.`;
  const lengths = days === other ? '' : ` The periods have ${days} and ${other} days.`;
  if (chosen.weekdays === '') return both + lengths;
  const weeks = Math.abs(apart) / 7;
  const where = apart < 0 ? 'later' : 'earlier';
  return `${both} The other period begins ${weeks} ${weeks === 1 ? 'week' : 'weeks'} ${where}, so each day stands beside the same weekday.${lengths}`;
}
