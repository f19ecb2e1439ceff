/** What the configuration says of reports, for tests of single steps. */
import type { EndpointRule } from '../../src/config/schema.js';
import type { ReportPolicy } from '../../src/report-policy.js';
import { RULES } from '../report/entries.js';

export function policyOf(
  changes: Partial<Omit<ReportPolicy, 'endpoints'>> = {},
  endpoints: Readonly<Record<string, EndpointRule>> = {},
): ReportPolicy {
  return {
    freshness: RULES,
    negativeMs: 30_000,
    endpoints: new Map(Object.entries(endpoints)),
    plan: { mergeGapDays: 7, maxDaysPerCall: 92 },
    identity: { account: 'main', baseUrl: 'http://platform/' },
    accountFields: ['advertiserId', 'userId'],
    accountPattern: /(advertiser|user)_?id$/i,
    nonAccounts: [],
    timezoneOf: () => 'UTC',
    ...changes,
  };
}
