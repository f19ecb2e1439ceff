/** Changes of the history by a fetch or a mark: decided on the stored heads, encoded for the store. */
import { LRUCache } from 'lru-cache';
import { groupsToPack, monthOf } from '../../store/history-content.js';
import type { HistoryContent, HistoryHeads, HistoryStore, HistoryWrite } from '../../store/history-port.js';
import type { EncodedEntry, RawWrite } from '../cache/entry.js';
import { dayNumber } from '../query/days.js';
import { contentName } from '../query/keys.js';
import { digest } from '../query/platform-call.js';
import { holdsTexts, joinTypes } from '../rows/column-types.js';
import type { Entry, RowsHeader } from '../rows/entry.js';
import { type FinalRules, isFinal } from '../rows/freshness.js';
import {
  decodeStored,
  encodeHeads,
  noteFetch,
  noteMissed,
  type Revisions,
  type SeenDay,
  voidCut,
} from './revision.js';

export interface DayChange {
  readonly entry: Entry<RowsHeader>;
  readonly kind: 'appended' | 'confirmed';
  readonly stamp: number;
  readonly revisions: Revisions;
  /** Name of the content to store; null if already stored. */
  readonly added: string | null;
  readonly removed: readonly string[];
}

interface FetchedDay extends Pick<SeenDay, 'credential'> {
  readonly entry: Entry<RowsHeader>;
  /** End of the first missed fetch that is not marked yet. */
  readonly missedFrom: number | undefined;
  /** Which days of its report are final, and which were cut. */
  readonly rules: FinalRules;
}

/** A fetched day and its earlier revisions. */
export interface DayObservation {
  /** ISO */
  readonly date: string;
  readonly before: Revisions;
  readonly seen: SeenDay;
}

/** A day recorded as final for the first time. */
export interface FinalDay {
  /** ISO */
  readonly date: string;
  readonly entry: Entry<RowsHeader>;
  readonly revisions: Revisions;
}

interface DayComparison {
  /** Null if nothing is to be written; `late` if a fetch that began later is already recorded. */
  readonly change: DayChange | 'late' | null;
  /** Null if late or unknown. */
  readonly observation: DayObservation | null;
}

/** Compares a fetched day with the stored heads. */
export function compareWithHeads(head: HistoryHeads | null, fetched: FetchedDay): DayComparison {
  const { entry, missedFrom } = fetched;
  const stored = head === null ? [] : (decodeStored(head)?.revisions ?? null);
  // Written by a newer release: do not overwrite members unknown here.
  if (stored === null) return { change: null, observation: null };
  const known = voidCut(stored, fetched.rules);
  const before = missedFrom === undefined ? known : noteMissed(known, missedFrom);
  const seen = seenDay(fetched);
  const noted = noteFetch(before, seen);
  if (noted.kind === 'late') return { change: 'late', observation: null };
  const observation = { date: dateOf(entry), before, seen };
  const common = { entry, stamp: head?.stamp ?? 0 };
  if (noted.kind === 'appended') return { observation, change: { ...common, ...noted } };
  const same = { ...common, added: null, removed: [] };
  if (noted.kind === 'confirmed') return { observation, change: { ...same, ...noted } };
  return {
    observation,
    change: before === stored ? null : { ...same, kind: 'confirmed', revisions: before },
  };
}

export const dateOf = ({ header }: Entry<RowsHeader>) => header.lastDay as string;

/** Each member by its name: one is made for each day, and adding to what was spread is slow in V8. */
function seenDay({ entry: { header }, credential, rules }: FetchedDay): SeenDay {
  const { splitFrom, rowCount, answerRows, complete } = header;
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
    ...(complete && { complete }),
  };
}

/** Memoized: reports have few schemas, and every fetched day has one. */
const schemas = new LRUCache<string, string>({ max: 1000 });

/** Identifies the columns and which of them hold text; the precision of numbers may change. */
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

interface Writing {
  /** Entries as bytes, in the same order. */
  readonly encode: (entries: readonly RawWrite[]) => Promise<readonly EncodedEntry[]>;
  readonly store: Pick<HistoryStore, 'packs'>;
}

export async function writesFor(
  r: Writing,
  { series, asked }: { readonly series: string; readonly asked: readonly string[] },
  changes: readonly DayChange[],
): Promise<HistoryWrite[]> {
  const fresh = changes.filter(({ added }) => added !== null);
  const packOf = ({ entry, added }: DayChange) => `${monthOf(dateOf(entry))} ${added}`;
  const packs = r.store.packs ? groupsToPack(fresh, packOf, ({ entry }) => entry.body) : new Map();
  const isPacked = (one: DayChange) => packs.get(packOf(one))?.includes(one) ?? false;
  const encoded = await r.encode(
    fresh.map((change) => ({
      id: contentName(series, dateOf(change.entry)),
      version: change.entry.header.fetchStartedAt,
      header: change.entry.header,
      body: change.entry.body,
      isPlain: isPacked(change),
    })),
  );
  const contents = new Map(
    fresh.map(({ entry }, at): [Entry, HistoryContent] => [
      entry,
      { version: entry.header.fetchStartedAt, ...(encoded[at] as EncodedEntry) },
    ]),
  );
  return changes.map((change) => {
    const { entry, stamp, revisions, added, removed } = change;
    const content = contents.get(entry);
    const bytes =
      content && content.header.length + content.body.length * (isPacked(change) ? PACKED_PART : 1);
    const sized = revisions.map((one) => (one.id === added ? { ...one, bytes: Math.ceil(bytes ?? 0) } : one));
    return {
      ...{ day: dateOf(entry), stamp, heads: encodeHeads({ asked, revisions: sized }), removed },
      added: added === null || content === undefined ? new Map() : new Map([[added, content]]),
    };
  });
}

/** Approximate maximum of a pack's stored size, as a share of its plain size. */
const PACKED_PART = 1 / 3;

/** Days that these writes made final for the first time. */
export function finalizedBy(
  changes: readonly DayChange[],
  observations: readonly DayObservation[],
): FinalDay[] {
  const wasFinal = new Set(
    observations
      .filter(({ before }) => before.some(({ finalFrom }) => finalFrom !== undefined))
      .map(({ date }) => date),
  );
  return changes.flatMap(({ entry, revisions }) =>
    revisions.at(-1)?.finalFrom === undefined || wasFinal.has(dateOf(entry))
      ? []
      : [{ date: dateOf(entry), entry, revisions }],
  );
}

/**
 * Marks revisions of days without changing their rows. Concurrently written days are skipped: they are newer.
 * @param mark returns the same list if nothing is to be marked
 * @returns whether each day to be marked was written
 * @throws StoreUnavailable
 */
export async function markDays(
  store: Pick<HistoryStore, 'heads' | 'write'>,
  series: string,
  dates: readonly string[],
  mark: (revisions: Revisions, at: number) => Revisions,
): Promise<ReadonlyMap<string, boolean>> {
  const writes = (await store.heads(series, dates)).flatMap((one, at): HistoryWrite[] => {
    const known = one === null ? null : decodeStored(one);
    if (one === null || known === null) return [];
    const revisions = mark(known.revisions, at);
    if (revisions === known.revisions) return [];
    const heads = encodeHeads({ ...known, revisions });
    return [{ day: dates[at] as string, stamp: one.stamp, heads, added: new Map(), removed: [] }];
  });
  const done = writes.length === 0 ? [] : await store.write(series, writes);
  return new Map(writes.map(({ day }, at) => [day, done[at] === true]));
}
