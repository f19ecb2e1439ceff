/** The history of reports: what of them is written down, and what is read back. */
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { Config } from '../config/load.js';
import { repeat } from '../repeat.js';
import type { CanonicalReport } from '../report/canonicalize.js';
import type { FreshnessRules } from '../report/freshness.js';
import type { Store } from '../store/port.js';
import { createListRevisions, type ListRevisions } from './list-revisions.js';
import { createReadDays, type ReadDays } from './read-days.js';
import {
  createRecorder,
  type FetchedDays,
  type HistoryEvent,
  type RecorderOptions,
  type Sight,
} from './record.js';
import { sweepHistory } from './sweep.js';

export interface HistoryOptions extends Pick<RecorderOptions, 'encode' | 'credential'> {
  readonly config: Pick<Config, 'history'>;
  readonly store: Pick<Store, 'history' | 'leases'>;
  readonly metrics: {
    history(event: HistoryEvent, days: number): void;
    historyBytes(bytes: number): void;
  };
  /** What a report is judged by. */
  readonly rulesOf: (report: CanonicalReport) => FreshnessRules;
  /** Told of the days of each fetch, beside what was known of them before. */
  readonly onSights: (report: CanonicalReport, sights: readonly Sight[]) => void;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

export interface History {
  /** Whether what is fetched of it is written down. */
  isRecorded(report: CanonicalReport): boolean;
  /** Writes down what a fetch brought. Never rejects. */
  record(report: CanonicalReport, fetched: FetchedDays): Promise<void>;
  readonly readDays: ReadDays;
  readonly listRevisions: ListRevisions;
  /** Ends what it does by itself. */
  close(): Promise<void>;
}

const SWEEP_EVERY_MS = 3_600_000;

export function createHistory(options: HistoryOptions): History {
  const { config, store, metrics, logger } = options;
  const { enabled, endpoints, splits, retentionDays, maxBytes } = config.history;
  const rules = {
    ...{ leases: store.leases, owner: randomUUID(), retentionDays, maxBytes, logger },
    now: options.clock.now,
  };
  const recorder = createRecorder({ ...options, store: store.history, onEvent: metrics.history });
  const off = enabled ? store.history.off() : null;
  if (off !== null) logger.warn(`no history is kept: ${off}`);

  function isRecorded({ endpoint, split }: CanonicalReport): boolean {
    if (!enabled || store.history.off() !== null) return false;
    if (endpoints.length > 0 && !endpoints.includes(endpoint)) return false;
    return splits.length === 0 || splits.includes(split.join('+'));
  }

  const sweep = repeat(SWEEP_EVERY_MS, async (isStopped) => {
    try {
      const swept = await sweepHistory({ ...rules, store: store.history }, isStopped);
      if (swept !== null) metrics.historyBytes(swept.bytes);
    } catch (error) {
      logger.warn(
        { err: error },
        'the history could not be looked through for what is over; trying again in an hour',
      );
    }
  });
  if (enabled) sweep.now();

  return {
    isRecorded,
    async record(report, fetched) {
      if (isRecorded(report))
        await recorder.record({
          ...fetched,
          rules: options.rulesOf(report),
          onSights: (sights) => options.onSights(report, sights),
        });
    },
    readDays: createReadDays({ store: store.history, enabled }),
    listRevisions: createListRevisions({ store: store.history, enabled }),
    close: sweep.stop,
  };
}
