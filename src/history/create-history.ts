/** The history of reports: what of them is written down, and what is read back. */
import type { Logger } from 'pino';
import { randomId } from '../chance.js';
import type { Clock } from '../clock.js';
import type { Config } from '../config/load.js';
import { repeat } from '../repeat.js';
import type { Report } from '../report/canonicalize.js';
import type { FreshnessRules } from '../report/freshness.js';
import { type Store, StoreUnavailable } from '../store/port.js';
import { type AcceptedEmpty, type AcceptedScope, countLost } from './accepted-empty.js';
import { eraseHistory } from './erase.js';
import { accountsAsked, type Erasures } from './erasures.js';
import { createListRevisions, type ListRevisions } from './list-revisions.js';
import type { CutDays } from './mark-days.js';
import { createReadDays, type ReadDays } from './read-days.js';
import { createRecalls, type Recalls } from './recall-days.js';
import {
  createRecorder,
  type FetchedDays,
  type HistoryEvent,
  type Recorder,
  type RecorderOptions,
  type RecordListeners,
} from './record.js';
import { sweepHistory } from './sweep.js';

export interface HistoryOptions extends Pick<RecorderOptions, 'encode' | 'credential'> {
  readonly config: Pick<Config, 'history'>;
  readonly store: Pick<Store, 'history' | 'leases'>;
  readonly metrics: {
    history(event: HistoryEvent, days: number): void;
    historyBytes(bytes: number): void;
    schemaChange(change: string, columns: number): void;
  };
  /** Which days of a report are final, and how long the others are fresh. */
  readonly rulesOf: (report: Report) => FreshnessRules;
  readonly clock: Pick<Clock, 'now'>;
  readonly erasures: Erasures;
  readonly accepted: AcceptedEmpty;
  readonly logger: Logger;
}

export interface History extends Recalls {
  /** Whether what is fetched of it is written down. */
  isRecorded(report: Report): boolean;
  /** Writes down what a fetch brought. Never rejects. */
  record(report: Report, fetched: FetchedDays, listeners: RecordListeners): Promise<void>;
  /** Marks what came of answers that the platform had cut off. Never rejects. */
  voidCut(report: Report, cut: CutDays): Promise<void>;
  readonly readDays: ReadDays;
  readonly listRevisions: ListRevisions;
  /**
   * Erases what was known of an account, for good.
   * @param audit a line stored with it
   * @returns days that had something of it; null while the store of the history does not answer: it is shown to nobody all
   *   the same, and removed later
   * @throws StoreUnavailable where nothing was erased
   */
  erase(advertiserId: string, audit: string): Promise<number | null>;
  /**
   * Believes that days are empty that the platform answers without rows.
   * @param audit a line stored with it; null: nothing is changed
   * @returns days that are given from history until now
   * @throws StoreUnavailable
   */
  acceptEmpty(scope: AcceptedScope, audit: string | null): Promise<number>;
  /** Ends what it does by itself. */
  close(): Promise<void>;
}

const SWEEP_EVERY_MS = 3_600_000;
/** What was missed while the store was away is marked that soon after it is back. */
const MARK_EVERY_MS = 15_000;
/** Longer than any fetch, and what is written behind it, takes. */
const FETCH_MS = 3_600_000;

export function createHistory(options: HistoryOptions): History {
  const { config, store, metrics, logger } = options;
  const { enabled, endpoints, splits, retentionDays, maxBytes } = config.history;
  const rules = {
    ...{ leases: store.leases, owner: randomId(), retentionDays, maxBytes, logger },
    now: options.clock.now,
  };
  const { isErased } = options.erasures;
  const recorder = createRecorder({
    ...{ ...options, isErased, store: store.history },
    ...{ onEvent: metrics.history, onSchemaChange: metrics.schemaChange },
  });

  function isRecorded({ endpoint, split }: Report): boolean {
    if (!enabled) return false;
    if (endpoints.length > 0 && !endpoints.includes(endpoint)) return false;
    return splits.length === 0 || splits.includes(split.join('+'));
  }

  const sweep = repeat(SWEEP_EVERY_MS, async (isStopped) => {
    try {
      const swept = await sweepHistory({ ...rules, store: store.history }, isStopped);
      if (swept === null) return;
      metrics.historyBytes(swept.bytes);
      await closeErasures(options, isStopped);
    } catch (error) {
      logger.warn(
        { err: error },
        'the history could not be looked through for what is over; trying again in an hour',
      );
    }
  });
  if (enabled) sweep.now();
  const marks = repeat(MARK_EVERY_MS, () => recorder.markMissed());

  return {
    isRecorded,
    async record(report, fetched, listeners) {
      if (!isRecorded(report)) return;
      const [asked, rules] = [accountsAsked(report), options.rulesOf(report)];
      const facts = { endpoint: report.endpoint, asked, rules };
      await recorder.record({ ...fetched, ...facts, ...listeners });
    },
    async voidCut(report, cut) {
      if (isRecorded(report)) await recorder.voidCut(cut);
    },
    ...createReads(options, recorder),
    ...createRecalls({ store: store.history, isErased, written: recorder.written, logger }),
    async erase(advertiserId, audit) {
      await options.erasures.append(advertiserId, rules.now(), audit);
      if (!enabled) return 0;
      try {
        return await eraseHistory({ store: store.history, isErased }, () => false);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        logger.warn(
          { err: error },
          'what was erased could not be removed from the store; trying again in an hour',
        );
        return null;
      }
    },
    async acceptEmpty(scope, audit) {
      const days = enabled ? await countLost(store.history, scope) : 0;
      if (audit !== null) await options.accepted.append(scope, rules.now(), audit);
      return days;
    },
    close: () => Promise.all([marks.stop(), sweep.stop()]).then(() => {}),
  };
}

/** What this process has missed it tells at once, and others soon. */
function createReads(
  { config, store, erasures }: HistoryOptions,
  { markMissed }: Pick<Recorder, 'markMissed'>,
): Pick<History, 'readDays' | 'listRevisions'> {
  const { isErased } = erasures;
  const options = { store: store.history, isErased, enabled: config.history.enabled };
  const [readDays, listRevisions] = [createReadDays(options), createListRevisions(options)];
  return {
    readDays: (wanted) => markMissed(wanted.series).then(() => readDays(wanted)),
    listRevisions: (wanted) => markMissed(wanted.series).then(() => listRevisions(wanted)),
  };
}

/** Removes once more what fetches under way may have written since, and what was left when a process ended. */
async function closeErasures(
  { store, erasures, clock }: HistoryOptions,
  isStopped: () => boolean,
): Promise<void> {
  const open = erasures.open();
  if (open.length === 0) return;
  const over = open.filter(({ at }) => at < clock.now() - FETCH_MS);
  await eraseHistory({ store: store.history, isErased: erasures.isErased }, isStopped);
  if (over.length > 0 && !isStopped()) await erasures.close(over);
}
