/** Finality of days: how long numbers change is learned from history, shown, and, where an operator says so, gone by. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { Config } from '../config/load.js';
import type { FinalDay, Sight } from '../history/day-writes.js';
import type { Registry } from '../registry/replica.js';
import { repeat } from '../repeat.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { configuredRules, type ReportPolicy } from '../report-policy.js';
import type { Store } from '../store/port.js';
import { percentAtMost } from './bound.js';
import type { ExpectedChange } from './change-buckets.js';
import { type AgeCount, countAges } from './evidence.js';
import { createExpected, type Expected } from './expected.js';
import { createLearning, type FinalityEvent } from './learn.js';
import { observationOf } from './observe.js';
import { createRules, type FinalityMode, type LearnedRules } from './rules.js';
import { type Scope, scopeOf, scopesWith } from './scope.js';
import { createWindows } from './windows.js';

export interface FinalityOptions {
  readonly config: Pick<Config, 'finality' | 'history' | 'report'>;
  readonly policy: ReportPolicy;
  readonly registry: Registry;
  readonly store: Pick<Store, 'counters' | 'documents' | 'history'>;
  readonly metrics: { finality(event: FinalityEvent, count: number): void };
  readonly clock: Pick<Clock, 'now'>;
  /** Work behind an answer; told of what fails. */
  readonly background: (work: Promise<unknown>) => void;
  readonly logger: Logger;
}

/** What is known of one scope, as it is shown. */
export interface ScopeFinality {
  readonly scope: Scope;
  /** By which days are final now. */
  readonly windowDays: number;
  /** Null where nothing was observed. */
  readonly learnedDays: number | null;
  readonly settledFromDays: number | null;
  /** Epoch milliseconds. */
  readonly observedSince: number | null;
  readonly ages: readonly (AgeCount & { readonly changedPercentAtMost: number })[];
}

export interface Finality extends Pick<LearnedRules, 'rulesFor' | 'stampOf'> {
  /** Told of every look at days that history knows, behind the answer. */
  sighted(report: CanonicalReport, sights: readonly Sight[]): void;
  /** Told of days that were seen final for the first time, behind the answer. */
  becameFinal(report: CanonicalReport, series: string, days: readonly FinalDay[]): void;
  /** By how much numbers of days of that age change until they are final; null where that cannot be said yet. */
  expectedChange(report: CanonicalReport, ageDays: number): ExpectedChange | null;
  /** The same of one scope, by the age of a day. @throws StoreUnavailable */
  readonly readChanges: Expected['read'];
  /** @throws StoreUnavailable */
  read(scope: Scope): Promise<ScopeFinality>;
  /** Of which something was learned, of one advertiser. */
  scopesOf(account: string): readonly Scope[];
  /** What holds for all of it. */
  readonly about: {
    readonly mode: FinalityMode;
    readonly restatementDays: number;
    readonly maxDays: number;
    readonly approximate: string;
    readonly notLearned?: string;
  };
  /** Writes down what was learned so far. Never rejects. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

const APPROXIMATE =
  'Bounds are those of independent days with 95 %; days are not independent, and what nobody asks for again is not seen to change.';
const FLUSH_EVERY_MS = 30_000;

export function createFinality(options: FinalityOptions): Finality {
  const { config, policy, store, registry, logger } = options;
  const { mode, maxDays } = config.finality;
  const windows = createWindows(registry);
  const rules = createRules({ mode, maxDays, base: configuredRules(config), windows });
  const learning = createLearning({
    ...{ documents: store.documents, windows, rules, logger, now: options.clock.now },
    window: { restatementDays: config.report.restatementDays, maxDays },
    onEvent: options.metrics.finality,
  });
  const expected = createExpected({
    ...{ store, logger, now: options.clock.now, timezoneOf: policy.timezoneOf },
  });
  const flush = async () => {
    await Promise.all([learning.flush(), expected.flush()]);
  };
  const off = config.history.enabled ? null : 'history.enabled is false.';
  if (mode !== 'fixed' && off !== null)
    logger.warn(`finality is not learned, for no history is kept: ${off}`);
  const flushes = repeat(FLUSH_EVERY_MS, flush);
  return {
    rulesFor: rules.rulesFor,
    stampOf: rules.stampOf,
    sighted(report, sights) {
      if (mode === 'fixed') return;
      const timezone = policy.timezoneOf(report.account);
      learning.note(
        scopeOf(report),
        sights.flatMap((sight) => observationOf(sight, timezone) ?? []),
      );
    },
    becameFinal(report, series, days) {
      if (mode !== 'fixed' && days.length > 0) options.background(expected.note(report, series, days));
    },
    expectedChange: (report, ageDays) => (mode === 'fixed' ? null : expected.of(report, ageDays)),
    readChanges: expected.read,
    async read(scope) {
      const evidence = await learning.read(scope);
      const known = windows.get(scope);
      return {
        scope,
        windowDays: rules.rulesOf(scope).restatementDays,
        learnedDays: known?.days ?? null,
        settledFromDays: known?.settledFrom ?? null,
        observedSince: evidence.dates.size === 0 ? null : evidence.since,
        ages: countAges(evidence).map((age) => ({
          ...age,
          changedPercentAtMost: percentAtMost(age.changed, age.n),
        })),
      };
    },
    scopesOf: (account) =>
      scopesWith(windows.list(), learning.unwritten()).filter((one) => one.account === account),
    about: {
      ...{ mode, maxDays, restatementDays: config.report.restatementDays, approximate: APPROXIMATE },
      ...(mode === 'fixed'
        ? { notLearned: 'finality.mode is fixed.' }
        : off === null
          ? {}
          : { notLearned: off }),
    },
    flush,
    async close() {
      await flushes.stop();
      await flush();
    },
  };
}
