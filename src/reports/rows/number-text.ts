/** Decimal numbers as text: which of them JavaScript holds exactly, and how they are written in an answer. */

/** Every decimal of so many significant digits survives a double, unless it is too large or too small for one. */
const SAFE_DIGITS = 15;

const PLAIN_DECIMAL = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$/;
const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/**
 * The JSON of a number that stood in a JSON text (RFC 8259, section 6): the number in its plain form, or, when
 * JavaScript would hold another decimal value, a string with the source text.
 */
export function numberTokenJson(token: string): string {
  if (!isExact(token)) return `"${token}"`;
  return hasExponent(token) ? String(Number(token)) : withoutIdleZeros(token);
}

/**
 * The JSON number for a string that is a plain decimal of at most 15 significant digits (leading zeros are not
 * counted, trailing zeros of the fraction are), null for any other string.
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

/** A spelling that two texts share when they denote the same decimal value; null for what is no finite decimal. */
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
