/** Reports that nobody has asked for yet, and that a working token should see: yesterday, of who a team may see. */
import { dayAt, isoDay } from '../report/days.js';
import type { ReportPolicy } from '../report-policy.js';

/** So many advertisers are tried: one that is gone must not stand for all. */
const MOST_ADVERTISERS = 2;

/**
 * @param advertisers that teams may see, most promising first
 * @returns paths and queries below the platform's base URL; the last one names no advertiser
 */
export function guessReports(
  advertisers: readonly number[],
  { endpoints, timezoneOf, accountFields }: ReportPolicy,
  nowMs: number,
): readonly string[] {
  const [endpoint] = endpoints.keys();
  if (endpoint === undefined) return [];
  const targetOf = (account: string | null) => {
    const yesterday = isoDay(dayAt(nowMs, timezoneOf(account)) - 1);
    const named = account === null ? '' : `${accountFields[0]}=${account}&`;
    return `/api/v1/report/${endpoint}?${named}dateFrom=${yesterday}&dateTo=${yesterday}`;
  };
  const accounts = [...new Set(advertisers)].slice(0, MOST_ADVERTISERS).map(String);
  return [...accounts, null].map(targetOf);
}
