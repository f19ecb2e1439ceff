/**
 * Evidence from refetched days: how long numbers change (finality), and whether served days were correct (truth). Counted by age
 * in each scope, in the background; the lines of the days tell what is new. The resulting window is a registry record.
 */
import type { Logger } from 'pino';
import Type from 'typebox';
import type { Config } from '../../config/load.js';
import type { Clock } from '../../lib/clock.js';
import { createLastUsed } from '../../lib/last-used.js';
import { recordForm } from '../../lib/record.js';
import { repeat } from '../../lib/repeat.js';
import type { Store } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import type { Days } from '../days/days.js';
import type { FinalDay } from '../history/record.js';
import type { Report } from '../query/canonicalize.js';
import { dayAt, dayNumber, daysBetween } from '../query/days.js';
import type { ReportSeries } from '../query/platform-call.js';
import { configuredRules, type ReportPolicy } from '../report-policy.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { createDayCounts } from './day-counts.js';
import {
  AGES,
  type CountRules,
  type Counts,
  type DayNews,
  judge,
  MAX_AGE,
  matchesDigest,
  VERDICTS,
  type Verdict,
} from './evidence.js';
import { createExpectedChanges, type ExpectedChange } from './expected-changes.js';
import { isCounted, percentAtMost, type Scope, scopeId, scopeOf } from './scope.js';
import {
  countsIn,
  createRules,
  createWindows,
  RAISED,
  type Rules,
  type Windows,
  widenedTo,
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
  readonly store: Pick<Store, 'counters'>;
  readonly days: Pick<Days, 'rows' | 'count'>;
  readonly metrics: {
    finality(event: FinalityEvent, count: number): void;
    truth(verdict: Verdict, days: number): void;
  };
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly background: (work: Promise<unknown>) => void;
  readonly logger: Logger;
}

const ROUGH = 'A rough estimate: neighbouring days change together.';
const FINALITY_APPROXIMATE = `${ROUGH} Changes of days that nobody requests again are not seen.`;
const ABOUT_TRUTH = {
  basis:
    'Days are fetched again when they are no longer fresh, when a call for other days includes them, and when an answer that was joined from days is checked. They are no random sample: nothing is weighted, and nothing follows for days that were not fetched again. Each date counts once at each age, by its worst verdict.',
  approximate: `${ROUGH} What the platform would have returned at a past time is unknown.`,
};
const HISTORY_OFF = 'history.enabled is false.';
const DAY_MS = 86_400_000;
const FLUSH_EVERY_MS = 30_000;
/** Days of a report whose failed refetch is counted. */
const MAX_FAILED = 200;
/** Verdicts are counted in periods of so many days: those of the present one and of the one before it are shown. */
const PERIOD_DAYS = 200;
/** Limit of remembered error lines, by scope and day. */
const MAX_LOGGED = 10_000;
const SHOWN_DATES = 10;
const SHOWN_VERDICTS = ['same', 'differs_since', 'restated', 'wrong', 'failed'] as const;

export class DayEvidence {
  readonly rulesFor: Rules['rulesFor'];
  readonly stampOf: Rules['stampOf'];
  readonly readChanges: ReturnType<typeof createExpectedChanges>['read'];
  readonly aboutFinality: object;
  readonly aboutTruth: object;
  readonly #options: DayEvidenceOptions;
  readonly #windows: Windows;
  readonly #rules: Rules;
  readonly #counts: ReturnType<typeof createDayCounts>;
  readonly #expected: ReturnType<typeof createExpectedChanges>;
  readonly #flushes: ReturnType<typeof repeat>;
  readonly #logged = createLastUsed<true>(MAX_LOGGED);
  /** Scopes whose counts changed since their window was computed. */
  readonly #changed = new Map<string, Scope>();

  constructor(options: DayEvidenceOptions) {
    const { config, registry, clock, logger } = options;
    const { counters } = options.store;
    const { mode, maxDays } = config.finality;
    const { restatementDays } = config.report;
    this.#options = options;
    this.#windows = createWindows(registry);
    this.#rules = createRules({ mode, maxDays, base: configuredRules(config), windows: this.#windows });
    this.#counts = createDayCounts({ counters, clock, logger });
    this.#expected = createExpectedChanges({ ...options, counts: this.#counts });
    this.#flushes = repeat(FLUSH_EVERY_MS, () => this.flush());
    this.rulesFor = this.#rules.rulesFor;
    this.stampOf = this.#rules.stampOf;
    this.readChanges = this.#expected.read;
    const off = config.history.enabled ? null : HISTORY_OFF;
    if (mode !== 'fixed' && off !== null)
      logger.warn(`it is not learned when days stop changing, because history is off: ${off}`);
    const notLearned = mode === 'fixed' ? 'finality.mode is fixed.' : off;
    this.aboutFinality = {
      mode,
      maxDays,
      restatementDays,
      approximate: FINALITY_APPROXIMATE,
      ...(notLearned === null ? {} : { notLearned }),
    };
    this.aboutTruth = { ...ABOUT_TRUTH, ...(off === null ? {} : { notMeasured: off }) };
  }

  /** How the looks at days of a report are counted. */
  countRulesOf(report: Report): CountRules {
    return {
      ...this.#windowRules,
      timezone: this.#timezoneOf(report),
      isSplit: this.#options.isSplit(report),
      isCounted: isCounted(report),
      learnsFinality: this.#learnsFinality,
      lateOn: this.#windows.get(scopeOf(report))?.lateOn ?? -1,
    };
  }

  /** Adds what the write of fetched days says is new. */
  noted(report: Report, days: readonly DayNews[]): void {
    if (days.length === 0) return;
    for (const verdict of VERDICTS) {
      const count = days.filter((day) => day.verdict === verdict).length;
      if (count > 0) this.#options.metrics.truth(verdict, count);
    }
    this.#addVerdicts(
      report,
      days.flatMap(({ verdicts }) => verdicts),
    );
    if (this.#learnsFinality) this.#addAges(report, days);
    if (days.some(({ verdict, ages }) => verdict !== null || ages.length > 0)) this.#use(report);
  }

  /** Records days that were seen final for the first time. */
  finalized(report: Report, series: string, days: readonly FinalDay[]): void {
    if (this.#learnsFinality && isCounted(report) && days.length > 0)
      this.#options.background(this.#expected.note(report, series, days));
  }

  /** Records served days whose numbers depend on the requested range. */
  dependent(what: ReportSeries, dates: readonly string[]): void {
    this.#judge(what, dates, 'wrong');
  }

  /** Checks the digests of served days before they are compared with the platform. */
  served(what: ReportSeries, days: Iterable<Entry<RowsHeader>>): void {
    const wrong = [...days]
      .filter((day) => !matchesDigest(day))
      .map(({ header }) => header.lastDay as string);
    this.#judge(what, wrong, 'wrong');
  }

  /** Records a failed refetch of a report's days. */
  failed(what: ReportSeries): void {
    const { from, to } = what.report;
    if (from !== null && to !== null) this.#judge(what, daysBetween(from, to).slice(-MAX_FAILED), 'failed');
  }

  /** Expected change of days of that age until they are final; null if unknown. */
  expectedChange(report: Report, ageDays: number): ExpectedChange | null {
    return this.#learnsFinality ? this.#expected.of(report, ageDays) : null;
  }

  /** For people; `observedSince` in epoch milliseconds. @throws StoreUnavailable */
  async readFinality(scope: Scope) {
    await this.flush();
    const [fields = new Map()] = await this.#counts.read([finalityOf(scope)]);
    const { since, ages } = countsIn(fields);
    const known = this.#windows.get(scope);
    return {
      /** The window in use. */
      windowDays: this.#rules.rulesOf(scope).restatementDays,
      learnedDays: known?.days ?? null,
      settledFromDays: known?.settledFrom ?? null,
      observedSince: since,
      ages: ages.map((age) => ({ ...age, changedPercentAtMost: percentAtMost(age.changed, age.n) })),
    };
  }

  /** For people; `measuredSince` in epoch milliseconds. @throws StoreUnavailable */
  async readTruth(scope: Scope) {
    const both = await this.#readPeriods((period) => truthOf(scope, period));
    const count = (name: string) => both.reduce((sum, fields) => sum + (fields.get(name) ?? 0), 0);
    const ages = AGES.flatMap((ageDays) => {
      const [same = 0, differsSince = 0, restated = 0, wrong = 0, failed = 0] = SHOWN_VERDICTS.map(
        (verdict) => Math.max(0, count(`${verdict} ${ageDays}`)),
      );
      const n = same + differsSince + restated + wrong;
      if (n + failed === 0) return [];
      const wrongPercentAtMost = percentAtMost(wrong, n);
      return [{ ageDays, n, same, differsSince, restated, wrong, wrongPercentAtMost, failed }];
    });
    const since = both.flatMap((fields) => fields.get(RAISED.since) ?? []);
    return { measuredSince: ages.length === 0 ? null : -Math.max(...since), ages };
  }

  /** Scopes with a learned window, of one advertiser. */
  async windowScopes(account: string): Promise<readonly Scope[]> {
    await this.flush();
    const known = this.#windows.list().filter((one) => one.account === account);
    return known.map(({ endpoint, split }) => ({ endpoint, split, account }));
  }

  /** Scopes with evidence, of one advertiser. @throws StoreUnavailable */
  async scopesOf(account: string): Promise<readonly Scope[]> {
    return (await this.allScopes()).filter((one) => one.account === account);
  }

  /** Scopes with evidence. @throws StoreUnavailable */
  async allScopes(): Promise<readonly Scope[]> {
    const both = await this.#readPeriods(scopesIn);
    return [...new Set(both.flatMap((fields) => [...fields.keys()]))].flatMap((text) => {
      const [endpoint, split, account = null] = ScopeForm.parse(text) ?? [];
      return endpoint === undefined || split === undefined ? [] : [{ endpoint, split, account }];
    });
  }

  /** With what is not written yet. @returns the present period and the one before it. @throws StoreUnavailable */
  async #readPeriods(groupOf: (period: number) => string) {
    await this.flush();
    return await this.#counts.read([groupOf(this.#period()), groupOf(this.#period() - 1)]);
  }

  /** Writes what was counted, and shares the windows that it changes. Never rejects. */
  async flush(): Promise<void> {
    if (!(await this.#counts.flush())) return;
    const changed = [...this.#changed];
    this.#changed.clear();
    try {
      const read = await this.#counts.read(changed.map(([, scope]) => finalityOf(scope)));
      for (const [at, [, scope]] of changed.entries()) await this.#shareWindow(scope, read[at] ?? new Map());
    } catch (error) {
      for (const [id, scope] of changed) this.#changed.set(id, scope);
      this.#options.logger.warn({ err: error }, 'failed to share learned windows; retrying');
    }
  }

  async close(): Promise<void> {
    await this.#flushes.stop();
    await this.flush();
  }

  get #learnsFinality(): boolean {
    return this.#options.config.finality.mode !== 'fixed';
  }

  get #windowRules() {
    const { finality, report } = this.#options.config;
    const { restatementDays } = report;
    return { restatementDays, maxDays: Math.max(finality.maxDays, restatementDays) };
  }

  #timezoneOf({ account }: Report): string {
    return this.#options.policy.timezoneOf(account);
  }

  #today(): number {
    return Math.floor(this.#options.clock.now() / DAY_MS);
  }

  #period(): number {
    return Math.floor(this.#today() / PERIOD_DAYS);
  }

  #addAges(report: Report, days: readonly DayNews[]): void {
    const scope = scopeOf(report);
    const group = finalityOf(scope);
    const { restatementDays } = this.#windowRules;
    const changed = days.filter(({ changedAfter }) => changedAfter > 0);
    this.#options.metrics.finality('changed', changed.length);
    for (const { on, changedAfter } of changed) {
      this.#counts.raise(group, RAISED.latestAfter, Math.min(changedAfter, MAX_AGE));
      if (changedAfter >= restatementDays) this.#counts.raise(group, RAISED.lateOn, on);
    }
    // At once: a late change makes final days provisional again.
    const latest = Math.max(0, ...changed.map(({ changedAfter }) => changedAfter));
    this.#rules.widen(scope, widenedTo(latest, this.#windowRules));
    this.#add(
      group,
      days.flatMap(({ ages }) => ages),
    );
    if (changed.length > 0 || days.some(({ ages }) => ages.length > 0))
      this.#changed.set(scopeId(scope), scope);
  }

  #addVerdicts(report: Report, verdicts: Counts): void {
    this.#add(truthOf(scopeOf(report), this.#period()), verdicts);
  }

  #add(group: string, counts: Counts): void {
    if (counts.length === 0) return;
    this.#counts.raise(group, RAISED.since, -this.#options.clock.now());
    const lost = counts.filter(([name, by]) => !this.#counts.add(group, name, by));
    if (lost.length > 0) this.#options.metrics.finality('lost', 1);
  }

  /** Notes a verdict that no fetch of the days brought, in their lines. */
  #judge(what: ReportSeries, dates: readonly string[], verdict: Verdict): void {
    const { report, series } = what;
    const today = dayAt(this.#options.clock.now(), this.#timezoneOf(report));
    const ageOf = (date: string) => today - (dayNumber(date) as number);
    const over = dates.filter((date) => ageOf(date) > 0);
    if (over.length === 0) return;
    this.#options.metrics.truth(verdict, over.length);
    if (verdict === 'wrong') this.#logWrong(scopeOf(report), over);
    this.#use(report);
    // A failed refetch tells nothing about rows: only that of the counted series.
    if (verdict === 'failed' && !isCounted(report)) return;
    const counting = this.#options.days.count(series, over, (before, date) =>
      judge(before, ageOf(date), verdict),
    );
    this.#options.background(counting.then((verdicts) => this.#addVerdicts(report, verdicts)));
  }

  #use(report: Report): void {
    const { endpoint, split, account } = scopeOf(report);
    this.#counts.raise(scopesIn(this.#period()), JSON.stringify([endpoint, split, account]), this.#today());
  }

  /** One line per scope and day. */
  #logWrong(scope: Scope, wrong: readonly string[]): void {
    const name = `${scopeId(scope)} ${this.#today()}`;
    if (this.#logged.has(name)) return;
    this.#logged.set(name, true);
    const { endpoint, split, account } = scope;
    this.#options.logger.error(
      { endpoint, split, advertiserId: account, dates: wrong.slice(0, SHOWN_DATES), days: wrong.length },
      'served incorrect days: content does not match its digest, or depends on the requested range; purge this advertiser and request the report again',
    );
  }

  /** Shares the window computed from the counts of all replicas, if it changed. @throws StoreUnavailable */
  async #shareWindow(scope: Scope, fields: ReadonlyMap<string, number>): Promise<void> {
    const { metrics, logger, config } = this.#options;
    const before = this.#windows.get(scope);
    const counts = countsIn(fields, before?.lateOn);
    const since = counts.since ?? this.#options.clock.now();
    await this.#windows.put(scope, since, windowOf(counts, this.#windowRules, this.#today()));
    const was = before?.days ?? config.report.restatementDays;
    const after = this.#windows.get(scope)?.days ?? was;
    this.#rules.shared(scope, after);
    if (was === after) return;
    metrics.finality(after > was ? 'widened' : 'narrowed', 1);
    const { endpoint, split, account } = scope;
    logger.info(
      { endpoint, split, advertiserId: account, before: was, after },
      'the observed number of days until numbers are final changed; finality.mode decides whether freshness follows it',
    );
  }
}

const finalityOf = (scope: Scope) => `finality:${scopeId(scope)}`;
const truthOf = (scope: Scope, period: number) => `truth:${scopeId(scope)}:${period}`;
const scopesIn = (period: number) => `scopes:${period}`;

const ScopeForm = recordForm(
  Type.Tuple([Type.String(), Type.String(), Type.Union([Type.String(), Type.Null()])]),
);
