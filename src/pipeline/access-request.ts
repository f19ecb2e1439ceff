/** Stage: what of a question policy decides on, and until when the question means the same. */
import type { AccessRequest } from '../policy/authorize.js';
import { accountsInPath } from '../report/accounts-in-path.js';
import type { CanonicalReport, CanonicalRequest, CanonicalRules } from '../report/canonicalize.js';
import { dayNumber } from '../report/days.js';
import { FIRST_DAY } from '../report/values.js';

export function accessRequestOf(
  { report, today, lookalikes }: CanonicalRequest,
  { accountFields }: CanonicalRules,
): AccessRequest {
  return {
    namesAccount: report.namesAccount,
    // Asked for by limited teams alone: the path is not searched on every hit.
    get accounts() {
      return [...accountsInPath(report.endpoint), ...report.accounts];
    },
    lookalikes,
    accountFields,
    rangeDays: rangeDays(report, today),
    opensEarly: report.from.iso === null && report.to.iso !== null,
  };
}

/**
 * Leaving out an end must be no way around the longest range: a period without a last day is taken to run to today, and
 * one without a first day may begin on any, so it is taken to begin on the earliest. A report that names neither is the
 * platform's own choice, as the contract has it.
 */
function rangeDays({ from, to }: CanonicalReport, today: number): number | null {
  if (from.iso === null && to.iso === null) return null;
  const last = to.iso === null ? today : (dayNumber(to.iso) as number);
  const first = from.iso === null ? FIRST_DAY : (dayNumber(from.iso) as number);
  return last - first + 1;
}

/** @returns when a relative period comes to be about other days, epoch milliseconds; Infinity for days by their names */
export function meansUntil(
  { report, options, today }: CanonicalRequest,
  { startOfDayOf }: CanonicalRules,
): number {
  return options.period === null ? Number.POSITIVE_INFINITY : startOfDayOf(report.account, today + 1);
}
