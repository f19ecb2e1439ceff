/** Which days of a report are marked with `~`, and why. Pure. */
import { changeIn, type DayStates, type Revisions, statesBetween } from './changed.js';
import type { ReportColumn } from './columns.js';
import { numbers } from './numbers.js';
import type { Meta, Report } from './parse.js';
import type { Question } from './question.js';

type Mark = 'provisional' | 'changed later' | 'may have changed later';

/** What is known since then of the days of an earlier time, by date. */
export type Later = ReadonlyMap<string, DayStates>;

/** @returns null: nothing is known */
export function laterOf(
  revisions: Pick<Revisions, 'data'>,
  { knownAt = '' }: Pick<Meta, 'knownAt'>,
): Later | null {
  const from = Date.parse(knownAt);
  if (Number.isNaN(from)) return null;
  const days = statesBetween(revisions, { from, to: null }).filter(({ isLater }) => !isLater);
  return days.length === 0 ? null : new Map(days.map((day) => [day.date, day]));
}

/** Of the days of an earlier time. */
export function marksThen(meta: Meta, later: Later | null): (date: string) => Mark | null {
  const { knownAt = '', days } = meta;
  const open = days && new Set(days.flatMap(({ date, final }) => (final ? [] : date)));
  return (date) => {
    const day = later?.get(date);
    if (day !== undefined && day.steps.length > 0) return 'changed later';
    const isSame = day !== undefined && day.confirmedUntil > knownAt;
    const isOpen = open === undefined ? isProvisional(meta, date) : open.has(date);
    return isOpen && !isSame ? 'may have changed later' : null;
  };
}

const isProvisional = ({ firstProvisionalDate: first }: Meta, date: string): boolean =>
  first !== undefined && date >= first;

export interface Marks {
  /** Of days together; null: none of them is marked. */
  readonly of: (days: readonly string[]) => Mark | null;
  /** What is marked, `provisional days`; null: nothing. */
  readonly words: string | null;
}

/** Of an earlier time the days that changed since; where that is not known, those that were not complete then. */
export function marksOf(
  { rows, meta }: Report,
  { asOf }: Pick<Question, 'asOf'>,
  later: Later | null,
): Marks {
  const markOf =
    asOf === ''
      ? (date: string) => (isProvisional(meta, date) ? 'provisional' : null)
      : marksThen(meta, later);
  const of = (days: readonly string[]): Mark | null => {
    const marks = days.map(markOf);
    return marks.find((mark) => mark === 'changed later') ?? marks.find((mark) => mark !== null) ?? null;
  };
  const found = new Set(rows.map(({ date }) => markOf(String(date))));
  const isNow = asOf === '' && meta.firstProvisionalDate !== undefined;
  const words = isNow
    ? 'provisional days'
    : found.has('changed later')
      ? `days that changed later${found.has('may have changed later') ? ', or may have' : ''}`
      : found.has('may have changed later')
        ? 'days that may have changed later'
        : null;
  return { of, words };
}

/** `Spent of the day: $457.37 then, $487.86 now`; null: it is not known, or did not change. */
export function laterWords(day: DayStates | undefined, column: ReportColumn, currency: string | null) {
  if (day === undefined) return null;
  const { before, now, diff } = changeIn([day], column);
  if (before === null || now === null || diff === 0) return null;
  const [then, since] = [before, now].map((value) => numbers.exact(value, column.unit, currency));
  return `${column.title} of the day: ${then} then, ${since} now`;
}
