/** Exact arithmetic on decimals of rows, without the rounding of doubles. */
import { numberTokenJson } from './number-text.js';

/** units × 10^-scale */
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$/;
/** More digits than any double has; a longer text is no quantity. */
const MAX_DIGITS = 400;

/** @param value of a cell: a number, or the text of one that JSON does not hold exactly; null for anything else */
export function decimalOf(value: unknown): Decimal | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  const match = DECIMAL.exec(String(value));
  if (match === null) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const scale = fraction.length - Number(exponent);
  if (whole.length + fraction.length > MAX_DIGITS || Math.abs(scale) > MAX_DIGITS) return null;
  const units = BigInt(`${sign}${whole}${fraction}`);
  return scale < 0 ? { units: units * 10n ** BigInt(-scale), scale: 0 } : { units, scale };
}

export const ZERO: Decimal = { units: 0n, scale: 0 };

export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return { units: at(a, scale) + at(b, scale), scale };
}

export function subtract(a: Decimal, b: Decimal): Decimal {
  return add(a, { units: -b.units, scale: b.scale });
}

/** @returns below 0 where `a` is smaller, above 0 where it is larger */
export function compare(a: Decimal, b: Decimal): number {
  const { units } = subtract(a, b);
  return units < 0n ? -1 : units > 0n ? 1 : 0;
}

export function isSame(a: Decimal, b: Decimal): boolean {
  return subtract(a, b).units === 0n;
}

const PERCENT_SCALE = 4;

/** @returns the change in percent of `old`, rounded to 4 places, half away from zero; null where `old` is 0 */
export function percentOf(old: Decimal, diff: Decimal): Decimal | null {
  if (old.units === 0n) return null;
  const scale = Math.max(old.scale, diff.scale);
  const base = abs(at(old, scale));
  const units = at(diff, scale) * 100n * 10n ** BigInt(PERCENT_SCALE);
  const rounded = (abs(units) * 2n + base) / (base * 2n);
  return { units: units < 0n ? -rounded : rounded, scale: PERCENT_SCALE };
}

/** @returns the number where JSON holds it exactly, else its text */
export function shownAs({ units, scale }: Decimal): number | string {
  const digits = abs(units)
    .toString()
    .padStart(scale + 1, '0');
  const point = digits.length - scale;
  const fraction = digits.slice(point).replace(/0+$/, '');
  const text = `${units < 0n ? '-' : ''}${digits.slice(0, point)}${fraction === '' ? '' : `.${fraction}`}`;
  return numberTokenJson(text).startsWith('"') ? text : Number(text);
}

function at({ units, scale }: Decimal, wanted: number): bigint {
  return units * 10n ** BigInt(wanted - scale);
}

function abs(units: bigint): bigint {
  return units < 0n ? -units : units;
}
