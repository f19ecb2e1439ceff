/** The history of reports: what of them is recorded, and what is read back. */
import type { Logger } from 'pino';
import type { Config } from '../../config/load.js';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import { repeat } from '../../lib/repeat.js';
import { type Store, StoreUnavailable } from '../../store/port.js';
import type { Report } from '../query/canonicalize.js';
import type { FreshnessRules } from '../rows/freshness.js';
import { type AcceptedEmpty, type AcceptedScope, countLost } from './accepted-empty.js';
import { listRevisions, type RevisionsWanted } from './diff-days.js';
import { eraseHistory, sweepHistory } from './erase.js';
import { accountsAsked, type Erasures } from './erasures.js';
import { type DaysWanted, readDays } from './read.js';
import { markLost, type RecalledDay, recall, recallRows } from './recall-days.js';
import {
  type CutDays,
  createRecorder,
  type FetchedDays,
  markMissed,
  type Recorded,
  type Recorder,
  record,
  voidCut,
} from './record.js';
import type { Revision } from './revision.js';

export interface HistoryOptions extends Pick<Recorder, 'encode' | 'credential'> {
  readonly config: Pick<Config, 'history'>;
  readonly store: Pick<Store, 'history' | 'leases'>;
  readonly metrics: Recorder['metrics'] & { historyBytes(bytes: number): void };
  /** Which days of a report are final, and how long the others are fresh. */
  readonly rulesOf: (report: Report) => FreshnessRules;
  readonly clock: Pick<Clock, 'now'>;
  readonly erasures: Erasures;
  readonly accepted: AcceptedEmpty;
  readonly logger: Logger;
}

export type History = ReturnType<typeof createHistory>;

const SWEEP_EVERY_MS = 3_600_000;
/** What was missed while the store was away is marked that soon after it is back. */
const MARK_EVERY_MS = 15_000;
/** Longer than any fetch, and what is written behind it, takes. */
const FETCH_MS = 3_600_000;

export function createHistory(options: HistoryOptions) {
  const { config, logger, erasures } = options;
  const { enabled, endpoints, splits } = config.history;
  const { history: store } = options.store;
  const { now } = options.clock;
  const { isErased } = erasures;
  const recorder = createRecorder({ ...options, store, isErased });
  const readable = { enabled, store, isErased };
  const sweep = createSweep(options);
  if (enabled) sweep.now();
  const marks = repeat(MARK_EVERY_MS, () => markMissed(recorder));

  /** Whether fetches of the report are recorded. */
  function isRecorded({ endpoint, split }: Report): boolean {
    if (!enabled) return false;
    if (endpoints.length > 0 && !endpoints.includes(endpoint)) return false;
    return splits.length === 0 || splits.includes(split.join('+'));
  }

  return {
    isRecorded,
    /** Records what a fetch returned. Never rejects. */
    async record(report: Report, fetched: FetchedDays): Promise<Recorded> {
      if (!isRecorded(report)) return { observations: [], finalized: [] };
      const { endpoint } = report;
      const [asked, rules] = [accountsAsked(report), options.rulesOf(report)];
      return record(recorder, { ...fetched, endpoint, asked, rules });
    },
    /** Marks what came of answers that the platform had cut off. Never rejects. */
    async voidCut(report: Report, cut: CutDays): Promise<void> {
      if (isRecorded(report)) await voidCut(recorder, cut);
    },
    // What this process could not record it says at once, and others soon.
    readDays: (wanted: DaysWanted) =>
      markMissed(recorder, wanted.series).then(() => readDays(readable, wanted)),
    listRevisions: (wanted: RevisionsWanted) =>
      markMissed(recorder, wanted.series).then(() => listRevisions(readable, wanted)),
    recall: (series: string, dates: readonly string[], generation: string) =>
      recall(recorder, series, dates, generation),
    recallRows: (series: string, days: readonly RecalledDay[]) => recallRows(recorder, series, days),
    markLost: (series: string, days: readonly RecalledDay[], lost: NonNullable<Revision['lost']>) =>
      markLost(recorder, series, days, lost),
    /**
     * Erases what was known of an account, for good.
     * @param audit a line stored with it
     * @returns days that had something of it; null while the store of the history does not answer: it is shown to nobody all
     *   the same, and removed later
     * @throws StoreUnavailable where nothing was erased
     */
    async erase(advertiserId: string, audit: string): Promise<number | null> {
      await erasures.append(advertiserId, now(), audit);
      if (!enabled) return 0;
      try {
        return await eraseHistory({ store, isErased }, () => false);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        logger.warn(
          { err: error },
          'could not remove erased history from the store; trying again in an hour',
        );
        return null;
      }
    },
    /**
     * Believes that days are empty that the platform answers without rows.
     * @param audit a line stored with it; null: nothing is changed
     * @returns days that are given from history until now
     * @throws StoreUnavailable
     */
    async acceptEmpty(scope: AcceptedScope, audit: string | null): Promise<number> {
      const days = enabled ? await countLost(store, scope) : 0;
      if (audit !== null) await options.accepted.append(scope, now(), audit);
      return days;
    },
    /** Ends its own work. */
    close: () => Promise.all([marks.stop(), sweep.stop()]).then(() => {}),
  };
}

function createSweep({ config, store, metrics, clock, erasures, logger }: HistoryOptions) {
  const { retentionDays, maxBytes } = config.history;
  const owner = randomId();
  return repeat(SWEEP_EVERY_MS, async (isStopped) => {
    try {
      const swept = await sweepHistory(
        {
          store: store.history,
          leases: store.leases,
          owner,
          retentionDays,
          maxBytes,
          now: clock.now,
          logger,
        },
        isStopped,
      );
      if (swept === null) return;
      metrics.historyBytes(swept.bytes);
      // Fetches under way may have written since, and a process may have ended: erased once more.
      const open = erasures.open();
      if (open.length === 0) return;
      const over = open.filter(({ at }) => at < clock.now() - FETCH_MS);
      await eraseHistory({ store: store.history, isErased: erasures.isErased }, isStopped);
      if (over.length > 0 && !isStopped()) await erasures.close(over);
    } catch (error) {
      logger.warn({ err: error }, 'could not sweep the history; trying again in an hour');
    }
  });
}
