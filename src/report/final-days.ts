/** Which days are final, and when the others are expected to be. Pure. */
import { dayNumber, isoDay } from './days.js';
import { type FreshnessRules, isFinalDay } from './freshness.js';

export type FinalRules = Pick<FreshnessRules, 'restatementDays'>;

/** @returns the first day on which a day that is asked for is final */
function expectedFinalOn(date: string, { restatementDays }: FinalRules): string {
  return isoDay((dayNumber(date) as number) + restatementDays + 1);
}

/** Days that a message names; beyond it the first of them and how many there are. */
const MOST_NAMED = 10;

/** E.g. `2026-11-17 (expected on 2026-11-23), 2026-11-18 (expected on 2026-11-24) and 4 more days, the last expected on …`. */
export function tellExpected(dates: readonly string[], rules: FinalRules): string {
  const named = dates
    .slice(0, MOST_NAMED)
    .map((date) => `${date} (expected to be final on ${expectedFinalOn(date, rules)})`)
    .join(', ');
  const more = dates.length - MOST_NAMED;
  if (more <= 0) return named;
  return `${named} and ${more} more, the last, ${dates.at(-1)}, on ${expectedFinalOn(dates.at(-1) as string, rules)}`;
}

/** @returns days by whether they are old enough to be final on a day */
export function byAge(
  dates: readonly string[],
  today: number,
  { restatementDays }: FinalRules,
): { readonly old: readonly string[]; readonly young: readonly string[] } {
  const isOld = (date: string) => isFinalDay(dayNumber(date) as number, today, restatementDays);
  return { old: dates.filter(isOld), young: dates.filter((date) => !isOld(date)) };
}
