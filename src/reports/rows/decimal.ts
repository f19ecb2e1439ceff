/** Decimals of rows: which of them a double represents exactly, their JSON, and exact arithmetic. */

/** A double represents each decimal with so many significant digits, within its range. */
const SAFE_DIGITS = 15;

const PLAIN_DECIMAL = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;
const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * The JSON of a JSON number (RFC 8259, section 6): the number in its plain form, or a string with the source text if a double
 * would change the value.
 */
export function numberTokenJson(token: string): string {
  if (!isExact(token)) return `"${token}"`;
  return hasExponent(token) ? String(Number(token)) : withoutIdleZeros(token);
}

/**
 * The JSON number for a text that is a plain decimal with at most 15 significant digits; null for others. Trailing zeros of the
 * fraction count, leading zeros do not.
 */
export function numberInString(text: string): string | null {
  if (!PLAIN_DECIMAL.test(text)) return null;
  if (text.length > SAFE_DIGITS && (significantDigits(text) > SAFE_DIGITS || !isExact(text))) return null;
  return withoutIdleZeros(text);
}

/** 12.3400 → 12.34, 5.0 → 5, -0 → 0. Takes numbers without an exponent. */
function withoutIdleZeros(plain: string): string {
  let end = plain.length;
  if (plain.includes('.')) {
    while (plain.charCodeAt(end - 1) === 0x30) end -= 1;
    if (plain.charCodeAt(end - 1) === 0x2e) end -= 1;
  }
  const text = end === plain.length ? plain : plain.slice(0, end);
  return text === '-0' ? '0' : text;
}

function significantDigits(plain: string): number {
  return plain.replace(/[-.]/g, '').replace(/^0+/, '').length;
}

/** Whether `String(Number(text))` denotes the decimal value that the text does. */
function isExact(text: string): boolean {
  if (text.length <= SAFE_DIGITS && !hasExponent(text)) return true;
  return decimalValue(text) === decimalValue(String(Number(text)));
}

function hasExponent(text: string): boolean {
  return text.includes('e') || text.includes('E');
}

/** Equal for texts with the same decimal value; null if it is no finite decimal. */
function decimalValue(text: string): string | null {
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 0x30) end -= 1;
  if (end === 0) return '0';
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}

/** units × 10^-scale */
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

const DECIMAL_FORM = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,3}))?$/;
/** More digits than any double has; a longer text is no quantity. */
const MAX_DIGITS = 400;

/** @param value of a cell: a number, or a text for a number that JSON cannot represent. @returns null for others */
export function decimalOf(value: unknown): Decimal | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  const match = DECIMAL_FORM.exec(String(value));
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

/** A number if JSON represents it exactly, else text. */
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

export function abs(units: bigint): bigint {
  return units < 0n ? -units : units;
}
