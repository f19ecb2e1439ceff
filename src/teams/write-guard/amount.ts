/** Exact amounts of money: from JSON numbers to whole millionths, and to text. Pure. */

/** Amounts are whole numbers of millionths of a rule's currency. */
export const MILLIONTHS = 1_000_000;

/** Decimals of a millionth. */
const DECIMALS = 6;
/** Digits of the largest exact whole number. */
const MOST_DIGITS = String(Number.MAX_SAFE_INTEGER).length;

const NUMBER = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/** The largest countable amount, in whole units. */
export const MOST_UNITS = Math.floor(Number.MAX_SAFE_INTEGER / MILLIONTHS);

/**
 * @param text of a number in JSON (RFC 8259, section 6)
 * @returns millionths, rounded up, as no amount may count as a smaller one; null for a minus sign, even of `-0`, and for
 *   amounts that cannot be counted exactly
 */
export function toMillionths(text: string): number | null {
  const match = NUMBER.exec(text);
  if (match === null || match[1] === '-') return null;
  const [, , whole = '', fraction = '', exponent = '0'] = match;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const significant = withoutZerosBehind(digits);
  if (significant === '') return 0;
  // The amount is significant × 10^power millionths.
  const power = Number(exponent) - fraction.length + DECIMALS + (digits.length - significant.length);
  const length = significant.length + power;
  if (length > MOST_DIGITS) return null;
  // The last significant digit is cut off and not zero, so round up.
  if (power < 0) return safe((length > 0 ? BigInt(significant.slice(0, length)) : 0n) + 1n);
  return safe(BigInt(significant) * 10n ** BigInt(power));
}

/** A regular expression would take quadratic time. */
function withoutZerosBehind(digits: string): string {
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 0x30) end -= 1;
  return digits.slice(0, end);
}

function safe(units: bigint): number | null {
  return units <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(units) : null;
}

/** Whether a rule's limit is a whole number of millionths. */
export function isCountable(limit: number): boolean {
  const [, fraction = ''] = String(limit).split('.');
  return toMillionths(String(limit)) !== null && !String(limit).includes('e') && fraction.length <= DECIMALS;
}

/** @throws RangeError for a limit that is not countable */
export function limitOf(limit: number): number {
  const millionths = toMillionths(String(limit));
  if (millionths === null) throw new RangeError(`no limit: ${limit}`);
  return millionths;
}

/** E.g. `1200.5 EUR`. */
export function showAmount(millionths: number, currency?: string): string {
  const units = Math.floor(millionths / MILLIONTHS);
  const fraction = String(millionths % MILLIONTHS)
    .padStart(DECIMALS, '0')
    .replace(/0+$/, '');
  const text = fraction === '' ? String(units) : `${units}.${fraction}`;
  return currency === undefined ? text : `${text} ${currency}`;
}
