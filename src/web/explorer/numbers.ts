/** Numbers of reports, in the reader's language. Pure. */

/** `share`: a percentage, 0.7 for 0.7 %. */
export type Unit = 'number' | 'money' | 'share';

/** Below this, two decimals would say little or nothing. */
const SMALL = 0.01;

const EXACT = { minimumFractionDigits: 0, maximumFractionDigits: 8 } as const;

/** @param locale `de-DE` */
export function numbersIn(locale: string) {
  const made = new Map<string, Intl.NumberFormat>();
  const format = (value: number, options: Intl.NumberFormatOptions): string => {
    const key = JSON.stringify(options);
    const known = made.get(key) ?? new Intl.NumberFormat(locale, options);
    made.set(key, known);
    // The minus sign of all numbers is that of text, as wide as its plus.
    return known.format(value).replace('-', '−');
  };
  /** A difference that its decimals show as 0: `under $0.01 less`. */
  const small = (isLess: boolean, options: Intl.NumberFormatOptions, noun: string): string =>
    `under ${format(10 ** -(options.maximumFractionDigits ?? 0), { ...options, signDisplay: 'never' })}${noun} ${isLess ? 'less' : 'more'}`;
  return {
    /** Whether decimals are written with a comma. */
    hasCommas: format(0.5, {}).includes(','),
    /** `1,204` */
    whole: (value: number): string => format(value, { maximumFractionDigits: 0 }),
    /** `€3.42`; money and percentages have two decimals, up to four if they are small. @param currency null: unknown */
    full: (value: number, unit: Unit, currency: string | null): string =>
      format(value, optionsOf(value, unit, currency)),
    /** `€1.2K`, for axes. */
    short: (value: number, unit: Unit, currency: string | null): string =>
      format(value, {
        ...styleOf(unit, currency),
        notation: 'compact',
        minimumFractionDigits: 0,
        maximumFractionDigits: 2,
      }),
    /** Not rounded, for the title of a cell. */
    exact: (value: number, unit: Unit, currency: string | null): string =>
      format(value, { ...styleOf(unit, currency), ...EXACT }),
    /** The difference of both as they are shown, with its sign unless it is 0: `+$57.70`, `−3`, `+0.04 pp` in percentage points. */
    signed(now: number, before: number, unit: Unit, currency: string | null): string {
      const difference = differenceOf(now, before, unit, currency, 'exceptZero');
      const noun = unit === 'share' ? ' pp' : '';
      // What is not 0 is not shown as 0.
      if (difference[0] === 0 && now !== before) return small(now < before, difference[1], noun);
      return format(...difference) + noun;
    },
    /** A difference that is not rounded, for the title of what {@link signed} says. */
    exactDifference(value: number, unit: Unit, currency: string | null): string {
      return unit === 'share' ? `${format(value, EXACT)} pp` : this.exact(value, unit, currency);
    },
    /** As {@link signed} in words, with the percent of the number before: `$57.70 more (+1.2%)`, `0.04 percentage points less`, `no difference`. */
    compared(now: number, before: number, unit: Unit, currency: string | null): string {
      if (now === before) return 'no difference';
      const [size, options] = differenceOf(now, before, unit, currency, 'never');
      const noun = unit === 'share' ? ' percentage points' : '';
      const percent = before === 0 ? '' : ` (${this.percent(((now - before) / Math.abs(before)) * 100)})`;
      if (size === 0) return small(now < before, options, noun) + percent;
      return `${format(size, options)}${noun} ${now < before ? 'less' : 'more'}${percent}`;
    },
    /** Of a change, `+1.2%`, and `+0.03%`: what is not 0 is not shown as 0. */
    percent: (value: number): string =>
      format(value, {
        ...styleOf('share', null),
        ...(value !== 0 && Math.abs(value) < 0.05
          ? { maximumSignificantDigits: 1 }
          : { minimumFractionDigits: 1, maximumFractionDigits: 1 }),
        signDisplay: 'exceptZero',
      }),
  };
}

/** Decimals at most. */
const decimalsOf = (value: number, unit: Unit): number =>
  unit === 'number' || (value !== 0 && Math.abs(value) < SMALL) ? 4 : 2;

const optionsOf = (value: number, unit: Unit, currency: string | null): Intl.NumberFormatOptions => ({
  ...(unit === 'number' ? {} : { ...styleOf(unit, currency), minimumFractionDigits: 2 }),
  maximumFractionDigits: decimalsOf(value, unit),
});

/**
 * Of rounded numbers, so that both and their difference agree as they stand beside each other; the exact difference may be
 * another in the last decimal.
 * @returns what to format, and how; percentages without their sign
 */
function differenceOf(
  now: number,
  before: number,
  unit: Unit,
  currency: string | null,
  signDisplay: 'exceptZero' | 'never',
): [difference: number, options: Intl.NumberFormatOptions] {
  const [here, there] = [decimalsOf(now, unit), decimalsOf(before, unit)];
  const decimals = Math.max(here, there);
  const difference = roundedTo(roundedTo(now, here) - roundedTo(before, there), decimals);
  const options = { ...optionsOf(1, unit, currency), maximumFractionDigits: decimals, signDisplay };
  return [difference, unit === 'share' ? { ...options, style: 'decimal' } : options];
}

const PLAIN = new Map(
  [2, 4].map((decimals) => [
    decimals,
    new Intl.NumberFormat('en-US', { maximumFractionDigits: decimals, useGrouping: false }),
  ]),
);

/** As Intl rounds what is shown: 1.005 to 1.01, where Math.round of a hundred times that gives 1. */
const roundedTo = (value: number, decimals: number): number =>
  Number(PLAIN.get(decimals)?.format(value) ?? value);

/** With more parts nobody adds them up. */
const MOST_PARTS = 20;

/** What stands behind the total of numbers that {@link differsRounded} finds, and below them. */
export const ROUNDED_SIGN = '†';
export const ROUNDED = '† Numbers are rounded; the total is of the exact ones.';

/** Whether numbers as they are shown have another sum than their total as it is shown, though the exact ones have that sum. */
export function differsRounded(parts: readonly (number | null)[], total: number | null, unit: Unit): boolean {
  const told = parts.flatMap((part) => part ?? []);
  if (total === null || unit === 'share' || told.length < 2 || told.length > MOST_PARTS) return false;
  const sumOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0);
  const shown = (value: number) => roundedTo(value, decimalsOf(value, unit));
  const isApart = (one: number, other: number) => Math.abs(one - other) > 0.0005;
  return !isApart(sumOf(told), total) && isApart(sumOf(told.map(shown)), shown(total));
}

function styleOf(unit: Unit, currency: string | null): Intl.NumberFormatOptions {
  if (unit === 'share') return { style: 'unit', unit: 'percent' };
  return unit === 'money' && currency !== null ? { style: 'currency', currency } : {};
}

/** A currency as Intl knows it; null: unknown. */
export const currencyIn = (value: unknown): string | null =>
  typeof value === 'string' && /^[A-Za-z]{3}$/.test(value) ? value.toUpperCase() : null;

/** Of the reader; outside of a browser English. */
export const LOCALE = globalThis.navigator?.language ?? 'en-US';
export const numbers = numbersIn(LOCALE);

/** `1 row`, `1,204 rows` */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${numbers.whole(value)} ${value === 1 ? one : many}`;
