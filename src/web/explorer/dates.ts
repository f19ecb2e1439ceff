/** Days in the reader's language. Pure. */
import { LOCALE } from './numbers.js';

type Options = Intl.DateTimeFormatOptions;

/** Each writes one day, or the first to the last; @param from a day, or a UTC time of it. What is no day is unchanged. */
export function datesIn(locale: string) {
  const writer = (options: Options) => {
    const format = new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' });
    return (from: string, to = from): string => {
      const [first, last] = [from, to].map((iso) => Date.parse(iso.slice(0, 10)));
      if (first === undefined || last === undefined || Number.isNaN(first + last)) return from;
      return (first === last ? format.format(first) : format.formatRange(first, last)).replace(
        /\p{Zs}/gu,
        ' ',
      );
    };
  };
  const day: Options = { day: 'numeric', month: 'short' };
  const inYear: Options = { ...day, year: 'numeric' };
  return {
    /** `Nov 23`, `Nov 23 – 29` */
    brief: writer(day),
    /** `Oct 30 – Nov 28, 2026` */
    full: writer(inYear),
    /** `Fri, Oct 30 – Sat, Nov 28, 2026` */
    weekday: writer({ ...inYear, weekday: 'short' }),
    /** `Nov 2026` */
    month: writer({ month: 'short', year: 'numeric' }),
  };
}

export const dates = datesIn(LOCALE);

const MONTHS = [LOCALE, 'en'].map((locale) => {
  const { format } = new Intl.DateTimeFormat(locale, { month: 'long', timeZone: 'UTC' });
  return Array.from({ length: 12 }, (_, month) => format(Date.UTC(2026, month)).toLowerCase());
});

/** @param name of a month, or its first letters, in the reader's language or in English. @returns 1 to 12; 0: it is none */
const monthIn = (name: string): number =>
  Math.max(...MONTHS.map((all) => all.findIndex((month) => month.startsWith(name.toLowerCase())))) + 1;

const SHOWN_DAY =
  /^(?:(\p{L}{3,})\.? +([0-3]?\d)|([0-3]?\d)\.? +(\p{L}{3,})\.?)(?:,? +(\d{4}))?(?=$|[\s,;&)])/u;

/**
 * A day as it is shown that a text begins with, `Nov 20` or `20 November 2026`. Without a year it is that of the rows, of several
 * the last that has it.
 * @returns null: there is none
 */
export function dayAt(
  text: string,
  rows: readonly { readonly date?: unknown }[],
): { readonly iso: string; readonly length: number } | null {
  const [whole, before = '', after, ahead, behind = before, year] = SHOWN_DAY.exec(text) ?? [];
  const month = behind === '' ? 0 : monthIn(behind);
  if (whole === undefined || month === 0) return null;
  const end = [month, Number(after ?? ahead)].map((part) => `-${String(part).padStart(2, '0')}`).join('');
  const days = rows.map(({ date }) => String(date)).sort();
  const last = days.findLast((day) => day.endsWith(end)) ?? days.at(-1) ?? '';
  return { iso: (year ?? last.slice(0, 4)) + end, length: whole.length };
}
