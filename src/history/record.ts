/**
 * Writes down what fetches bring, behind their answers: a day is appended to its history when its rows are others than
 * before. An answer never waits for it; what cannot be written is counted, and marked when the store is back.
 */

import type { Logger } from 'pino';
import type { EncodedEntry, RawWrite } from '../cache/entry.js';
import { createLastUsed } from '../last-used.js';
import type { Entry, RowsHeader } from '../report/entry.js';
import type { FreshnessRules } from '../report/freshness.js';
import { monthOf } from '../store/history-content.js';
import type { HistoryStore } from '../store/history-port.js';
import { createTurns } from '../store/turns.js';
import {
  dateOf,
  type FinalDay,
  finalsOf,
  type Look,
  lookAt,
  rowsOfAnswer,
  type Sight,
  writesFor,
} from './day-writes.js';
import type { Erasures, KeptAccounts } from './erasures.js';
import { type CutDays, voidCut } from './mark-days.js';
import { createMissed, type Missed } from './missed.js';
import { createWatchSchema, type SchemaDriftOptions } from './schema-drift.js';

/**
 * Of one day each. missed: it could not be written down; erased: its account was erased meanwhile; voided: one of its
 * revisions came from an answer that the platform had cut off.
 */
export type HistoryEvent = 'appended' | 'confirmed' | 'late' | 'missed' | 'erased' | 'voided';

/** Days of one series that a fetch brought. */
export interface FetchedDays {
  readonly series: string;
  readonly days: readonly Entry<RowsHeader>[];
  /** When they may be written. From the call on, {@link Recorder.written} waits for them. */
  readonly begin?: Promise<unknown>;
}

export interface RecordListeners {
  /** Told of the days that were looked at, once or more often; not of those that a later fetch has overtaken. */
  readonly onSights?: ((sights: readonly Sight[]) => void) | undefined;
  /** Told of the days that were written down as final for the first time, by whichever replica wrote them. */
  readonly onFinals?: ((days: readonly FinalDay[]) => void) | undefined;
}

/** The same, with what is known of their report. */
export interface RecordedDays extends FetchedDays, RecordListeners {
  /** Accounts that it names. */
  readonly asked: readonly string[];
  /** Of the report, for the log. */
  readonly endpoint?: string;
  /** Which days of the report are final. */
  readonly rules: Pick<FreshnessRules, 'restatementDays'>;
}

export interface Recorder {
  /** Never rejects. */
  record(fetched: RecordedDays): Promise<void>;
  /** Marks what came of such answers. Never rejects. */
  voidCut(cut: CutDays): Promise<void>;
  /** Marks what could not be written down, of one series or of all. Never rejects: what is left is marked later. */
  markMissed(series?: string): Promise<void>;
  /** Resolves when all is written that was to be written of the series in this process until now. Never rejects. */
  written(series: string): Promise<void>;
}

export interface RecorderOptions {
  readonly store: Pick<HistoryStore, 'heads' | 'contents' | 'write' | 'remove'>;
  readonly isErased: Erasures['isErased'];
  /** Entries as bytes, in the same order. */
  readonly encode: (entries: readonly RawWrite[]) => Promise<readonly EncodedEntry[]>;
  /** Fingerprint of the token in use. */
  readonly credential: () => string | null;
  readonly onEvent: (event: HistoryEvent, days: number) => void;
  readonly onSchemaChange: SchemaDriftOptions['onSchemaChange'];
  readonly logger: Logger;
}

/** Others write the same days at times; each time one of them gets through. */
const TRIES = 5;
/** Rows that may wait to be written; beyond it a fetch is not written down, unless it waits alone. */
const MAX_WAITING_BYTES = 16_777_216;
/** Rows that are written at once; one day may have more. */
const PORTION_BYTES = 4_194_304;
/** Days of which this process remembers when they were fetched last. */
const REMEMBERED_DAYS = 10_000;

export function createRecorder(options: RecorderOptions): Recorder {
  const { store, onEvent, logger } = options;
  const missed = createMissed(store);
  const writeOnce = createWriteOnce(options, missed);
  // What is decided on heads that another call is about to replace would be decided on nothing.
  const turns = createTurns();
  let waitingBytes = 0;

  function miss(series: string, days: readonly Entry<RowsHeader>[], why: unknown): void {
    for (const entry of days) missed.add(series, dateOf(entry), entry.header.fetchedAt);
    onEvent('missed', days.length);
    logger.warn({ err: why, days: days.length }, 'what a report said could not be written to the history');
  }

  /** @returns the days that others were always quicker to write */
  async function write(fetched: RecordedDays): Promise<readonly Entry<RowsHeader>[]> {
    const isErased = (entry: Entry<RowsHeader>) => options.isErased(keptAccounts(entry, fetched.asked));
    const written = fetched.days.filter((entry) => !isErased(entry));
    if (written.length < fetched.days.length) onEvent('erased', fetched.days.length - written.length);
    const never: Entry<RowsHeader>[] = [];
    for (const portion of portionsOf(written)) {
      let left: readonly Entry<RowsHeader>[] = portion;
      for (let tries = 0; left.length > 0 && tries < TRIES; tries += 1)
        left = await writeOnce.write(fetched, left);
      never.push(...left);
    }
    // What was erased while it was written must not come back.
    const months = new Set(written.filter(isErased).map((entry) => monthOf(dateOf(entry))));
    for (const month of months) await store.remove({ series: fetched.series, month });
    return never;
  }

  return {
    written: (series) => turns(series, async () => {}),
    async record(fetched) {
      const { series } = fetched;
      const days = fetched.days.filter(isKept);
      const bytes = days.reduce((sum, { body }) => sum + body.length, 0);
      if (waitingBytes > 0 && waitingBytes + bytes > MAX_WAITING_BYTES) {
        miss(series, days, 'too much waits to be written');
        return;
      }
      waitingBytes += bytes;
      try {
        const left = await turns(series, async () => {
          await fetched.begin;
          return write({ ...fetched, days });
        });
        if (left.length > 0) miss(series, left, 'others were always quicker');
      } catch (error) {
        miss(series, days, error);
      } finally {
        waitingBytes -= bytes;
      }
    },
    async markMissed(only) {
      const all = missed.series();
      for (const series of only === undefined ? all : all.filter((one) => one === only)) {
        try {
          await turns(series, () => missed.mark(series));
        } catch (error) {
          logger.debug({ err: error }, 'what was missed could not be marked in the history; trying again');
          return;
        }
      }
    },
    async voidCut(cut) {
      try {
        await turns(cut.series, async () => onEvent('voided', await voidCut(store, cut)));
      } catch (error) {
        logger.error(
          { err: error, days: cut.dates.length },
          'what came of an answer that the platform had cut off could not be marked in the history: it is shown as it was known',
        );
      }
    },
  };
}

interface WriteOnce {
  /** @returns those of `days` that somebody else has written meanwhile. @throws StoreUnavailable */
  write(fetched: RecordedDays, days: readonly Entry<RowsHeader>[]): Promise<readonly Entry<RowsHeader>[]>;
}

function createWriteOnce(options: RecorderOptions, missed: Missed): WriteOnce {
  const { store, encode, credential, onEvent } = options;
  const watchSchema = createWatchSchema(options);
  /** Start of the latest fetch: one that saw what was known is not written down, and yet an earlier one is late. */
  const latest = createLastUsed<number>(REMEMBERED_DAYS);
  return {
    async write(fetched, days) {
      const { series, days: all } = fetched;
      const heads = await store.heads(series, days.map(dateOf));
      const looks = days.map((entry, at) => {
        const { fetchStartedAt } = entry.header;
        const [name, answerRows] = [nameOf(series, entry), rowsOfAnswer(all, entry)];
        if (fetchStartedAt < (latest.get(name) ?? fetchStartedAt)) return LATE;
        latest.set(name, fetchStartedAt);
        const known = {
          missedFrom: missed.get(series, dateOf(entry)),
          credential: credential(),
          rules: fetched.rules,
        };
        return lookAt(heads[at] ?? null, { entry, answerRows, ...known });
      });
      const sights = looks.flatMap(({ sight }) => sight ?? []);
      fetched.onSights?.(sights);
      const late = looks.filter(({ change }) => change === 'late').length;
      if (late > 0) onEvent('late', late);
      const changes = looks.flatMap(({ change }) => (change === null || change === 'late' ? [] : change));
      if (changes.length === 0) return [];
      const done = await store.write(series, await writesFor(encode, fetched, changes));
      for (const [at, { entry, kind }] of changes.entries()) {
        if (done[at] !== true) continue;
        onEvent(kind, 1);
        missed.delete(series, dateOf(entry));
      }
      const written = changes.filter((_one, at) => done[at] === true);
      fetched.onFinals?.(finalsOf(written, sights));
      await watchSchema(fetched, written);
      return changes.filter((_one, at) => done[at] !== true).map(({ entry }) => entry);
    },
  };
}

const LATE: Look = { change: 'late', sight: null };

const nameOf = (series: string, entry: Entry<RowsHeader>) => `${series}|${dateOf(entry)}`;

/** A store that is given all of a large report at once answers nobody else in time, and may be taken to be away. */
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

/** Not what may be no report, nor what is visibly not what was asked for, nor what the platform's own headers decide about. */
function isKept({ header: { splitFrom, originMs, doubt, flaws } }: Entry<RowsHeader>): boolean {
  return splitFrom !== null && originMs === null && doubt === undefined && flaws === undefined;
}

function keptAccounts({ header }: Entry<RowsHeader>, asked: readonly string[]): KeptAccounts {
  const { seq, fetchStartedAt, accounts, rowCount } = header;
  return { seq, fetchedFrom: fetchStartedAt, asked, held: accounts, rowCount };
}
