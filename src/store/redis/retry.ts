const FIRST_MS = 50;
const LONGEST_MS = 2_000;

/**
 * How long to wait before attempt number `attempt` (from 1): doubling up to 2 s, and spread evenly over the upper
 * half of that time, so that many replicas do not come back in one instant.
 *
 * @param random from 0 up to 1
 */
export function retryDelayMs(attempt: number, random: number): number {
  const ceilingMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt - 1, 10));
  return Math.round(ceilingMs / 2 + (ceilingMs / 2) * random);
}
