/** Finality of days: how long numbers change is learned from history, shown, and, where an operator says so, gone by. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { Config } from '../config/load.js';
import type { Sight } from '../history/day-writes.js';
import type { Registry } from '../registry/replica.js';
import { repeat } from '../repeat.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import { configuredRules, type ReportPolicy } from '../report-policy.js';
import type { Store } from '../store/port.js';
import { createLearning, type FinalityEvent } from './learn.js';
import { observationOf } from './observe.js';
import { createRules, type LearnedRules } from './rules.js';
import { scopeOf } from './scope.js';
import { createWindows } from './windows.js';

export interface FinalityOptions {
  readonly config: Pick<Config, 'finality' | 'history' | 'report'>;
  readonly policy: ReportPolicy;
  readonly registry: Registry;
  readonly store: Pick<Store, 'documents' | 'history'>;
  readonly metrics: { finality(event: FinalityEvent, count: number): void };
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

export interface Finality extends Pick<LearnedRules, 'rulesFor' | 'stampOf'> {
  /** Told of every look at days that history knows, behind the answer. */
  sighted(report: CanonicalReport, sights: readonly Sight[]): void;
  /** Writes down what was learned so far. Never rejects. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

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
  const off = config.history.enabled ? store.history.off() : 'history.enabled is false.';
  if (mode !== 'fixed' && off !== null)
    logger.warn(`finality is not learned, for no history is kept: ${off}`);
  const flushes = repeat(FLUSH_EVERY_MS, learning.flush);
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
    flush: learning.flush,
    async close() {
      await flushes.stop();
      await learning.flush();
    },
  };
}
