/** From a look at a day to what it says of finality. Pure. */
import type { Sight } from '../history/day-writes.js';
import { dayAt, dayNumber } from '../report/days.js';
import type { Observation } from './evidence.js';

/**
 * @param timezone of the account
 * @returns null where the look tells nothing: the first one, an empty day that no second look has confirmed, and where the
 *   method is another, for then the platform has changed no number
 */
export function observationOf({ date, before, seen }: Sight, timezone: string): Observation | null {
  if (seen.unconfirmed) return null;
  const known = before.findLast((one) => one.unconfirmed !== true && one.void === undefined);
  if (known === undefined || known.generation !== seen.generation) return null;
  const hasRows = known.rowCount > 0 && seen.rowCount > 0;
  if (hasRows && known.schema !== seen.schema) return null;
  const day = dayNumber(date) as number;
  return {
    date,
    ageFirst: known.ageDays,
    ageThen: Math.min(seen.ageDays, Math.max(known.ageDays, dayAt(known.confirmedUntil, timezone) - day)),
    ageNow: seen.ageDays,
    changed: known.digest !== seen.digest,
    at: seen.fetchedAt,
  };
}
