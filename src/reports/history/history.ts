/** The history of reports: records fetched days, and reads them. */
import type { Logger } from 'pino';
import Type from 'typebox';
import type { Config } from '../../config/load.js';
import type { MovableClock } from '../../lib/clock.js';
import { type RecordOf, recordForm } from '../../lib/record.js';
import { repeat } from '../../lib/repeat.js';
import { turn } from '../../lib/time.js';
import { hourlyOrUrgent } from '../../store/jobs.js';
import { type Store, whenAway } from '../../store/port.js';
import type { Registry } from '../../store/registry/replica.js';
import { createOutage } from '../../telemetry/outage.js';
import type { Purges } from '../cache/purges.js';
import type { Days } from '../days/days.js';
import { eraseDays, eraseListed } from '../days/erase-days.js';
import { isTight } from '../days/room.js';
import { createSweepDays } from '../days/sweep.js';
import { daysOfMonth, monthsOf } from '../days/whole-month.js';
import { monthReport, tellsOf } from '../feed/tell.js';
import type { CountRules } from '../learn/evidence.js';
import type { Learner } from '../learn/learn.js';
import type { Report } from '../query/canonicalize.js';
import { dayNumber, isoDay } from '../query/days.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import type { FreshnessRules } from '../rows/freshness.js';
import { listRevisions, type RevisionsWanted } from './diff-days.js';
import { type Erasures, requestedAccounts } from './erasures.js';
import type { Loss } from './forgotten.js';
import { type DaysWanted, type Readable, readDays, readStates, type StatesWanted } from './read.js';
import {
  createRecorder,
  type FetchedDays,
  markCut,
  markMissed,
  type Recorded,
  type Recorder,
  record,
} from './record.js';
import { type Revision, validRevisions, withMark } from './revision.js';

/** The last known state of a day. */
export interface RecalledDay {
  /** ISO */
  readonly date: string;
  /** Valid, and no unconfirmed empty one. */
  readonly revision: Revision;
  /** The day was seen final. */
  readonly final: boolean;
  /** In this revision or an earlier one. */
  readonly hadRows: boolean;
  /** Accounts that the report names. */
  readonly asked: readonly string[];
}

/**
 * The last known state of days, including pending writes of this process.
 * @returns by date; unknown days are absent
 * @throws StoreUnavailable
 */
async function recall(
  { days, isErased, onCut }: Omit<Readable, 'enabled'>,
  wanted: StatesWanted,
  generation: string,
): Promise<ReadonlyMap<string, RecalledDay>> {
  const { dates } = wanted;
  const states = await readStates({ days, onCut }, wanted);
  const known = states.flatMap(({ asked, revisions }, at): [string, RecalledDay][] => {
    const date = dates[at] as string;
    const valid = validRevisions(revisions, generation);
    const revision = valid.findLast(({ unconfirmed }) => unconfirmed !== true);
    if (revision === undefined) return [];
    // If the report names no account, the rows decide; see recallRows.
    if (asked.length > 0 && isErased({ ...revision, asked, held: [] })) return [];
    const final = valid.some(({ finalFrom }) => finalFrom !== undefined);
    const hadRows = valid.some(({ rowCount }) => rowCount > 0);
    return [[date, { date, revision, final, hadRows, asked }]];
  });
  return new Map(known);
}

/** @returns in order; null for missing, damaged or erased rows. @throws StoreUnavailable */
async function recallRows(
  { days, isErased }: Pick<Readable, 'days' | 'isErased'>,
  series: string,
  recalled: readonly RecalledDay[],
): Promise<(Entry<RowsHeader> | null)[]> {
  const wanted = recalled.map(({ date, revision }) => ({ day: date, revision }));
  const entries = await days.rows(series, wanted);
  return entries.map((entry, at) => {
    const { revision, asked } = recalled[at] as RecalledDay;
    if (entry === null || isErased({ ...revision, asked, held: entry.header.accounts })) return null;
    return entry;
  });
}

/** Marks days that the platform now returns without rows. Never rejects. */
async function markLost(
  { days, logger }: Pick<Recorder, 'days' | 'logger'>,
  series: string,
  recalled: readonly RecalledDay[],
  lost: NonNullable<Revision['lost']>,
): Promise<void> {
  const unmarked = new Map(
    recalled.flatMap(({ date, revision }) =>
      revision.lost === undefined ? [[date, revision.id] as const] : [],
    ),
  );
  if (unmarked.size === 0) return;
  try {
    await days.mark(series, [...unmarked.keys()], (known, date) =>
      withMark(known, (one) => one.id === unmarked.get(date) && one.lost === undefined, { lost }),
    );
  } catch (error) {
    logger.warn(
      { err: error, days: unmarked.size },
      'failed to mark days in history that the platform no longer returns; the next fetch retries',
    );
  }
}

/** Rows from history in place of the platform's. @param said header of the platform's answer */
export function fromHistory(
  said: Pick<RowsHeader, 'order' | 'fetchStartedAt' | 'fetchedAt' | 'fetchedOn' | 'seq' | 'kind'>,
  { header, body }: Entry<RowsHeader>,
  { date, revision, final }: RecalledDay,
  { code, sinceMs, againMs }: Omit<Extract<Loss, { readonly kind: 'kept' }>, 'kind'>,
): Entry<RowsHeader> {
  const { order, fetchStartedAt, fetchedAt, fetchedOn, seq, kind } = said;
  const { answerRows, complete } = revision;
  const size = complete ? { answerRows, complete } : { answerRows };
  const forgotten = { code, days: [date], sinceMs, seenMs: revision.confirmedUntil, final, againMs };
  const times = { order, fetchStartedAt, fetchedAt, fetchedOn };
  return { body, header: { ...header, ...size, ...times, seq, kind, forgotten } };
}

// Days that an operator accepted as empty: their loss needs no second fetch.

const RECORD = 'accepted-empty';
/** The oldest are dropped: their days are empty in history by then. */
const MAX_RECORDS = 1000;

const Accepted = recordForm(
  Type.Array(
    Type.Object({
      advertiserId: Type.String(),
      endpoint: Type.Optional(Type.String()),
      /** ISO; exclusive. */
      before: Type.String(),
      /** Epoch milliseconds; does not apply to rows seen later. */
      at: Type.Integer(),
    }),
  ),
);

/** Days before a date, of reports that name an advertiser. */
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
    /** @param asked accounts of the report; all must be accepted. @param seenMs when its rows were last seen */
    isAccepted: (asked: readonly string[], endpoint: string, date: string, seenMs: number): boolean =>
      asked.length > 0 &&
      asked.every((account) =>
        known.some(
          (one) => one.at >= seenMs && one.advertiserId === account && isWithin(one, endpoint, date),
        ),
      ),
    /** Purges cached days of the scope. @param audit a line stored with it. @throws StoreUnavailable */
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

/** Whether a day is in the scope, by endpoint and date. */
function isWithin(scope: Omit<AcceptedScope, 'advertiserId'>, endpoint: string, date: string): boolean {
  return date < scope.before && (scope.endpoint === undefined || scope.endpoint === endpoint);
}

/** Counts lost days of the scope that are served from history. @throws StoreUnavailable */
async function countLost(
  { store, states }: Pick<Days, 'store' | 'states'>,
  scope: AcceptedScope,
): Promise<number> {
  let count = 0;
  for await (const { series, month } of monthsOf(store)) {
    const dates = daysOfMonth(month).filter((date) => date < scope.before);
    if (dates.length === 0) continue;
    count += (await states(series, dates)).filter(({ asked, revisions }, at) => {
      const lost = revisions.findLast(({ unconfirmed }) => unconfirmed !== true)?.lost;
      const isMeant = asked.length === 1 && asked[0] === scope.advertiserId;
      return isMeant && lost !== undefined && isWithin(scope, lost.endpoint, dates[at] as string);
    }).length;
    // Requests for reports go first.
    await turn();
  }
  return count;
}

export interface HistoryOptions extends Pick<Recorder, 'days' | 'credential' | 'count'> {
  readonly config: Pick<Config, 'history' | 'cache' | 'redis'>;
  readonly store: Pick<Store, 'kind'>;
  /** Bytes of earlier states. */
  readonly onMeasured: (bytes: number) => void;
  readonly rulesOf: (report: Report) => FreshnessRules;
  readonly countRulesOf: (report: Report) => CountRules;
  readonly learner: Pick<Learner, 'status'>;
  readonly clock: Pick<MovableClock, 'now' | 'apartMs'>;
  readonly erasures: Erasures;
  readonly accepted: AcceptedEmpty;
  readonly background: (work: Promise<unknown>) => void;
  readonly logger: Logger;
}

/** Interval at which missed fetches are marked. */
const MARK_EVERY_MS = 15_000;
/** Longer than any fetch with its writes. */
const FETCH_MS = 3_600_000;

export function createHistory(options: HistoryOptions) {
  const { config, days, logger, erasures } = options;
  const { enabled, endpoints, splits } = config.history;
  const { now } = options.clock;
  const { isErased } = erasures;
  const recorder = createRecorder({ ...options, isErased });
  const onCut = (cut: StatesWanted) => options.background(markCut(recorder, cut));
  const readable = { enabled, days, isErased, onCut };
  const marks = repeat(MARK_EVERY_MS, () => markMissed(recorder));

  function isRecorded({ endpoint, split }: Report): boolean {
    if (!enabled) return false;
    if (endpoints.length > 0 && !endpoints.includes(endpoint)) return false;
    return splits.length === 0 || splits.includes(split.join('+'));
  }

  return {
    isRecorded,
    /** Whether the store had no room for the last days: reports are cached as one entry then, too. */
    isFull: () => recorder.isFull,
    /** Stores what a fetch returned, and records it. Never rejects. */
    async record(report: Report, fetched: FetchedDays): Promise<Recorded> {
      const { endpoint } = report;
      const [asked, rules] = [requestedAccounts(report), options.rulesOf(report)];
      const counting = options.countRulesOf(report);
      const kind = () => options.learner.status(report);
      return record(recorder, {
        ...fetched,
        endpoint,
        asked,
        rules,
        counting,
        report: monthReport(report, kind().id),
        tells: () => tellsOf(kind()),
        isRecorded: isRecorded(report),
      });
    },
    // Missed fetches of this process are marked first.
    readDays: (wanted: DaysWanted) =>
      markMissed(recorder, wanted.series).then(() => readDays(readable, wanted)),
    listRevisions: (wanted: RevisionsWanted) =>
      markMissed(recorder, wanted.series).then(() => listRevisions(readable, wanted)),
    recall: (wanted: StatesWanted, generation: string) => recall(readable, wanted, generation),
    recallRows: (series: string, recalled: readonly RecalledDay[]) => recallRows(readable, series, recalled),
    markLost: (series: string, recalled: readonly RecalledDay[], lost: NonNullable<Revision['lost']>) =>
      markLost(recorder, series, recalled, lost),
    /**
     * Erases the history of an account permanently.
     * @param audit a line stored with it
     * @returns the number of affected days; null if the store does not respond: hidden now, and removed later
     * @throws StoreUnavailable if nothing was erased
     */
    async erase(advertiserId: string, audit: string): Promise<number | null> {
      await erasures.append(advertiserId, now(), audit);
      return await eraseDays({ days, isErased }, () => false).catch(
        whenAway((err) => {
          logger.warn({ err }, 'failed to remove erased history from the store; retrying in an hour');
          return null;
        }),
      );
    },
    /**
     * Accepts days without rows at the platform as empty.
     * @param audit a line stored with it; null: dry run
     * @returns days that were served from history until now
     * @throws StoreUnavailable
     */
    async acceptEmpty(scope: AcceptedScope, audit: string | null): Promise<number> {
      const count = enabled ? await countLost(days, scope) : 0;
      if (audit !== null) await options.accepted.append(scope, now(), audit);
      return count;
    },
    /** Job of the leader: applies retention and size limits. */
    sweep: hourlyOrUrgent(createSweep(options), () => isTight(days.store.room())),
    /** Ends its own work. */
    close: () => marks.stop(),
  };
}

/** @returns a turn of the sweep, which tells whether it was made */
function createSweep(options: HistoryOptions) {
  const { config, store, days, onMeasured, clock, erasures, logger } = options;
  const currentMaxBytes =
    store.kind === 'embedded' ? config.cache.embeddedMaxBytes : (config.redis.cacheMaxBytes ?? null);
  const limits = { ...config.history, currentMaxBytes };
  const sweep = createSweepDays({ ...limits, days, clock, logger });
  const outage = createOutage({
    logger,
    counted: 'turns',
    quietMs: 0,
    lasts: 'the sweep of stored days failed; trying again each minute',
    over: 'the sweep of stored days was made',
  });
  return async (isStopped: () => boolean): Promise<boolean> => {
    try {
      await days.compareClocks();
      // Concurrent fetches may have written since an erasure, or a process may have ended: they are erased again.
      const open = erasures.open();
      const { earlier, expired } = await sweep(isStopped, open.length > 0);
      onMeasured(earlier);
      if (expired > 0)
        logger.info({ months: expired }, 'removed earlier states of months past history.retentionDays');
      const over = open.filter(({ at }) => at < clock.now() - FETCH_MS);
      if (open.length > 0) await eraseListed({ days, isErased: erasures.isErased }, isStopped);
      if (over.length > 0 && !isStopped()) await erasures.close(over);
      outage.worked();
      return true;
    } catch (error) {
      outage.failed({ err: error });
      return false;
    }
  };
}
