/** The configuration of reports, read once. */
import type { Config } from '../config/load.js';
import type { EndpointRule } from '../config/schema.js';
import type { Report } from './query/canonicalize.js';
import type { FreshnessRules } from './rows/freshness.js';

export type ReportPolicy = Readonly<ReturnType<typeof reportPolicy>>;

/** Rules of `report.freshness` and `report.restatementDays`, without learned values. */
export function configuredRules({
  report: { restatementDays, freshness },
}: Pick<Config, 'report'>): FreshnessRules {
  return {
    restatementDays,
    currentMs: freshness.currentSeconds * 1000,
    restatingMs: freshness.restatingSeconds * 1000,
    finalMs: freshness.finalSeconds * 1000,
    emptyMs: freshness.emptySeconds * 1000,
    emptyFinalMs: freshness.emptyFinalSeconds * 1000,
    undeclaredMs: freshness.undeclaredSeconds * 1000,
    staleWhileRevalidateMs: freshness.staleWhileRevalidateSeconds * 1000,
    staleIfErrorMs: freshness.staleIfErrorSeconds * 1000,
  };
}

export function reportPolicy(config: Config) {
  const { report, platform } = config;
  const { mergeGapDays, maxDaysPerCall, freshness } = report;
  const rules = configuredRules(config);
  const timezones = new Map(Object.entries(platform.timezones));
  return {
    rulesFor: (_report: Report): FreshnessRules => rules,
    /** How long a refusal of the platform is cached, milliseconds. */
    negativeMs: freshness.negativeSeconds * 1000,
    /** Declared endpoints by their path below `/api/v1/report/`. */
    endpoints: new Map<string, EndpointRule>(Object.entries(report.endpoints)),
    plan: { mergeGapDays, maxDaysPerCall },
    /** Part of every cache key: label of the platform account, and base URL. */
    identity: { account: platform.account, baseUrl: new URL(platform.baseUrl).href },
    accountFields: report.accountFields,
    accountPattern: new RegExp(report.accountPattern),
    /** Parameters that an operator declares not to name accounts. */
    nonAccounts: report.nonAccountParameters,
    /** IANA time zone of an advertiser; null: report without an advertiser. */
    timezoneOf: (account: string | null): string =>
      (account === null ? undefined : timezones.get(account)) ?? platform.timezone,
  };
}
