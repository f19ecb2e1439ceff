/** What was known of the days of a series at one moment: from history alone, never fetched, never made up. */
import { GatewayError } from '../errors.js';
import type { Entry, RowsHeader } from '../report/entry.js';
import type { HistoryStore } from '../store/history-port.js';
import type { Erasures } from './erasures.js';
import { guarded, type KeptWhere } from './guarded.js';
import { readContents } from './read-contents.js';
import {
  believed,
  type Heads,
  headsIn,
  type KnownThen,
  knownAt,
  type Moment,
  type Revisions,
} from './revision.js';

export interface DaysWanted {
  readonly series: string;
  /** ISO, in order. */
  readonly dates: readonly string[];
  /** Of the kind's divisibility: what was split under another one is not believed. Null: it is not proven. */
  readonly generation: string | null;
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

export interface ReadDaysOptions extends KeptWhere {
  readonly store: Pick<HistoryStore, 'heads' | 'contents'>;
  readonly isErased: Erasures['isErased'];
}

export function createReadDays(options: ReadDaysOptions): ReadDays {
  return (wanted) => guarded(options, () => readDays(options, wanted));
}

async function readDays(
  { store, isErased }: ReadDaysOptions,
  wanted: DaysWanted,
): Promise<readonly DayThen[]> {
  const { series, dates, generation, moment } = wanted;
  if (generation === null) throw notKept(NOT_PROVEN);
  const heads = (await store.heads(series, dates)).map(headsIn);
  const known = heads.map(({ revisions }) => believed(revisions, generation));
  const chosen = known.map((revisions) => knownAt(revisions, moment));
  if (chosen.includes(null)) throw notKnown(wanted, known);
  const days = (chosen as KnownThen[]).map((one, at) => ({ ...one, day: dates[at] as string }));
  const contents = await readContents(store, series, days);
  return days.map(({ day, ...one }, at) => {
    const entry = contents[at] ?? null;
    if (entry === null) throw lost(dates.filter((_date, place) => contents[place] === null));
    const { asked } = heads[at] as Heads;
    if (isErased({ ...one.revision, asked, held: entry.header.accounts })) throw notKept(erasedOf(day));
    return { ...one, entry };
  });
}

function notKnown(wanted: DaysWanted, known: readonly Revisions[]): GatewayError {
  const { dates, moment } = wanted;
  const unknown = dates.filter((_date, at) => knownAt(known[at] as Revisions, moment) === null);
  if (wanted.unknown !== undefined) return wanted.unknown(unknown);
  const first = Math.max(...known.map((revisions) => revisions[0]?.knownFrom ?? Number.POSITIVE_INFINITY));
  const since = Number.isFinite(first)
    ? `All of them are known from ${new Date(first).toISOString()} on: ask for that, or later.`
    : 'Some of them were never written down: ask for the report without _asOf, with cache-control: no-cache where the cache has them, and they are known from then on.';
  const then = typeof moment === 'object' ? `at ${new Date(moment.at).toISOString()} ` : '';
  return notKept(`Nothing was known ${then}of ${listed(unknown)}. ${since}`);
}

const NOT_PROVEN =
  'Reports of this kind have no history that may be shown: it is not proven yet, or was refuted, that they may be split by day. Ask for a few ranges of it as it is now; `dsp-gateway cache explain` says how far that is.';

function lost(dates: readonly string[]): GatewayError {
  return notKept(`What was known then of ${listed(dates)} can no longer be read.`);
}

function erasedOf(date: string): string {
  return `What was known then of ${date} was erased, with all else of its advertiser. Ask for the report without _asOf, and it is known from then on.`;
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
