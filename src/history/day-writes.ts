/** What a fetch changes in the history of its days: decided on their heads, and as the store takes it. */
import { LRUCache } from 'lru-cache';
import type { EncodedEntry, RawWrite } from '../cache/entry.js';
import { holdsTexts, joinTypes } from '../report/column-types.js';
import { dayNumber } from '../report/days.js';
import type { Entry, RowsHeader } from '../report/entry.js';
import { type FreshnessRules, isFinal } from '../report/freshness.js';
import { digest } from '../report/platform-call.js';
import type { HistoryContent, HistoryHeads, HistoryWrite } from '../store/history-port.js';
import { contentName } from './content-name.js';
import { noteFetch, noteMissed, type SeenDay } from './note-fetch.js';
import { decodeHeads, encodeHeads, type Revisions } from './revision.js';

export interface DayChange {
  readonly entry: Entry<RowsHeader>;
  readonly kind: 'appended' | 'confirmed';
  readonly stamp: number;
  readonly revisions: Revisions;
  /** Name of the content to be kept; null where it is kept already. */
  readonly added: string | null;
  readonly removed: readonly string[];
}

/** A day as a fetch brought it, with what the fetch knows of it. */
export interface BroughtDay extends Pick<SeenDay, 'answerRows' | 'credential'> {
  readonly entry: Entry<RowsHeader>;
  /** End of the first fetch that was missed, and is not marked yet. */
  readonly missedFrom: number | undefined;
  /** Which days of its report are final. */
  readonly rules: Pick<FreshnessRules, 'restatementDays'>;
}

/** A day that a fetch brought, beside what was known of it before. */
export interface Sight {
  /** ISO */
  readonly date: string;
  readonly before: Revisions;
  readonly seen: SeenDay;
}

/** A day that was seen final for the first time, as it is written down now. */
export interface FinalDay {
  /** ISO */
  readonly date: string;
  readonly entry: Entry<RowsHeader>;
  readonly revisions: Revisions;
}

export interface Look {
  /** Null where nothing is to be written; `late` where another fetch that began later was written down before. */
  readonly change: DayChange | 'late' | null;
  /** Null where it is late, or cannot be told. */
  readonly sight: Sight | null;
}

/** A day as it was brought, beside the heads that are there. */
export function lookAt(head: HistoryHeads | null, brought: BroughtDay): Look {
  const { entry, missedFrom } = brought;
  const known = head === null ? [] : (decodeHeads(head.heads)?.revisions ?? null);
  // A later release has written it: this one would take away what it does not know.
  if (known === null) return { change: null, sight: null };
  const before = missedFrom === undefined ? known : noteMissed(known, missedFrom);
  const seen = seenDay(brought);
  const noted = noteFetch(before, seen);
  if (noted.kind === 'late') return { change: 'late', sight: null };
  const sight = { date: dateOf(entry), before, seen };
  const common = { entry, stamp: head?.stamp ?? 0 };
  if (noted.kind === 'appended') return { sight, change: { ...common, ...noted } };
  const same = { ...common, added: null, removed: [] };
  if (noted.kind === 'confirmed') return { sight, change: { ...same, ...noted } };
  return { sight, change: before === known ? null : { ...same, kind: 'confirmed', revisions: before } };
}

export const dateOf = ({ header }: Entry<RowsHeader>) => header.lastDay as string;

/** Each member by its name: one is made for each day, and adding to what was spread is slow in V8. */
function seenDay({ entry: { header }, answerRows, credential, rules }: BroughtDay): SeenDay {
  const { splitFrom, rowCount } = header;
  return {
    fetchedFrom: header.fetchStartedAt,
    fetchedAt: header.fetchedAt,
    ageDays: header.fetchedOn - (dayNumber(header.lastDay as string) as number),
    digest: splitFrom?.sortedHash ?? '',
    generation: splitFrom?.generation ?? '',
    schema: schemaOf(header),
    credential,
    rowCount,
    answerRows,
    seq: header.seq,
    bytes: 0,
    unconfirmed: rowCount === 0 && header.emptyTail === 'unconfirmed',
    isFinal: isFinal(header, rules),
  };
}

/** Reports have few different ones, and each day of each fetch has one. */
const schemas = new LRUCache<string, string>({ max: 1000 });

/** Which columns there are, and which of them hold texts: how many digits the numbers have is theirs to change. */
function schemaOf(header: RowsHeader): string {
  const name = JSON.stringify([header.columns, header.types]);
  const known = schemas.get(name) ?? makeSchema(header);
  schemas.set(name, known);
  return known;
}

function makeSchema(header: RowsHeader): string {
  const types = joinTypes([header]);
  const texts = header.columns.map((column) => {
    const facts = types.get(column);
    return facts !== undefined && holdsTexts(column, facts) ? 'text' : '';
  });
  return digest([...header.columns, '', ...texts]).slice(0, 16);
}

/** @param encode entries as bytes, in the same order */
export async function writesFor(
  encode: (entries: readonly RawWrite[]) => Promise<readonly EncodedEntry[]>,
  { series, asked }: { readonly series: string; readonly asked: readonly string[] },
  changes: readonly DayChange[],
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
    const heads = encodeHeads({ asked, revisions: withBytes(revisions, added, content) });
    return {
      ...{ day: dateOf(entry), stamp, heads, removed },
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

/** Rows of the answer that a day was split from: days of several answers may come together. */
export function rowsOfAnswer(days: readonly Entry<RowsHeader>[], { header: one }: Entry<RowsHeader>): number {
  return days.reduce((sum, { header }) => {
    const isOfIt =
      header.fetchStartedAt === one.fetchStartedAt &&
      header.splitFrom?.from === one.splitFrom?.from &&
      header.splitFrom?.to === one.splitFrom?.to;
    return isOfIt ? sum + header.rowCount : sum;
  }, 0);
}

/** Those that no revision before was final of. */
export function finalsOf(changes: readonly DayChange[], sights: readonly Sight[]): FinalDay[] {
  const wasFinal = new Set(
    sights
      .filter(({ before }) => before.some(({ finalFrom }) => finalFrom !== undefined))
      .map(({ date }) => date),
  );
  return changes.flatMap(({ entry, revisions }) =>
    revisions.at(-1)?.finalFrom === undefined || wasFinal.has(dateOf(entry))
      ? []
      : [{ date: dateOf(entry), entry, revisions }],
  );
}
