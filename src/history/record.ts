/**
 * Writes down what fetches bring, behind their answers: a day is appended to its history when its rows are others than
 * before. An answer never waits for it; what cannot be written is counted, and marked when the store is back.
 */
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { EncodedEntry, RawWrite } from '../cache/entry.js';
import { holdsTexts, joinTypes } from '../report/column-types.js';
import { dayNumber } from '../report/days.js';
import type { Entry, RowsHeader } from '../report/entry.js';
import { type FreshnessRules, isFinal } from '../report/freshness.js';
import { digest } from '../report/platform-call.js';
import type { HistoryContent, HistoryHeads, HistoryStore, HistoryWrite } from '../store/history-port.js';
import { createTurns } from '../store/turns.js';
import { contentName } from './content-name.js';
import { noteFetch, noteMissed, type SeenDay } from './note-fetch.js';
import { decodeRevisions, encodeRevisions, type Revisions } from './revision.js';

/** appended, confirmed, late: of one day each. missed: a day that could not be written down. */
export type HistoryEvent = 'appended' | 'confirmed' | 'late' | 'missed';

/** Days of one series that a fetch brought. */
export interface FetchedDays {
  readonly series: string;
  readonly days: readonly Entry<RowsHeader>[];
}

/** A day that a fetch brought, beside what was known of it before. */
export interface Sight {
  /** ISO */
  readonly date: string;
  readonly before: Revisions;
  readonly seen: SeenDay;
}

export interface RecordedDays extends FetchedDays {
  /** By which their report is judged. */
  readonly rules: Pick<FreshnessRules, 'restatementDays'>;
  /** Told of the days that were looked at, once or more often; not of those that a later fetch has overtaken. */
  readonly onSights?: ((sights: readonly Sight[]) => void) | undefined;
}

export interface Recorder {
  /** Never rejects. */
  record(fetched: RecordedDays): Promise<void>;
}

export interface RecorderOptions {
  readonly store: Pick<HistoryStore, 'heads' | 'write'>;
  /** Entries as bytes, in the same order. */
  readonly encode: (entries: readonly RawWrite[]) => Promise<readonly EncodedEntry[]>;
  /** Fingerprint of the token in use. */
  readonly credential: () => string | null;
  readonly onEvent: (event: HistoryEvent, days: number) => void;
  readonly logger: Logger;
}

/** Others write the same days at times; each time one of them gets through. */
const TRIES = 5;
/** Rows that may wait to be written; beyond it a fetch is not written down. */
const MAX_WAITING_BYTES = 16_777_216;
/** Days of which this process remembers something that is not written down. */
const REMEMBERED_DAYS = 10_000;

export function createRecorder(options: RecorderOptions): Recorder {
  const { store, onEvent, logger } = options;
  /** End of the first fetch that was missed, and is not marked yet. */
  const missed = new LRUCache<string, number>({ max: REMEMBERED_DAYS });
  /** Start of the latest fetch: one that saw what was known is not written down, and yet an earlier one is late. */
  const latest = new LRUCache<string, number>({ max: REMEMBERED_DAYS });
  // What is decided on heads that another call is about to replace would be decided on nothing.
  const turns = createTurns();
  let waitingBytes = 0;

  function miss({ series, days }: FetchedDays, why: unknown): void {
    for (const entry of days) {
      const name = nameOf(series, entry);
      if (!missed.has(name)) missed.set(name, entry.header.fetchedAt);
    }
    onEvent('missed', days.length);
    logger.warn({ err: why, days: days.length }, 'what a report said could not be written to the history');
  }

  /** @returns the days that somebody else has written meanwhile */
  async function writeOnce({
    series,
    days,
    rules,
    onSights,
  }: RecordedDays): Promise<readonly Entry<RowsHeader>[]> {
    const heads = await store.heads(series, days.map(dateOf));
    const sights: Sight[] = [];
    const changes = days.flatMap((entry, at) => {
      const name = nameOf(series, entry);
      const { fetchStartedAt } = entry.header;
      if (fetchStartedAt < (latest.get(name) ?? fetchStartedAt)) {
        onEvent('late', 1);
        return [];
      }
      latest.set(name, fetchStartedAt);
      const missedFrom = missed.get(name);
      return changeOf(options, { entry, heads: heads[at] ?? null, missedFrom, rules, sights }) ?? [];
    });
    onSights?.(sights);
    if (changes.length === 0) return [];
    const done = await store.write(series, await writesFor(options, series, changes));
    for (const [at, { entry, kind }] of changes.entries()) {
      if (done[at] !== true) continue;
      onEvent(kind, 1);
      missed.delete(nameOf(series, entry));
    }
    return changes.filter((_one, at) => done[at] !== true).map(({ entry }) => entry);
  }

  return {
    async record({ series, days: all, rules, onSights }) {
      let days = all.filter(isKept);
      const bytes = days.reduce((sum, { body }) => sum + body.length, 0);
      if (waitingBytes + bytes > MAX_WAITING_BYTES) {
        miss({ series, days }, 'too much waits to be written');
        return;
      }
      waitingBytes += bytes;
      try {
        await turns(series, async () => {
          for (let tries = 0; days.length > 0 && tries < TRIES; tries += 1)
            days = [...(await writeOnce({ series, days, rules, onSights }))];
        });
        if (days.length > 0) miss({ series, days }, 'others were always quicker');
      } catch (error) {
        miss({ series, days }, error);
      } finally {
        waitingBytes -= bytes;
      }
    },
  };
}

const nameOf = (series: string, entry: Entry<RowsHeader>) => `${series}|${dateOf(entry)}`;
const dateOf = ({ header }: Entry<RowsHeader>) => header.lastDay as string;

/** Not what may be no report, nor what the platform's own headers decide about. */
function isKept({ header }: Entry<RowsHeader>): boolean {
  return header.splitFrom !== null && header.originMs === null && header.doubt === undefined;
}

interface Change {
  readonly entry: Entry<RowsHeader>;
  readonly kind: 'appended' | 'confirmed';
  readonly stamp: number;
  readonly revisions: Revisions;
  /** Name of the content to be kept; null where it is kept already. */
  readonly added: string | null;
  readonly removed: readonly string[];
}

interface Found {
  readonly entry: Entry<RowsHeader>;
  readonly heads: HistoryHeads | null;
  readonly missedFrom: number | undefined;
  readonly rules: RecordedDays['rules'];
  /** Added to where it is no late one. */
  readonly sights: Sight[];
}

/** @returns null where nothing is to be written */
function changeOf(
  { credential, onEvent }: RecorderOptions,
  { entry, heads, missedFrom, rules, sights }: Found,
): Change | null {
  const known = heads === null ? [] : decodeRevisions(heads.heads);
  // A later release has written it: this one would take away what it does not know.
  if (known === null) return null;
  const before = missedFrom === undefined ? known : noteMissed(known, missedFrom);
  const seen = seenDay(entry, credential(), rules);
  const noted = noteFetch(before, seen);
  if (noted.kind !== 'late') sights.push({ date: dateOf(entry), before, seen });
  const common = { entry, stamp: heads?.stamp ?? 0 };
  if (noted.kind === 'appended') return { ...common, ...noted };
  if (noted.kind === 'confirmed') return { ...common, ...noted, added: null, removed: [] };
  if (before !== known) return { ...common, kind: 'confirmed', revisions: before, added: null, removed: [] };
  if (noted.kind === 'late') onEvent('late', 1);
  return null;
}

function seenDay(
  { header }: Entry<RowsHeader>,
  credential: string | null,
  rules: RecordedDays['rules'],
): SeenDay {
  const { splitFrom, fetchStartedAt, fetchedAt, fetchedOn, lastDay, rowCount, emptyTail } = header;
  return {
    ...{ fetchedFrom: fetchStartedAt, fetchedAt, credential, rowCount, bytes: 0 },
    ageDays: fetchedOn - (dayNumber(lastDay as string) as number),
    digest: splitFrom?.sortedHash ?? '',
    generation: splitFrom?.generation ?? '',
    schema: schemaOf(header),
    isFinal: isFinal(header, rules),
    unconfirmed: rowCount === 0 && emptyTail === 'unconfirmed',
  };
}

/** Which columns there are, and which of them hold texts: how many digits the numbers have is theirs to change. */
function schemaOf(header: RowsHeader): string {
  const types = joinTypes([header]);
  const texts = header.columns.map((column) => {
    const facts = types.get(column);
    return facts !== undefined && holdsTexts(column, facts) ? 'text' : '';
  });
  return digest([...header.columns, '', ...texts]).slice(0, 16);
}

async function writesFor(
  { encode }: RecorderOptions,
  series: string,
  changes: readonly Change[],
): Promise<HistoryWrite[]> {
  const fresh = changes.filter(({ added }) => added !== null);
  const encoded = await encode(
    fresh.map(({ entry: { header, body } }) => ({
      ...{ id: contentName(series, header.lastDay as string), version: header.fetchStartedAt },
      ...{ header, body },
    })),
  );
  const contents = new Map(
    fresh.map(({ entry }, at): [Entry, HistoryContent] => [
      entry,
      { version: entry.header.fetchStartedAt, ...(encoded[at] as EncodedEntry) },
    ]),
  );
  return changes.map(({ entry, stamp, revisions, added, removed }) => {
    const content = contents.get(entry);
    return {
      ...{ day: dateOf(entry), stamp, heads: encodeRevisions(withBytes(revisions, added, content)), removed },
      added: added === null || content === undefined ? new Map() : new Map([[added, content]]),
    };
  });
}

/** Says of a revision what its rows take, which is known only now. */
function withBytes(
  revisions: Revisions,
  name: string | null,
  content: HistoryContent | undefined,
): Revisions {
  if (content === undefined) return revisions;
  const bytes = content.header.length + content.body.length;
  return revisions.map((one) => (one.id === name ? { ...one, bytes } : one));
}
