/** The history of reports: what of them is recorded, and what is read back. */
import type { Logger } from 'pino';
import Type from 'typebox';
import type { Config } from '../../config/load.js';
import type { Clock } from '../../lib/clock.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { repeat } from '../../lib/repeat.js';
import { turn } from '../../lib/time.js';
import type { HistoryStore } from '../../store/history-port.js';
import { hourly, type Job } from '../../store/jobs.js';
import { type Store, StoreUnavailable } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import type { Purges } from '../cache/purges.js';
import type { Report } from '../query/canonicalize.js';
import { dayNumber, isoDay } from '../query/days.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import type { FreshnessRules } from '../rows/freshness.js';
import { markDays, withMark } from './day-writes.js';
import { listRevisions, type RevisionsWanted } from './diff-days.js';
import { daysOfMonth, eraseHistory, monthsOf, sweepHistory } from './erase.js';
import { type Erasures, requestedAccounts } from './erasures.js';
import type { Loss } from './forgotten.js';
import { type DaysWanted, readContents, readDays } from './read.js';
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
import { type Revision, readHeads, validRevisions } from './revision.js';

// What history holds of days that the platform answers without rows, or refuses; and the mark that it does.

/** What was known last of a day. */
export interface RecalledDay {
  /** ISO */
  readonly date: string;
  /** Believed, and not an empty one that no second look has confirmed. */
  readonly revision: Revision;
  /** The day was seen final. */
  readonly final: boolean;
  /** Accounts that the report names. */
  readonly asked: readonly string[];
}

/**
 * What was known last of days, with what earlier fetches of this process still have to write.
 * @returns by date; days of which nothing is known are absent
 * @throws StoreUnavailable
 */
async function recall(
  { turns, store, isErased }: Pick<Recorder, 'turns' | 'store' | 'isErased'>,
  series: string,
  dates: readonly string[],
  generation: string,
): Promise<ReadonlyMap<string, RecalledDay>> {
  // The history of the fetch before this one is written behind its answer.
  const heads = await turns(series, () => store.heads(series, dates));
  const days = heads.flatMap((head, at): [string, RecalledDay][] => {
    const { asked, revisions } = readHeads(head);
    const date = dates[at] as string;
    const known = validRevisions(revisions, generation);
    const revision = known.findLast(({ unconfirmed }) => unconfirmed !== true);
    if (revision === undefined) return [];
    // Where the report names no account, its rows tell; see recallRows.
    if (asked.length > 0 && isErased({ ...revision, asked, held: [] })) return [];
    const final = known.some(({ finalFrom }) => finalFrom !== undefined);
    return [[date, { date, revision, final, asked }]];
  });
  return new Map(days);
}

/** @returns in their order; null for rows that are gone, damaged or erased. @throws StoreUnavailable */
async function recallRows(
  { store, isErased }: Pick<Recorder, 'store' | 'isErased'>,
  series: string,
  days: readonly RecalledDay[],
): Promise<(Entry<RowsHeader> | null)[]> {
  const wanted = days.map(({ date, revision }) => ({ day: date, revision }));
  const entries = await readContents(store, series, wanted);
  return entries.map((entry, at) => {
    const { revision, asked } = days[at] as RecalledDay;
    if (entry === null || isErased({ ...revision, asked, held: entry.header.accounts })) return null;
    return entry;
  });
}

/** Notes since when the platform answers without the rows of these days, where that is new. Never rejects. */
async function markLost(
  { turns, store, logger }: Pick<Recorder, 'turns' | 'store' | 'logger'>,
  series: string,
  days: readonly RecalledDay[],
  lost: NonNullable<Revision['lost']>,
): Promise<void> {
  const unmarked = days.filter(({ revision }) => revision.lost === undefined);
  if (unmarked.length === 0) return;
  const dates = unmarked.map(({ date }) => date);
  try {
    await turns(series, () =>
      markDays(store, series, dates, (known, at) => {
        const id = unmarked[at]?.revision.id;
        return withMark(known, (one) => one.id === id && one.lost === undefined, { lost });
      }),
    );
  } catch (error) {
    logger.warn(
      { err: error, days: unmarked.length },
      'failed to mark days in history that the platform no longer returns; the next fetch retries',
    );
  }
}

/** Rows of history in the place of what the platform said. @param said the header of that */
export function fromHistory(
  said: Pick<RowsHeader, 'fetchStartedAt' | 'fetchedAt' | 'fetchedOn' | 'seq' | 'kind'>,
  { header, body }: Entry<RowsHeader>,
  { date, revision, final }: RecalledDay,
  { code, sinceMs, againMs }: Omit<Extract<Loss, { readonly kind: 'kept' }>, 'kind'>,
): Entry<RowsHeader> {
  const { fetchStartedAt, fetchedAt, fetchedOn, seq, kind } = said;
  const forgotten = { code, days: [date], sinceMs, seenMs: revision.confirmedUntil, final, againMs };
  return { body, header: { ...header, fetchStartedAt, fetchedAt, fetchedOn, seq, kind, forgotten } };
}

// Days that an operator has accepted as empty: what the platform no longer has of them is believed at the first look.

const RECORD = 'accepted-empty';
/** Beyond it the oldest are forgotten: what they were about is empty in the history by then. */
const MAX_RECORDS = 1000;

const Accepted = recordForm(
  Type.Array(
    Type.Object({
      advertiserId: Type.String(),
      endpoint: Type.Optional(Type.String()),
      /** ISO; exclusive. */
      before: Type.String(),
      /** Epoch milliseconds: rows that were seen later are not meant. */
      at: Type.Integer(),
    }),
  ),
);

/** What is accepted: days of the reports that name an advertiser, before a day. */
type AcceptedScope = Pick<RecordOf<typeof Accepted>[number], 'advertiserId' | 'endpoint' | 'before'>;

export type AcceptedEmpty = ReturnType<typeof createAcceptedEmpty>;

export function createAcceptedEmpty(registry: Registry, purges: Pick<Purges, 'append'>) {
  const read = () => {
    const text = registry.get(RECORD)?.value;
    return text === undefined ? [] : Accepted.read(text, RECORD);
  };
  let known = read();
  registry.onChange(RECORD, () => {
    known = read();
  });
  return {
    /** @param asked accounts that the report names: each has to be accepted. @param seenMs when its rows were last seen */
    isAccepted: (asked: readonly string[], endpoint: string, date: string, seenMs: number): boolean =>
      asked.length > 0 &&
      asked.every((account) =>
        known.some(
          (one) => one.at >= seenMs && one.advertiserId === account && isWithin(one, endpoint, date),
        ),
      ),
    /** Cached days of that scope are asked for again. @param audit a line stored with it. @throws StoreUnavailable */
    append(scope: AcceptedScope, at: number, audit: string): Promise<void> {
      const to = isoDay((dayNumber(scope.before) as number) - 1);
      const { before: _, ...purged } = scope;
      return purges.append({ ...purged, to }, audit, () => {
        const { revision = 0 } = registry.get(RECORD) ?? {};
        const all = [...read(), { ...scope, at }].slice(-MAX_RECORDS);
        return [[RECORD, JSON.stringify(all), revision]];
      });
    },
  };
}

/** Whether a day of a report is in the scope, as far as endpoint and date tell. */
function isWithin(scope: Omit<AcceptedScope, 'advertiserId'>, endpoint: string, date: string): boolean {
  return date < scope.before && (scope.endpoint === undefined || scope.endpoint === endpoint);
}

/** @returns days of that scope that the platform answers without their rows, and that are given from history. @throws StoreUnavailable */
async function countLost(
  store: Pick<HistoryStore, 'heads' | 'months'>,
  scope: AcceptedScope,
): Promise<number> {
  let days = 0;
  for await (const { series, month } of monthsOf(store)) {
    const dates = daysOfMonth(month).filter((date) => date < scope.before);
    if (dates.length === 0) continue;
    const heads = (await store.heads(series, dates)).map(readHeads);
    days += heads.filter(({ asked, revisions }, at) => {
      const lost = revisions.findLast(({ unconfirmed }) => unconfirmed !== true)?.lost;
      const isMeant = asked.length === 1 && asked[0] === scope.advertiserId;
      return isMeant && lost !== undefined && isWithin(scope, lost.endpoint, dates[at] as string);
    }).length;
    // Requests for reports go first.
    await turn();
  }
  return days;
}

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
      const [asked, rules] = [requestedAccounts(report), options.rulesOf(report)];
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
        logger.warn({ err: error }, 'failed to remove erased history from the store; retrying in an hour');
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
    /** A job of the leader: keeps the history within its time and its room. */
    sweep: hourly(createSweep(options), enabled),
    /** Ends its own work. */
    close: () => marks.stop(),
  };
}

function createSweep({ config, store, metrics, clock, erasures, logger }: HistoryOptions): Job {
  const { retentionDays, maxBytes } = config.history;
  return async (isStopped) => {
    try {
      const rules = { store: store.history, retentionDays, maxBytes, now: clock.now, logger };
      const { bytes } = await sweepHistory(rules, isStopped);
      metrics.historyBytes(bytes);
      // Fetches under way may have written since, and a process may have ended: erased once more.
      const open = erasures.open();
      if (open.length === 0) return;
      const over = open.filter(({ at }) => at < clock.now() - FETCH_MS);
      await eraseHistory({ store: store.history, isErased: erasures.isErased }, isStopped);
      if (over.length > 0 && !isStopped()) await erasures.close(over);
    } catch (error) {
      logger.warn({ err: error }, 'history cleanup failed; retrying in an hour');
    }
  };
}
