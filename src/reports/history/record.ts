/**
 * Records fetched days in the background: appends a revision if the rows differ from the known ones. Answers never wait for
 * it; failed writes are counted, and marked when the store is available again.
 */
import type { Logger } from 'pino';
import { createLastUsed } from '../../lib/last-used.js';
import { monthOf } from '../../store/history-content.js';
import type { HistoryStore } from '../../store/history-port.js';
import { createTurns } from '../../store/turns.js';
import type { EncodedEntry, RawWrite } from '../cache/entry.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import type { FinalRules } from '../rows/freshness.js';
import { type SchemaChange, schemaChange } from '../rows/warnings.js';
import {
  compareWithHeads,
  type DayChange,
  type DayObservation,
  dateOf,
  type FinalDay,
  finalizedBy,
  markDays,
  writesFor,
} from './day-writes.js';
import type { Erasures } from './erasures.js';
import { readContents, type StatesWanted } from './read.js';
import { noteMissed, type Revision, validRevisions, voidCut } from './revision.js';

// Detects changed columns between two revisions of a day; reported once per change.

interface SchemaDriftOptions {
  readonly store: Pick<HistoryStore, 'contents'>;
  readonly onSchemaChange: (change: keyof SchemaChange, columns: number) => void;
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

function createWatchSchema({ store, onSchemaChange, logger }: SchemaDriftOptions) {
  const told = createLastUsed<true>(REMEMBERED);

  function tell({ series, endpoint, asked }: Watched, date: string, change: SchemaChange): void {
    const report = { endpoint, advertisers: asked, date };
    const { added, removed, retyped } = change;
    const name = `${series}|${JSON.stringify(change)}`;
    if (added.length + removed.length + retyped.length === 0 || told.has(name)) return;
    told.set(name, true);
    for (const kind of ['added', 'removed', 'retyped'] as const)
      if (change[kind].length > 0) onSchemaChange(kind, change[kind].length);
    if (removed.length + retyped.length === 0)
      logger.info({ ...report, added }, 'a platform report has new columns');
    else
      logger.warn(
        { ...report, ...change },
        'a platform report lost columns, or columns changed between numbers and text; its consumers may need a change',
      );
  }

  /** @param changes days that were written. Never rejects. */
  return async (watched: Watched, changes: readonly DayChange[]): Promise<void> => {
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
      for (const [at, old] of (await readContents(store, watched.series, wanted)).entries()) {
        const { entry } = (pairs[at] as (typeof pairs)[number]).change;
        if (old !== null) tell(watched, dateOf(entry), schemaChange(old.header, entry.header));
      }
    } catch (error) {
      logger.debug({ err: error }, 'failed to check a report for changed columns');
    }
  };
}

/** @returns the revision before one with other columns; null if there is none, or if one of them has no rows */
function beforeOf({ kind, revisions }: DayChange): Revision | null {
  const latest = revisions.at(-1);
  if (kind !== 'appended' || latest === undefined) return null;
  const before = validRevisions(revisions, latest.generation).at(-2);
  if (before === undefined || before.rowCount === 0 || latest.rowCount === 0) return null;
  return before.schema === latest.schema ? null : before;
}

/**
 * Per day. missed: not written; erased: its account was erased meanwhile; voided: a revision came from a truncated answer.
 */
export type HistoryEvent = 'appended' | 'confirmed' | 'late' | 'missed' | 'erased' | 'voided';

/** Days of one series that a fetch returned. */
export interface FetchedDays {
  readonly series: string;
  readonly days: readonly Entry<RowsHeader>[];
  /** When they may be written. History reads of the series in this process wait for them from the call on. */
  readonly begin?: Promise<unknown>;
}

/** With facts about their report. */
interface RecordedDays extends FetchedDays {
  /** Accounts that it names. */
  readonly asked: readonly string[];
  /** Of the report, for the log. */
  readonly endpoint?: string;
  /** Which days of the report are final, and which were cut. */
  readonly rules: FinalRules;
}

export interface Recorded {
  /** Days with their earlier revisions, possibly repeated; without days that a later fetch has overtaken. */
  readonly observations: readonly DayObservation[];
  /** Days recorded as final for the first time; each by one replica. */
  readonly finalized: readonly FinalDay[];
  /** Names of the contents that were added, by day. */
  readonly added: ReadonlyMap<string, string>;
}

/** Attempts under concurrent writes; each round at least one writer succeeds. */
const TRIES = 5;
/** Limit of pending writes; a fetch beyond it is not recorded, unless it is the only one. */
const MAX_WAITING_BYTES = 16_777_216;
/** Size of one write; a single day may exceed it. */
const PORTION_BYTES = 4_194_304;
/** LRU limit of days per process. */
const REMEMBERED_DAYS = 10_000;
/** An ISO date, and what divides it from its series. */
const DATE_CHARS = 11;

export type Recorder = ReturnType<typeof createRecorder>;

/** Recorder state of a process, used by the functions below. */
export function createRecorder(options: {
  readonly store: Pick<HistoryStore, 'packs' | 'heads' | 'contents' | 'write' | 'remove'>;
  readonly isErased: Erasures['isErased'];
  /** Entries as bytes, in the same order. */
  readonly encode: (entries: readonly RawWrite[]) => Promise<readonly EncodedEntry[]>;
  /** Fingerprint of the token in use. */
  readonly credential: () => string | null;
  readonly metrics: {
    history(event: HistoryEvent, days: number): void;
    readonly schemaChange: SchemaDriftOptions['onSchemaChange'];
  };
  readonly logger: Logger;
}) {
  const { store, logger, metrics } = options;
  return {
    ...options,
    watchSchema: createWatchSchema({ store, logger, onSchemaChange: metrics.schemaChange }),
    // Serializes read-decide-write per series.
    turns: createTurns(),
    /** By series and date: start of the latest fetch, also of unchanged days, to detect late ones. */
    latest: createLastUsed<number>(REMEMBERED_DAYS),
    /** By series and date: end of the first missed fetch that is not marked yet. */
    missed: createLastUsed<number>(REMEMBERED_DAYS),
    waitingBytes: 0,
  };
}

/** Never rejects. */
export async function record(r: Recorder, fetched: RecordedDays): Promise<Recorded> {
  const { series, begin } = fetched;
  const days = fetched.days.filter(isKept);
  const told = { observations: [], finalized: [], added: new Map<string, string>() };
  const bytes = days.reduce((sum, { body }) => sum + body.length, 0);
  if (r.waitingBytes > 0 && r.waitingBytes + bytes > MAX_WAITING_BYTES) {
    miss(r, series, days, 'the write queue is full');
    return told;
  }
  r.waitingBytes += bytes;
  try {
    const left = await r.turns(series, async () => {
      await begin;
      return write(r, { ...fetched, days }, told);
    });
    if (left.length > 0) miss(r, series, left, 'every attempt lost to a concurrent write');
  } catch (error) {
    miss(r, series, days, error);
  } finally {
    r.waitingBytes -= bytes;
  }
  return told;
}

function miss(r: Recorder, series: string, days: readonly Entry<RowsHeader>[], why: unknown): void {
  for (const entry of days) {
    const name = nameOf(series, dateOf(entry));
    if (!r.missed.has(name)) r.missed.set(name, entry.header.fetchedAt);
  }
  r.metrics.history('missed', days.length);
  r.logger.warn({ err: why, days: days.length }, 'failed to write fetched days to history');
}

interface RecordResult {
  readonly observations: DayObservation[];
  readonly finalized: FinalDay[];
  readonly added: Map<string, string>;
}

/** @returns the days that lost every attempt to concurrent writes */
async function write(
  r: Recorder,
  fetched: RecordedDays,
  told: RecordResult,
): Promise<readonly Entry<RowsHeader>[]> {
  const { series, asked } = fetched;
  const isErased = ({ header: { seq, fetchStartedAt, accounts, rowCount } }: Entry<RowsHeader>) =>
    r.isErased({ seq, fetchedFrom: fetchStartedAt, asked, held: accounts, rowCount });
  const days = fetched.days.filter((entry) => !isErased(entry));
  if (days.length < fetched.days.length) r.metrics.history('erased', fetched.days.length - days.length);
  const never: Entry<RowsHeader>[] = [];
  for (const portion of portionsOf(days)) {
    let left: readonly Entry<RowsHeader>[] = portion;
    for (let tries = 0; left.length > 0 && tries < TRIES; tries += 1)
      left = await writeOnce(r, fetched, left, told);
    never.push(...left);
  }
  // Data erased during the write must not come back.
  const months = new Set(days.filter(isErased).map((entry) => monthOf(dateOf(entry))));
  for (const month of months) await r.store.remove({ series, month });
  return never;
}

/** @returns days that others wrote meanwhile. @throws StoreUnavailable */
async function writeOnce(
  r: Recorder,
  fetched: RecordedDays,
  days: readonly Entry<RowsHeader>[],
  told: RecordResult,
): Promise<readonly Entry<RowsHeader>[]> {
  const { store, latest, missed, metrics } = r;
  const { series, rules } = fetched;
  const heads = await store.heads(series, days.map(dateOf));
  const credential = r.credential();
  const looks = days.map((entry, at) => {
    const { fetchStartedAt } = entry.header;
    const name = nameOf(series, dateOf(entry));
    if (fetchStartedAt < (latest.get(name) ?? fetchStartedAt))
      return { change: 'late', observation: null } as const;
    latest.set(name, fetchStartedAt);
    return compareWithHeads(heads[at] ?? null, { entry, missedFrom: missed.get(name), credential, rules });
  });
  const observations = looks.flatMap(({ observation }) => observation ?? []);
  told.observations.push(...observations);
  const late = looks.filter(({ change }) => change === 'late').length;
  if (late > 0) metrics.history('late', late);
  const changes = looks.flatMap(({ change }) => (change === null || change === 'late' ? [] : change));
  if (changes.length === 0) return [];
  const done = await store.write(series, await writesFor(r, fetched, changes));
  const written = changes.filter((_one, at) => done[at] === true);
  for (const { entry, kind, added } of written) {
    if (added !== null) told.added.set(dateOf(entry), added);
    metrics.history(kind, 1);
    missed.delete(nameOf(series, dateOf(entry)));
  }
  told.finalized.push(...finalizedBy(written, observations));
  await r.watchSchema(fetched, written);
  return changes.filter((_one, at) => done[at] !== true).map(({ entry }) => entry);
}

/** Marks missed fetches, of one series or all. Never rejects: the rest is marked later. */
export async function markMissed(r: Recorder, only?: string): Promise<void> {
  const all = new Set([...r.missed.keys()].map(seriesOf));
  for (const series of only === undefined ? all : all.has(only) ? [only] : []) {
    try {
      await r.turns(series, () => markSeries(r, series));
    } catch (error) {
      r.logger.debug({ err: error }, 'failed to mark missed fetches in history; retrying');
      return;
    }
  }
}

async function markSeries({ store, missed }: Recorder, series: string): Promise<void> {
  const names = [...missed.keys()].filter((name) => seriesOf(name) === series);
  const dates = names.map((name) => name.slice(1 - DATE_CHARS));
  const done = await markDays(store, series, dates, (known, at) =>
    noteMissed(known, missed.get(names[at] as string) ?? 0),
  );
  // Days written concurrently are marked the next time.
  for (const [at, name] of names.entries()) if (done.get(dates[at] as string) !== false) missed.delete(name);
}

/** Marks revisions from truncated answers as void, which they stay when the cap is forgotten. Never rejects. */
export async function markCut(
  { turns, store, metrics, logger }: Recorder,
  { series, dates, rules }: StatesWanted,
): Promise<void> {
  try {
    const done = await turns(series, () => markDays(store, series, dates, (known) => voidCut(known, rules)));
    metrics.history('voided', [...done.values()].filter((one) => one).length);
  } catch (error) {
    logger.error(
      { err: error, days: dates.length },
      'failed to mark history that came from a truncated platform answer; the next read retries',
    );
  }
}

const nameOf = (series: string, date: string) => `${series}|${date}`;
const seriesOf = (name: string) => name.slice(0, -DATE_CHARS);

/** Splits large writes: a single one would delay other calls until the store seems unavailable. */
function portionsOf(days: readonly Entry<RowsHeader>[]): readonly (readonly Entry<RowsHeader>[])[] {
  const portions: Entry<RowsHeader>[][] = [];
  let room = 0;
  for (const day of days) {
    room -= day.body.length;
    const open = portions.at(-1);
    if (open !== undefined && room >= 0) open.push(day);
    else {
      portions.push([day]);
      room = PORTION_BYTES - day.body.length;
    }
  }
  return portions;
}

/** Not recorded: doubtful and flawed answers, and those with freshness from platform headers. */
function isKept({ header: { splitFrom, originMs, doubt, flaws } }: Entry<RowsHeader>): boolean {
  return splitFrom !== null && originMs === null && doubt === undefined && flaws === undefined;
}
