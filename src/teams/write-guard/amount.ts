/** Amounts of money, exactly: a JSON number to whole millionths, and back to text. Pure. */

/** Amounts are whole numbers of millionths of a rule's currency. */
export const MILLIONTHS = 1_000_000;

/** Decimals that a millionth has. */
const DECIMALS = 6;
/** Digits of the largest whole number that a double holds exactly. */
const MOST_DIGITS = String(Number.MAX_SAFE_INTEGER).length;

const NUMBER = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/** The largest amount of whole units that can be counted. */
export const MOST_UNITS = Math.floor(Number.MAX_SAFE_INTEGER / MILLIONTHS);

/**
 * @param text of a number in JSON (RFC 8259, section 6)
 * @returns millionths, rounded up, so that no amount is ever taken for a smaller one; null for what has a minus sign,
 * `-0` too, and for more than can be counted exactly
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
  // No digit of what is cut off is the last of zeros: there is a rest.
  if (power < 0) return safe((length > 0 ? BigInt(significant.slice(0, length)) : 0n) + 1n);
  return safe(BigInt(significant) * 10n ** BigInt(power));
}

/** A pattern would take time in the square of the digits. */
function withoutZerosBehind(digits: string): string {
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 0x30) end -= 1;
  return digits.slice(0, end);
}

function safe(units: bigint): number | null {
  return units <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(units) : null;
}

/** Whether a limit, as a rule has it, is a whole number of millionths. */
export function isCountable(limit: number): boolean {
  const [, fraction = ''] = String(limit).split('.');
  return toMillionths(String(limit)) !== null && !String(limit).includes('e') && fraction.length <= DECIMALS;
}

/** A limit that is countable. @throws RangeError for another one */
export function limitOf(limit: number): number {
  const millionths = toMillionths(String(limit));
  if (millionths === null) throw new RangeError(`no limit: ${limit}`);
  return millionths;
}

/** @param currency left out where the rule names none. @returns e.g. `1200.5 EUR` */
export function showAmount(millionths: number, currency?: string): string {
  const units = Math.floor(millionths / MILLIONTHS);
  const fraction = String(millionths % MILLIONTHS)
    .padStart(DECIMALS, '0')
    .replace(/0+$/, '');
  const text = fraction === '' ? String(units) : `${units}.${fraction}`;
  return currency === undefined ? text : `${text} ${currency}`;
}
