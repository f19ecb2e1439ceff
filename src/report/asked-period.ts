/** The period that a report request asks for: by dates, or by a word such as `last_month`. */
import type { FieldFault } from '../errors.js';
import { dayNumber } from './days.js';
import type { Place } from './given-parameters.js';
import { resolvePeriod } from './period.js';
import type { ReadMember } from './read-members.js';

/** An end of the period; `iso` is null when the caller left it to the platform. */
export interface PeriodEnd {
  readonly iso: string | null;
  readonly place: Place;
}

/**
 * @param word of `_period`; null when not given. @param today as a day number
 * @param place where a period goes that the caller did not spell out by dates
 * @param faults filled when it contradicts itself
 */
export function periodOf(
  read: readonly ReadMember[],
  word: string | null,
  today: number,
  place: Place,
  faults: FieldFault[],
): { from: PeriodEnd; to: PeriodEnd } {
  const from = periodEnd(read, 'dateFrom', place);
  const to = periodEnd(read, 'dateTo', place);
  if (word !== null) {
    const resolved = resolvePeriod(word, today);
    if (from.iso !== null || to.iso !== null) {
      faults.push({ param: '_period', message: 'stands instead of dateFrom and dateTo, not beside them' });
    }
    return resolved === null
      ? { from, to }
      : { from: { iso: resolved.from, place }, to: { iso: resolved.to, place } };
  }
  if (
    from.iso !== null &&
    to.iso !== null &&
    (dayNumber(from.iso) as number) > (dayNumber(to.iso) as number)
  ) {
    faults.push({ param: 'dateTo', message: 'must not be before dateFrom' });
  }
  return { from, to };
}

function periodEnd(read: readonly ReadMember[], name: string, place: Place): PeriodEnd {
  const found = read.find(({ member }) => member.name === name);
  return found === undefined
    ? { iso: null, place }
    : { iso: found.texts[0] as string, place: found.member.place };
}
