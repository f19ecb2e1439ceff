/**
 * Finality of days: for how long numbers change is learned behind answers, shown and, where the settings say so, used for
 * freshness. Observations go to one document a scope, which all replicas share; a window that comes out of it goes to the registry.
 */
import type { Logger } from 'pino';
import type { Config } from '../../config/load.js';
import type { Clock } from '../../lib/clock.js';
import { repeat } from '../../lib/repeat.js';
import type { Store } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import { createSharedTallies } from '../../store/shared-tallies.js';
import type { DayObservation, FinalDay } from '../history/day-writes.js';
import type { Report } from '../query/canonicalize.js';
import { configuredRules, type ReportPolicy } from '../report-policy.js';
import { percentAtMost } from './bound.js';
import {
  type AgeCount,
  countAges,
  decodeEvidence,
  type Evidence,
  encodeEvidence,
  evidenceOf,
  forget,
  includes,
  merge,
  NO_EVIDENCE,
} from './evidence.js';
import { createExpected } from './expected.js';
import { observationOf } from './looks.js';
import { createRules } from './rules.js';
import { type Scope, scopeId, scopeOf, scopesWith } from './scope.js';
import { isSameWindow, type Window, windowOf } from './window.js';
import { createWindows, type Windows } from './windows.js';

/** lost: of scopes that there was no room for. */
export type FinalityEvent = 'changed' | 'widened' | 'narrowed' | 'lost';

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

export type Finality = ReturnType<typeof createFinality>;

const APPROXIMATE =
  'Bounds are those of independent days with 95 %; days are not independent, and what nobody asks for again is not seen to change.';
const FLUSH_EVERY_MS = 30_000;
const DAY_MS = 86_400_000;
const KEPT_MS = 500 * DAY_MS;

export function createFinality(options: FinalityOptions) {
  const { config, policy, store, registry, logger } = options;
  const { now } = options.clock;
  const onEvent = options.metrics.finality;
  const { mode, maxDays } = config.finality;
  const { restatementDays } = config.report;
  const windows = createWindows(registry);
  const rules = createRules({ mode, maxDays, base: configuredRules(config), windows });
  const today = () => Math.floor(now() / DAY_MS);
  const windowNow = (evidence: Evidence) => windowOf(evidence, { restatementDays, maxDays }, today());
  const shareWindow = createShareWindow({ windows, rules, restatementDays, onEvent, logger });
  const tallies = createSharedTallies<Scope, Evidence>({
    ...{ documents: store.documents, everyMs: FLUSH_EVERY_MS, ttlMs: KEPT_MS },
    ...{ decode: decodeEvidence, encode: encodeEvidence, none: NO_EVIDENCE, merge },
    documentOf: (scope) => `finality:${scopeId(scope)}`,
    keep: (all) => forget(all, today()),
    onWritten: (scope, all) => shareWindow(scope, all.since, windowNow(all)),
    onAway: (error) => logger.warn({ err: error }, 'what was learned of finality waits for the store'),
  });
  const expected = createExpected({ store, logger, now, timezoneOf: policy.timezoneOf });
  const flushes = repeat(FLUSH_EVERY_MS, expected.flush);

  const off = config.history.enabled ? null : 'history.enabled is false.';
  if (mode !== 'fixed' && off !== null)
    logger.warn(`finality is not learned, for no history is kept: ${off}`);
  const notLearned = mode === 'fixed' ? 'finality.mode is fixed.' : off;
  return {
    rulesFor: rules.rulesFor,
    stampOf: rules.stampOf,
    /** Told of every look at days that history knows, behind the answer. */
    observed(report: Report, sights: readonly DayObservation[]): void {
      if (mode === 'fixed') return;
      const timezone = policy.timezoneOf(report.account);
      const observations = sights.flatMap((sight) => observationOf(sight, timezone) ?? []);
      const evidence = observations.reduce((sum, one) => merge(sum, evidenceOf(one)), NO_EVIDENCE);
      const scope = scopeOf(report);
      if (evidence.dates.size === 0 || includes(tallies.known(scope) ?? NO_EVIDENCE, evidence)) return;
      onEvent('changed', observations.filter(({ changed, ageThen }) => changed && ageThen > 0).length);
      // At once: a late change makes days provisional that were final a moment ago.
      rules.widen(scope, windowNow(evidence).days);
      if (!tallies.add(scope, evidence)) onEvent('lost', 1);
    },
    /** Told of days that were seen final for the first time, behind the answer. */
    finalized(report: Report, series: string, days: readonly FinalDay[]): void {
      if (mode !== 'fixed' && days.length > 0) options.background(expected.note(report, series, days));
    },
    /** By how much numbers of days of that age change until they are final; null where that cannot be said yet. */
    expectedChange: (report: Report, ageDays: number) =>
      mode === 'fixed' ? null : expected.of(report, ageDays),
    /** The same of one scope, by the age of a day. @throws StoreUnavailable */
    readChanges: expected.read,
    /** @throws StoreUnavailable */
    async read(scope: Scope): Promise<ScopeFinality> {
      const evidence = await tallies.read(scope);
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
    /** Of which something was learned, of one advertiser. */
    scopesOf: (account: string): readonly Scope[] =>
      scopesWith(windows.list(), tallies.unwritten()).filter((one) => one.account === account),
    /** What holds for all of it. */
    about: {
      ...{ mode, maxDays, restatementDays, approximate: APPROXIMATE },
      ...(notLearned === null ? {} : { notLearned }),
    },
    /** Writes down what was learned so far. Never rejects. */
    async flush(): Promise<void> {
      await Promise.all([tallies.flush(), expected.flush()]);
    },
    async close(): Promise<void> {
      await flushes.stop();
      await Promise.all([tallies.close(), expected.flush()]);
    },
  };
}

function createShareWindow({
  windows,
  rules,
  restatementDays,
  onEvent,
  logger,
}: {
  readonly windows: Windows;
  readonly rules: Pick<ReturnType<typeof createRules>, 'shared'>;
  readonly restatementDays: number;
  readonly onEvent: FinalityOptions['metrics']['finality'];
  readonly logger: Logger;
}) {
  /** Shares the window that comes out of the evidence of all, where it is another. */
  return async function shareWindow(scope: Scope, since: number, window: Window): Promise<void> {
    const before = windows.get(scope);
    if (before === null || !isSameWindow(before, window)) await windows.put(scope, since, window);
    const after = windows.get(scope);
    if (after === null) return onEvent('lost', 1);
    rules.shared(scope, after.days);
    const was = before?.days ?? restatementDays;
    if (was === after.days) return;
    onEvent(after.days > was ? 'widened' : 'narrowed', 1);
    const { endpoint, split, account } = scope;
    logger.info(
      { endpoint, split, advertiserId: account, before: was, after: after.days },
      'days were seen to change for a longer, or a shorter, time than before; finality.mode says whether freshness goes by it',
    );
  };
}
