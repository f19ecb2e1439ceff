/**
 * Stores fetched days, and records them in history: a revision is appended if the rows differ from the known ones. Answers never
 * wait for it; failed writes are counted, and marked when the store is available again.
 */
import type { Logger } from 'pino';
import { randomBuffer } from '../../lib/chance.js';
import { groupBy } from '../../lib/group-by.js';
import { createLastUsed } from '../../lib/last-used.js';
import { StoreUnavailable } from '../../store/port.js';
import type { Count, LabelOf } from '../../telemetry/counters.js';
import { createOutage } from '../../telemetry/outage.js';
import type { Days } from '../days/days.js';
import { eraseMonth } from '../days/erase-days.js';
import { dateOf, dayOf, type FetchedMonth, type NotedDay, noteFetch } from '../days/note-fetch.js';
import type { ChangeNews, MonthChange } from '../days/open-months.js';
import type { MonthReport } from '../history/revision.js';
import type { CountRules, DayNews } from '../learn/evidence.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { type FreshnessRules, freshForMs } from '../rows/freshness.js';
import { type SchemaChange, schemaChange } from '../rows/warnings.js';
import type { Erasures } from './erasures.js';
import type { StatesWanted } from './read.js';
import { noteMissed, type Revision, type Revisions, validRevisions, voidCut } from './revision.js';

// Detects changed columns between two revisions of a day; reported once per change.

interface SchemaDriftOptions {
  readonly days: Pick<Days, 'rows'>;
  readonly count: Count;
  readonly logger: Logger;
}

/** A report, for the log. */
interface Watched {
  readonly series: string;
  readonly endpoint?: string;
  /** Accounts that it names. */
  readonly asked: readonly string[];
}

const REMEMBERED = 10_000;

function createWatchSchema({ days, count, logger }: SchemaDriftOptions) {
  const told = createLastUsed<true>(REMEMBERED);

  function tell({ series, endpoint, asked }: Watched, date: string, change: SchemaChange): void {
    const report = { endpoint, advertisers: asked, date };
    const { added, removed, retyped } = change;
    const name = `${series}|${JSON.stringify(change)}`;
    if (added.length + removed.length + retyped.length === 0 || told.has(name)) return;
    told.set(name, true);
    for (const kind of ['added', 'removed', 'retyped'] as const)
      count('report_columns_changed', { change: kind }, change[kind].length);
    if (removed.length + retyped.length === 0)
      logger.info({ ...report, added }, 'a platform report has new columns');
    else
      logger.warn(
        { ...report, ...change },
        'a platform report lost columns, or columns changed between numbers and text; its consumers may need a change',
      );
  }

  /** @param changes days that were written. Never rejects. */
  return async (watched: Watched, changes: readonly NotedDay[]): Promise<void> => {
    const drifted = new Map(
      changes.flatMap((change) => {
        const before = beforeOf(change);
        const [latest] = change.revisions.slice(-1);
        // One comparison per pair of schemas.
        return before === null ? [] : [[`${before.schema} ${latest?.schema}`, { change, before }] as const];
      }),
    );
    if (drifted.size === 0) return;
    try {
      const pairs = [...drifted.values()];
      const wanted = pairs.map(({ change, before }) => ({ day: dateOf(change.entry), revision: before }));
      for (const [at, old] of (await days.rows(watched.series, wanted)).entries()) {
        const { entry } = (pairs[at] as (typeof pairs)[number]).change;
        if (old !== null) tell(watched, dateOf(entry), schemaChange(old.header, entry.header));
      }
    } catch (error) {
      logger.debug({ err: error }, 'failed to check a report for changed columns');
    }
  };
}

/** @returns the revision before one with other columns; null if there is none, or if one of them has no rows */
function beforeOf({ kind, revisions }: NotedDay): Revision | null {
  const latest = revisions.at(-1);
  if (kind !== 'appended' || latest === undefined) return null;
  const before = validRevisions(revisions, latest.generation).at(-2);
  if (before === undefined || before.rowCount === 0 || latest.rowCount === 0) return null;
  return before.schema === latest.schema ? null : before;
}

/**
 * Per day. missed: not written; erased: its account was erased meanwhile; voided: a revision came from a truncated answer.
 */
export type HistoryEvent = LabelOf<'history_days', 'event'>;

/** Days of one series that a fetch returned. */
export interface FetchedDays {
  readonly series: string;
  readonly days: readonly Entry<RowsHeader>[];
  /** Of the fetch; see the port. */
  readonly order: number;
  /** Locks and a message that go with the write, if it is of one month. */
  readonly news?: ChangeNews;
  /** When they may be written. Reads of this process know them from the call on. */
  readonly begin?: Promise<unknown>;
}

/** With facts about their report. */
interface RecordedDays extends FetchedDays {
  /** Accounts that it names. */
  readonly asked: readonly string[];
  /** Of the report, for the log. */
  readonly endpoint?: string;
  readonly report: MonthReport;
  /** See {@link FetchedMonth.tells}: as the kind of the report is now. */
  readonly tells: () => FetchedMonth['tells'];
  readonly isRecorded: boolean;
  readonly rules: FreshnessRules;
  readonly counting: CountRules;
}

/** A day recorded as final for the first time. */
export interface FinalDay {
  /** ISO */
  readonly date: string;
  readonly entry: Entry<RowsHeader>;
  readonly revisions: Revisions;
}

export interface Recorded {
  /** What the looks at days tell; without days that a later fetch has overtaken. */
  readonly news: readonly DayNews[];
  /** Days recorded as final for the first time; each by one replica. */
  readonly finalized: readonly FinalDay[];
  readonly isStored: boolean;
}

/** Limit of pending writes; a fetch beyond it is not stored, unless it is the only one. */
const MAX_WAITING_BYTES = 16_777_216;
/** As long as a slow store takes less than is fetched. */
const QUEUE_FULL = 'the write queue is full';
/** LRU limit of days per process. */
const REMEMBERED_DAYS = 10_000;
/** An ISO date, and what divides it from its series. */
const DATE_CHARS = 11;
const NAME_BYTES = 8;

export type Recorder = ReturnType<typeof createRecorder>;

/** State of a process, used by the functions below. */
export function createRecorder(options: {
  readonly days: Days;
  readonly isErased: Erasures['isErased'];
  /** Fingerprint of the token in use. */
  readonly credential: () => string | null;
  readonly count: Count;
  readonly logger: Logger;
}) {
  const { logger } = options;
  return {
    ...options,
    watchSchema: createWatchSchema(options),
    /** By series and date: end of the first missed fetch that is not marked yet. */
    missed: createLastUsed<number>(REMEMBERED_DAYS),
    waitingBytes: 0,
    /** Whether the store had no room for the last days. */
    isFull: false,
    full: createOutage({
      logger,
      counted: 'answers',
      lasts: 'the store has no room for days of reports: answers stay in memory, and history misses them',
      over: 'the store has room for days of reports again',
    }),
    away: createOutage({
      logger,
      counted: 'answers',
      lasts: 'days of reports cannot be stored: answers stay in memory, and history misses them',
      over: 'days of reports are stored again',
    }),
  };
}

/** Stores what a fetch returned. Never rejects. */
export async function record(r: Recorder, fetched: RecordedDays): Promise<Recorded> {
  const { series, isRecorded } = fetched;
  const days = fetched.days.filter(isStorable);
  const bytes = days.reduce((sum, { body }) => sum + body.length, 0);
  const recorded = isRecorded ? days.filter(isState) : [];
  if (r.waitingBytes > 0 && r.waitingBytes + bytes > MAX_WAITING_BYTES) {
    miss(r, series, recorded, QUEUE_FULL);
    return NOT_STORED;
  }
  r.waitingBytes += bytes;
  try {
    return await write(r, { ...fetched, days });
  } catch (error) {
    miss(r, series, recorded, error);
    return NOT_STORED;
  } finally {
    r.waitingBytes -= bytes;
  }
}

const NOT_STORED: Recorded = { news: [], finalized: [], isStored: false };

function miss(r: Recorder, series: string, days: readonly Entry<RowsHeader>[], why: unknown): void {
  const isFull = why instanceof StoreUnavailable && why.why === 'no-room';
  r.isFull ||= isFull;
  if (why instanceof StoreUnavailable) r.count('store_faults', { kind: isFull ? 'full' : 'unavailable' });
  for (const entry of days) {
    const name = nameOf(series, dateOf(entry));
    if (!r.missed.has(name)) r.missed.set(name, entry.header.fetchedAt);
  }
  r.count('history_days', { event: 'missed' }, days.length);
  if (isFull) r.full.failed({ err: why });
  else if (why instanceof StoreUnavailable || why === QUEUE_FULL) r.away.failed({ err: why });
  else r.logger.warn({ err: why, days: days.length }, 'failed to store fetched days');
}

/** @throws StoreUnavailable, LostToOthers */
async function write(r: Recorder, fetched: RecordedDays): Promise<Recorded> {
  const { series, order, asked, isRecorded, begin } = fetched;
  const isErased = ({ header: { seq, fetchStartedAt, accounts, rowCount } }: Entry<RowsHeader>) =>
    r.isErased({ seq, fetchedFrom: fetchStartedAt, asked, held: accounts, rowCount });
  const days = fetched.days.filter((entry) => !isErased(entry));
  r.count('history_days', { event: 'erased' }, fetched.days.length - days.length);
  if (days.length === 0) return { ...NOT_STORED, isStored: true };
  const name = randomBuffer(NAME_BYTES).toString('hex');
  const changes = [...groupBy(days, (entry) => dateOf(entry).slice(0, 7))].map(([month, some]) =>
    changeOf(r, { ...fetched, days: some }, { place: { series, month }, order, name }),
  );
  if (fetched.news !== undefined && changes[0] !== undefined && changes.length === 1)
    changes[0] = { ...changes[0], news: fetched.news };
  for (const change of changes) r.days.months.add(change);
  try {
    await begin;
    const noted = (await Promise.all(changes.map(r.days.write))).flatMap((one) => one.days);
    // A confirmation needs no room.
    if (noted.some(({ kind }) => kind === 'appended')) {
      r.isFull = false;
      r.full.worked();
    }
    r.away.worked();
    // Data erased during the write must not come back.
    const erased = new Set(days.filter(isErased).map((entry) => dateOf(entry).slice(0, 7)));
    for (const month of erased) await eraseMonth(r, { series, month });
    if (isRecorded) await tell(r, fetched, noted);
    return { ...resultOf(noted), isStored: true };
  } finally {
    for (const change of changes) r.days.months.drop(change);
  }
}

function changeOf(
  r: Recorder,
  { days, asked, report, tells, rules, isRecorded, series, counting }: RecordedDays,
  { place, order, name }: Pick<MonthChange, 'place' | 'order'> & { readonly name: string },
): MonthChange {
  const { isErased } = r;
  const credential = r.credential();
  const kind = days[0]?.header.kind ?? 'bounded';
  const missedOf = (date: string) => r.missed.get(nameOf(series, date));
  const ends = days.map(({ header }) => freshForMs(header, rules) + rules.staleIfErrorMs);
  return {
    place,
    order,
    ttlMs: Math.max(...ends),
    days: days.map((entry) => dayOf(dateOf(entry))),
    apply: (month) =>
      noteFetch(month, {
        days,
        order,
        credential,
        rules,
        isRecorded,
        counting,
        asked,
        kind,
        report,
        tells: tells(),
        name,
        missedOf,
        isErased,
        unreadable: r.days.unreadableOf(place),
        clockUs: r.days.clockUs(),
      }),
  };
}

function resultOf(noted: readonly NotedDay[]): Omit<Recorded, 'isStored'> {
  const finalized = noted.filter(({ isFirstFinal }) => isFirstFinal);
  return {
    news: noted.flatMap(({ news }) => news ?? []),
    finalized: finalized.map(({ entry, revisions }) => ({ date: dateOf(entry), entry, revisions })),
  };
}

async function tell(r: Recorder, fetched: RecordedDays, noted: readonly NotedDay[]): Promise<void> {
  for (const { kind, entry } of noted) {
    if (kind === 'passing') continue;
    r.count('history_days', { event: kind });
    if (kind !== 'late') r.missed.delete(nameOf(fetched.series, dateOf(entry)));
  }
  await r.watchSchema(fetched, noted);
}

/** Marks missed fetches, of one series or all. Never rejects: the rest is marked later. */
export async function markMissed(r: Recorder, only?: string): Promise<void> {
  const all = new Set([...r.missed.keys()].map(seriesOf));
  for (const series of only === undefined ? all : all.has(only) ? [only] : []) {
    try {
      await markSeries(r, series);
    } catch (error) {
      r.logger.debug({ err: error }, 'failed to mark missed fetches in history; retrying');
      return;
    }
  }
}

async function markSeries({ days, missed }: Recorder, series: string): Promise<void> {
  const names = [...missed.keys()].filter((name) => seriesOf(name) === series);
  const missedFrom = new Map(names.map((name) => [name.slice(1 - DATE_CHARS), missed.get(name) ?? 0]));
  await days.mark(series, [...missedFrom.keys()], (known, date) =>
    noteMissed(known, missedFrom.get(date) ?? 0),
  );
  for (const name of names) missed.delete(name);
}

/** Marks revisions from truncated answers as void, which they stay when the cap is forgotten. Never rejects. */
export async function markCut(
  { days, count, logger }: Pick<Recorder, 'days' | 'count' | 'logger'>,
  { series, dates, rules }: StatesWanted,
): Promise<void> {
  try {
    const marked = await days.mark(series, dates, (known) => voidCut(known, rules));
    count('history_days', { event: 'voided' }, marked.size);
  } catch (error) {
    logger.error(
      { err: error, days: dates.length },
      'failed to mark history that came from a truncated platform answer; the next read retries',
    );
  }
}

const nameOf = (series: string, date: string) => `${series}|${date}`;
const seriesOf = (name: string) => name.slice(0, -DATE_CHARS);

/** Not stored by day: doubtful answers, and those whose freshness follows the platform's headers. */
function isStorable({ header: { splitFrom, originMs, doubt } }: Entry<RowsHeader>): boolean {
  return splitFrom !== null && originMs === null && doubt === undefined;
}

/** Whether it is a state of history: not a flawed answer, nor rows from history. */
function isState({ header: { flaws, forgotten } }: Entry<RowsHeader>): boolean {
  return flaws === undefined && forgotten === undefined;
}
