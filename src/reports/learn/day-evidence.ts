/**
 * Evidence from refetched days: how long numbers change (finality), and whether served days were correct (truth). Collected in the
 * background, in one shared document per scope, with an index of the scopes. The resulting window is a registry record.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import type { Config } from '../../config/load.js';
import type { Clock } from '../../lib/clock.js';
import { createLastUsed } from '../../lib/last-used.js';
import { recordForm } from '../../lib/record.js';
import type { Documents, Store } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import { createSharedTallies, type SharedTallies } from '../../store/shared-tallies.js';
import type { Days } from '../days/days.js';
import type { DayObservation } from '../days/note-fetch.js';
import type { FinalDay } from '../history/record.js';
import type { Report } from '../query/canonicalize.js';
import { dayAt, dayNumber, daysBetween } from '../query/days.js';
import { configuredRules, type ReportPolicy } from '../report-policy.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import {
  countAges,
  countVerdicts,
  type DayVerdict,
  decodeEvidence,
  type Evidence,
  encodeEvidence,
  evidenceOf,
  evidenceOfVerdicts,
  forget,
  hasObservations,
  includes,
  matchesDigest,
  merge,
  NO_EVIDENCE,
  observationOf,
  VERDICT_DAYS,
  VERDICTS,
  type Verdict,
  verdictOf,
} from './evidence.js';
import { createExpectedChanges, type ExpectedChange, FLUSH_EVERY_MS } from './expected-changes.js';
import { percentAtMost, type Scope, scopeId, scopeOf } from './scope.js';
import {
  createRules,
  createWindows,
  isSameWindow,
  type Rules,
  type Window,
  type Windows,
  windowOf,
} from './windows.js';

/** lost: beyond the limit. */
type FinalityEvent = 'changed' | 'widened' | 'narrowed' | 'lost';

export interface DayEvidenceOptions {
  readonly config: Pick<Config, 'finality' | 'history' | 'report'>;
  readonly policy: Pick<ReportPolicy, 'timezoneOf'>;
  /** Whether the report is proven divisible by day. */
  readonly isSplit: (report: Report) => boolean;
  readonly registry: Registry;
  readonly store: Pick<Store, 'counters' | 'documents'>;
  readonly days: Pick<Days, 'rows'>;
  readonly metrics: {
    finality(event: FinalityEvent, count: number): void;
    truth(verdict: Verdict, days: number): void;
  };
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly background: (work: Promise<unknown>) => void;
  readonly logger: Logger;
}

const FINALITY_APPROXIMATE =
  'Bounds have 95 % confidence for independent days; days are not independent. Changes of days that nobody requests again are not seen.';
const ABOUT_TRUTH = {
  basis:
    'Days are fetched again when they are no longer fresh, when a call for other days includes them, and when an answer that was joined from days is checked. They are no random sample: nothing is weighted, and nothing follows for days that were not fetched again. Each date counts once at each age, by its worst verdict.',
  approximate:
    'wrongPercentAtMost has 95 % confidence for independent dates; dates are not independent. What the platform would have returned at a past time is unknown.',
};
const HISTORY_OFF = 'history.enabled is false.';
const DAY_MS = 86_400_000;
const KEPT_MS = 500 * DAY_MS;
/** Limit of remembered error lines, by scope and day. */
const MAX_LOGGED = 10_000;
const SHOWN_DATES = 10;

export class DayEvidence {
  readonly rulesFor: Rules['rulesFor'];
  readonly stampOf: Rules['stampOf'];
  readonly readChanges: ReturnType<typeof createExpectedChanges>['read'];
  readonly aboutFinality: object;
  readonly aboutTruth: object;
  readonly #options: DayEvidenceOptions;
  readonly #windows: Windows;
  readonly #rules: Rules;
  readonly #tallies: SharedTallies<Scope, Evidence>;
  readonly #scopes: ReturnType<typeof createScopesInUse>;
  readonly #expected: ReturnType<typeof createExpectedChanges>;
  readonly #logged = createLastUsed<true>(MAX_LOGGED);

  constructor(options: DayEvidenceOptions) {
    const { config, registry, logger } = options;
    const { documents } = options.store;
    const { mode, maxDays } = config.finality;
    const { restatementDays } = config.report;
    this.#options = options;
    this.#windows = createWindows(registry);
    this.#rules = createRules({ mode, maxDays, base: configuredRules(config), windows: this.#windows });
    const onAway = (error: unknown) =>
      logger.warn({ err: error }, 'failed to store evidence about days; retrying');
    this.#scopes = createScopesInUse(documents, () => this.#today(), onAway);
    this.#tallies = createSharedTallies<Scope, Evidence>({
      ...{ documents, everyMs: FLUSH_EVERY_MS, ttlMs: KEPT_MS },
      ...{ decode: decodeEvidence, encode: encodeEvidence, none: NO_EVIDENCE, merge },
      documentOf: (scope) => `evidence:${scopeId(scope)}`,
      keep: (all) => forget(all, this.#today()),
      onWritten: (scope, all) => this.#shareWindow(scope, all),
      onAway,
    });
    this.#expected = createExpectedChanges(options);
    this.rulesFor = this.#rules.rulesFor;
    this.stampOf = this.#rules.stampOf;
    this.readChanges = this.#expected.read;
    const off = config.history.enabled ? null : HISTORY_OFF;
    if (mode !== 'fixed' && off !== null)
      logger.warn(`finality is not learned because history is off: ${off}`);
    const notLearned = mode === 'fixed' ? 'finality.mode is fixed.' : off;
    this.aboutFinality = {
      ...{ mode, maxDays, restatementDays, approximate: FINALITY_APPROXIMATE },
      ...(notLearned === null ? {} : { notLearned }),
    };
    this.aboutTruth = { ...ABOUT_TRUTH, ...(off === null ? {} : { notMeasured: off }) };
  }

  /** Records fetched days with their earlier revisions. */
  observed(report: Report, days: readonly DayObservation[]): void {
    if (this.#learnsFinality) this.#noteObservations(report, days);
    const rules = { timezone: this.#timezoneOf(report), isSplit: this.#options.isSplit(report) };
    this.#noteVerdicts(
      report,
      days.flatMap((day) => verdictOf(day, rules) ?? []),
    );
  }

  /** Records days that were seen final for the first time. */
  finalized(report: Report, series: string, days: readonly FinalDay[]): void {
    if (this.#learnsFinality && days.length > 0)
      this.#options.background(this.#expected.note(report, series, days));
  }

  /** Records served days whose numbers depend on the requested range. */
  dependent(report: Report, dates: readonly string[]): void {
    this.#noteDates(report, dates, 'wrong');
  }

  /** Checks the digests of served days before they are compared with the platform. */
  served(report: Report, days: Iterable<Entry<RowsHeader>>): void {
    const wrong = [...days]
      .filter((day) => !matchesDigest(day))
      .map(({ header }) => header.lastDay as string);
    this.#noteDates(report, wrong, 'wrong');
  }

  /** Records a failed refetch of a report's days. */
  failed(report: Report): void {
    const { from, to } = report;
    if (from !== null && to !== null)
      this.#noteDates(report, daysBetween(from, to).slice(-VERDICT_DAYS), 'failed');
  }

  /** Expected change of days of that age until they are final; null if unknown. */
  expectedChange(report: Report, ageDays: number): ExpectedChange | null {
    return this.#learnsFinality ? this.#expected.of(report, ageDays) : null;
  }

  /** For people; `observedSince` in epoch milliseconds. @throws StoreUnavailable */
  async readFinality(scope: Scope) {
    const evidence = await this.#tallies.read(scope);
    const known = this.#windows.get(scope);
    return {
      /** The window in use. */
      windowDays: this.#rules.rulesOf(scope).restatementDays,
      learnedDays: known?.days ?? null,
      settledFromDays: known?.settledFrom ?? null,
      observedSince: hasObservations(evidence) ? evidence.since : null,
      ages: countAges(evidence).map((age) => ({
        ...age,
        changedPercentAtMost: percentAtMost(age.changed, age.n),
      })),
    };
  }

  /** For people; `measuredSince` in epoch milliseconds. @throws StoreUnavailable */
  async readTruth(scope: Scope) {
    const evidence = await this.#tallies.read(scope);
    const ages = countVerdicts(evidence);
    return {
      measuredSince: ages.length === 0 ? null : evidence.since,
      ages: ages.map((age) => ({ ...age, wrongPercentAtMost: percentAtMost(age.wrong, age.n) })),
    };
  }

  windowScopes(account: string): readonly Scope[] {
    const all = [...this.#windows.list(), ...this.#tallies.unwritten()].filter(
      (one) => one.account === account,
    );
    const scopes = all.map(({ endpoint, split }): Scope => ({ endpoint, split, account }));
    return [...new Map(scopes.map((scope) => [scopeId(scope), scope])).values()];
  }

  /** Scopes with evidence, of one advertiser. @throws StoreUnavailable */
  async scopesOf(account: string): Promise<readonly Scope[]> {
    return (await this.allScopes()).filter((one) => one.account === account);
  }

  /** Scopes with evidence. @throws StoreUnavailable */
  async allScopes(): Promise<readonly Scope[]> {
    return [...(await this.#scopes.read('truth-scopes')).values()].map(({ scope }) => scope);
  }

  /** Never rejects. */
  async flush(): Promise<void> {
    await Promise.all([this.#tallies, this.#scopes, this.#expected].map((part) => part.flush()));
  }

  async close(): Promise<void> {
    await Promise.all([this.#tallies, this.#scopes, this.#expected].map((part) => part.close()));
  }

  get #learnsFinality(): boolean {
    return this.#options.config.finality.mode !== 'fixed';
  }

  #timezoneOf({ account }: Report): string {
    return this.#options.policy.timezoneOf(account);
  }

  #today(): number {
    return Math.floor(this.#options.clock.now() / DAY_MS);
  }

  #windowOf(evidence: Evidence): Window {
    const { finality, report } = this.#options.config;
    const rules = { restatementDays: report.restatementDays, maxDays: finality.maxDays };
    return windowOf(evidence, rules, this.#today());
  }

  #noteObservations(report: Report, days: readonly DayObservation[]): void {
    const timezone = this.#timezoneOf(report);
    const observations = days.flatMap((day) => observationOf(day, timezone) ?? []);
    const evidence = observations.map(evidenceOf).reduce(merge, NO_EVIDENCE);
    const scope = scopeOf(report);
    const known = this.#tallies.known(scope) ?? NO_EVIDENCE;
    if (evidence.dates.size === 0 || includes(known, evidence)) return;
    const changed = observations.filter((one) => one.changed && one.ageThen > 0);
    this.#options.metrics.finality('changed', changed.length);
    // At once: a late change makes final days provisional again.
    this.#rules.widen(scope, this.#windowOf(evidence).days);
    this.#add(scope, evidence);
  }

  #noteDates(report: Report, dates: readonly string[], verdict: Verdict): void {
    const today = dayAt(this.#options.clock.now(), this.#timezoneOf(report));
    this.#noteVerdicts(
      report,
      dates.map((date) => ({ date, ageDays: today - (dayNumber(date) as number), verdict })),
    );
  }

  #noteVerdicts(report: Report, verdicts: readonly DayVerdict[]): void {
    const scope = scopeOf(report);
    const over = verdicts.filter(({ ageDays }) => ageDays > 0);
    for (const verdict of VERDICTS) {
      const days = over.filter((day) => day.verdict === verdict);
      if (days.length === 0) continue;
      this.#options.metrics.truth(verdict, days.length);
      if (verdict === 'wrong') this.#logWrong(scope, days);
    }
    this.#add(scope, evidenceOfVerdicts(over, this.#options.clock.now()));
  }

  #add(scope: Scope, evidence: Evidence): void {
    if (evidence.dates.size === 0) return;
    if (!this.#tallies.add(scope, evidence)) this.#options.metrics.finality('lost', 1);
    const today = this.#today();
    this.#scopes.add('truth-scopes', inUse(scope, today - (today % ANEW_DAYS)));
  }

  /** One line per scope and day. */
  #logWrong(scope: Scope, wrong: readonly DayVerdict[]): void {
    const name = `${scopeId(scope)} ${this.#today()}`;
    if (this.#logged.has(name)) return;
    this.#logged.set(name, true);
    const { endpoint, split, account } = scope;
    const dates = wrong.slice(0, SHOWN_DATES).map(({ date }) => date);
    this.#options.logger.error(
      { endpoint, split, advertiserId: account, dates, days: wrong.length },
      'served incorrect days: content does not match its digest, or depends on the requested range; purge this advertiser and request the report again',
    );
  }

  /** Shares the window computed from the evidence of all replicas, if it changed. */
  async #shareWindow(scope: Scope, all: Evidence): Promise<void> {
    if (!this.#learnsFinality || !hasObservations(all)) return;
    const { metrics, logger, config } = this.#options;
    const window = this.#windowOf(all);
    const before = this.#windows.get(scope);
    if (before === null || !isSameWindow(before, window)) await this.#windows.put(scope, all.since, window);
    const after = this.#windows.get(scope);
    if (after === null) return metrics.finality('lost', 1);
    this.#rules.shared(scope, after.days);
    const was = before?.days ?? config.report.restatementDays;
    if (was === after.days) return;
    metrics.finality(after.days > was ? 'widened' : 'narrowed', 1);
    const { endpoint, split, account } = scope;
    logger.info(
      { endpoint, split, advertiserId: account, before: was, after: after.days },
      'the observed number of days until numbers are final changed; finality.mode decides whether freshness follows it',
    );
  }
}

const SCOPES_KEPT_DAYS = 200;
const MAX_SCOPES = 2000;
/** Interval at which a scope in use is rewritten. */
const ANEW_DAYS = 30;

const ScopesForm = recordForm(
  Type.Object({
    form: Type.Literal(1),
    /** Endpoint, split, account, and day number of the last write. */
    scopes: Type.Array(
      Type.Tuple([Type.String(), Type.String(), Type.Union([Type.String(), Type.Null()]), Type.Integer()]),
    ),
  }),
);
/** By scope; `day`: day number of the last use. */
type ScopesInUse = ReadonlyMap<string, { readonly scope: Scope; readonly day: number }>;

const inUse = (scope: Scope, day: number): ScopesInUse => new Map([[scopeId(scope), { scope, day }]]);

/** The scopes in use, in one shared document; the least recently used are dropped. */
function createScopesInUse(documents: Documents, today: () => number, onAway: (error: unknown) => void) {
  return createSharedTallies<'truth-scopes', ScopesInUse>({
    ...{ documents, everyMs: FLUSH_EVERY_MS, ttlMs: SCOPES_KEPT_DAYS * DAY_MS, none: new Map(), onAway },
    documentOf: (key) => key,
    decode(text) {
      const known = ScopesForm.parse(text)?.scopes.map(([endpoint, split, account, day]) =>
        inUse({ endpoint, split, account }, day),
      );
      return known === undefined ? null : new Map(known.flatMap((one) => [...one]));
    },
    encode: (all) =>
      JSON.stringify({
        form: 1,
        scopes: [...all.values()].map(({ scope, day }) => [scope.endpoint, scope.split, scope.account, day]),
      }),
    merge: (one, other) =>
      new Map([...one, ...[...other].filter(([id, { day }]) => day > (one.get(id)?.day ?? -1))]),
    keep: (all) => {
      const kept = [...all].filter(([, { day }]) => day >= today() - SCOPES_KEPT_DAYS);
      return new Map(kept.sort(([, a], [, b]) => b.day - a.day).slice(0, MAX_SCOPES));
    },
  });
}
