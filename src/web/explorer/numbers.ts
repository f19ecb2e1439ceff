/** Numbers of reports, in the reader's language. Pure. */

/** `share`: a percentage, 0.7 for 0.7 %. */
export type Unit = 'number' | 'money' | 'share';

/** Below this, two decimals would say little or nothing. */
const SMALL = 0.01;

/** @param locale `de-DE` */
export function numbersIn(locale: string) {
  const made = new Map<string, Intl.NumberFormat>();
  const format = (value: number, options: Intl.NumberFormatOptions): string => {
    const key = JSON.stringify(options);
    const known = made.get(key) ?? new Intl.NumberFormat(locale, options);
    made.set(key, known);
    return known.format(value);
  };
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
      format(value, { ...styleOf(unit, currency), minimumFractionDigits: 0, maximumFractionDigits: 8 }),
    /** A difference with its sign, unless it is 0: `+$57.70`, `-3`, `+0.04 percentage points`. */
    signed(value: number, unit: Unit, currency: string | null): string {
      const isShare = unit === 'share';
      const text = format(value, {
        ...optionsOf(value, unit, currency),
        ...(isShare ? { style: 'decimal' } : {}),
        signDisplay: 'exceptZero',
      });
      return isShare ? `${text} percentage points` : text;
    },
    /** Of a change, `+1.2 %`. */
    percent: (value: number): string =>
      `${format(value, { maximumFractionDigits: 1, signDisplay: 'exceptZero' })} %`,
  };
}

function optionsOf(value: number, unit: Unit, currency: string | null): Intl.NumberFormatOptions {
  if (unit === 'number') return { maximumFractionDigits: 4 };
  const most = value !== 0 && Math.abs(value) < SMALL ? 4 : 2;
  return { ...styleOf(unit, currency), minimumFractionDigits: 2, maximumFractionDigits: most };
}

function styleOf(unit: Unit, currency: string | null): Intl.NumberFormatOptions {
  if (unit === 'share') return { style: 'unit', unit: 'percent' };
  return unit === 'money' && currency !== null ? { style: 'currency', currency } : {};
}

/** A currency as Intl knows it; null: unknown. */
export const currencyIn = (value: unknown): string | null =>
  typeof value === 'string' && /^[A-Za-z]{3}$/.test(value) ? value.toUpperCase() : null;

/** Of the reader; outside of a browser English. */
export const numbers = numbersIn(globalThis.navigator?.language ?? 'en-US');

/** `1 row`, `1,204 rows` */
export const counted = (value: number, one: string, many = `${one}s`): string =>
  `${numbers.whole(value)} ${value === 1 ? one : many}`;
