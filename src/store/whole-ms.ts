/**
 * A lifetime in whole milliseconds, rounded down.
 * @throws RangeError when it is not a finite number, or less than `least`: what has no end must not be stored.
 */
export function wholeMs(ms: number, least = Number.NEGATIVE_INFINITY): number {
  if (!Number.isFinite(ms) || ms < least) throw new RangeError(`not a lifetime in milliseconds: ${ms}`);
  return Math.floor(ms);
}
