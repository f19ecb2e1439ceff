/** What the configuration says of reports, for tests of single steps. */
import type { EndpointRule } from '../../../src/config/schema.js';
import type { ReportPolicy } from '../../../src/reports/report-policy.js';
import { RULES } from '../rows/entries.js';

const NAMES = { knownParameters: [], unknownParameters: 'pass' as const };

export function policyOf(
  changes: Partial<Omit<ReportPolicy, 'endpoints'>> = {},
  endpoints: Readonly<Record<string, Omit<EndpointRule, keyof typeof NAMES>>> = {},
): ReportPolicy {
  return {
    rulesFor: () => RULES,
    negativeMs: 30_000,
    endpoints: new Map(Object.entries(endpoints).map(([path, rule]) => [path, { ...NAMES, ...rule }])),
    plan: { mergeGapDays: 7, maxDaysPerCall: 92 },
    identity: { account: 'main', baseUrl: 'http://platform/' },
    accountFields: ['advertiserId', 'userId'],
    accountPattern: /(advertiser|user)_?id$/i,
    nonAccounts: [],
    timezoneOf: () => 'UTC',
    ...changes,
  };
}
