/** What was known of the days of a series at one moment: from history alone, never fetched, never made up. */
import { decodeEntries } from '../cache/entry.js';
import { GatewayError } from '../errors.js';
import { type Entry, isEntryHeader, type RowsHeader } from '../report/entry.js';
import type { HistoryStore } from '../store/history-port.js';
import { StoreUnavailable } from '../store/port.js';
import { contentName } from './content-name.js';
import { decodeRevisions, type KnownThen, knownAt, type Moment, type Revisions } from './revision.js';

export interface DaysWanted {
  readonly series: string;
  /** ISO, in order. */
  readonly dates: readonly string[];
  /** Of the kind's divisibility: what was split under another one is not believed. */
  readonly generation: string;
  readonly moment: Moment;
  /** What is said of days of which nothing was known then, where that is not `not_known_then`. */
  readonly unknown?: (dates: readonly string[]) => GatewayError;
}

/** One day as it was known then. */
export interface DayThen extends KnownThen {
  readonly entry: Entry<RowsHeader>;
}

/**
 * @returns in the order of the dates
 * @throws GatewayError `not_known_then`; `not_ready` while the store is away
 */
export type ReadDays = (wanted: DaysWanted) => Promise<readonly DayThen[]>;

export interface ReadDaysOptions {
  readonly store: Pick<HistoryStore, 'off' | 'heads' | 'contents'>;
  readonly enabled: boolean;
}

export function createReadDays({ store, enabled }: ReadDaysOptions): ReadDays {
  return async (wanted) => {
    const off = enabled ? store.off() : 'an operator has set history.enabled to false.';
    if (off !== null) throw notKept(`No history is kept: ${off}`);
    try {
      return await readDays(store, wanted);
    } catch (error) {
      if (error instanceof StoreUnavailable)
        throw new GatewayError('not_ready', {
          detail: 'The store of the history does not answer.',
          cause: error,
        });
      throw error;
    }
  };
}

async function readDays(store: ReadDaysOptions['store'], wanted: DaysWanted): Promise<readonly DayThen[]> {
  const { series, dates, generation, moment } = wanted;
  const heads = await store.heads(series, dates);
  const believed = heads.map((one): Revisions => {
    const revisions = one === null ? null : decodeRevisions(one.heads);
    return (revisions ?? []).filter((revision) => revision.generation === generation);
  });
  const known = believed.map((revisions) => knownAt(revisions, moment));
  if (known.includes(null)) throw notKnown(wanted, believed);
  const days = known as KnownThen[];
  const contents = await store.contents(
    series,
    days.map(({ revision }, at) => ({ day: dates[at] as string, name: revision.id })),
  );
  const found = contents.flatMap((entry, at) =>
    entry === null ? [] : [{ id: contentName(series, dates[at] as string), entry }],
  );
  if (found.length < dates.length) throw lost(dates.filter((_date, at) => contents[at] === null));
  return (await decodeEntries(found)).map((entry, at) => {
    if (typeof entry === 'string' || !isEntryHeader(entry.header)) throw lost([dates[at] as string]);
    return { ...(days[at] as KnownThen), entry: entry as Entry<RowsHeader> };
  });
}

function notKnown(wanted: DaysWanted, believed: readonly Revisions[]): GatewayError {
  const { dates, moment } = wanted;
  const unknown = dates.filter((_date, at) => knownAt(believed[at] as Revisions, moment) === null);
  if (wanted.unknown !== undefined) return wanted.unknown(unknown);
  const first = Math.max(...believed.map((revisions) => revisions[0]?.knownFrom ?? Number.POSITIVE_INFINITY));
  const since = Number.isFinite(first)
    ? `All of them are known from ${new Date(first).toISOString()} on: ask for that, or later.`
    : 'Some of them were never asked for: ask for the report without _asOf, and they are known from then on.';
  const then = typeof moment === 'object' ? `at ${new Date(moment.at).toISOString()} ` : '';
  return notKept(`Nothing was known ${then}of ${listed(unknown)}. ${since}`);
}

function lost(dates: readonly string[]): GatewayError {
  return notKept(`What was known then of ${listed(dates)} can no longer be read.`);
}

function notKept(detail: string): GatewayError {
  return new GatewayError('not_known_then', { detail });
}

const SHOWN = 10;

/** Days in a sentence. */
export function listed(dates: readonly string[]): string {
  const more = dates.length > SHOWN ? ` and ${dates.length - SHOWN} more days` : '';
  return dates.slice(0, SHOWN).join(', ') + more;
}
