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
