/** All that is known of some days: each revision with what became of it, what its rows add up to, and what is missing. */
import { type GatewayError, invalidQuery } from '../errors.js';
import type { RowsHeader } from '../report/entry.js';
import type { HistoryStore } from '../store/history-port.js';
import { isSameMethod } from './diff-days.js';
import type { Erasures } from './erasures.js';
import { guarded, type KeptWhere } from './guarded.js';
import { readContents } from './read-contents.js';
import { headsIn, type Revision } from './revision.js';
import { sumRows } from './sum-rows.js';

export interface RevisionsWanted {
  readonly series: string;
  /** ISO, in order. */
  readonly dates: readonly string[];
  /** Of the kind's divisibility: what was split under another one is void. */
  readonly generation: string;
  /** Whether it is proven that reports of the kind may be split at all. */
  readonly isProven: boolean;
}

export interface ListedRevision {
  readonly revision: Revision;
  /** first: of those that count · method: columns or token differ from the one before · void: counts no more */
  readonly kind: 'first' | 'changed' | 'method' | 'void';
  /** Why it counts no more. */
  readonly void: string | null;
  /** Null where there is nothing to add up: it is void, or its rows can no longer be read. */
  readonly totals: Readonly<Record<string, number | string>> | null;
}

export interface ListedDays {
  readonly days: readonly { readonly date: string; readonly revisions: readonly ListedRevision[] }[];
  /** Account ids in any of the rows. */
  readonly accounts: readonly string[];
}

/** @throws GatewayError `not_known_then`, `not_ready`; `invalid_query` where there are too many */
export type ListRevisions = (wanted: RevisionsWanted) => Promise<ListedDays>;

export interface ListRevisionsOptions extends KeptWhere {
  readonly store: Pick<HistoryStore, 'heads' | 'contents'>;
  readonly isErased: Erasures['isErased'];
}

const MOST_LISTED = 5_000;
const READ_AT_ONCE = 10;

export function createListRevisions(options: ListRevisionsOptions): ListRevisions {
  return (wanted) => guarded(options, () => list(options, wanted));
}

async function list({ store, isErased }: ListRevisionsOptions, wanted: RevisionsWanted): Promise<ListedDays> {
  const { series, dates } = wanted;
  const heads = await store.heads(series, dates);
  const all = heads.map(headsIn);
  // Where the report names no account, its rows have to be read to tell whether it was erased: see below.
  const found = all.map(({ asked, revisions }) =>
    revisions.filter((one) => asked.length === 0 || !isErased({ ...one, asked, held: [] })),
  );
  const count = found.reduce((sum, { length }) => sum + length, 0);
  if (count > MOST_LISTED) throw tooMany(count);
  const read = found.flatMap((revisions, at) =>
    revisions
      .filter((revision) => voidOf(revision, wanted) === null)
      .map((revision) => ({ day: dates[at] as string, revision, asked: all[at]?.asked ?? [] })),
  );
  const contents = new Map<Revision, Summed>();
  const erased = new Set<Revision>();
  for (let at = 0; at < read.length; at += READ_AT_ONCE) {
    const some = read.slice(at, at + READ_AT_ONCE);
    for (const [place, entry] of (await readContents(store, series, some)).entries()) {
      if (entry === null) continue;
      const { revision, asked } = some[place] as Read;
      const held = entry.header.accounts;
      if (isErased({ ...revision, asked, held })) erased.add(revision);
      else contents.set(revision, { header: entry.header, totals: await sumRows(entry) });
    }
  }
  const days = found.map((revisions, at) => ({
    date: dates[at] as string,
    revisions: judge(
      revisions.filter((one) => !erased.has(one)),
      contents,
      wanted,
    ),
  }));
  const accounts = [...contents.values()].flatMap(({ header }) => header.accounts);
  return { days, accounts: [...new Set(accounts)] };
}

interface Read {
  readonly day: string;
  readonly revision: Revision;
  readonly asked: readonly string[];
}

interface Summed {
  readonly header: RowsHeader;
  readonly totals: Readonly<Record<string, number | string>>;
}

function judge(
  revisions: readonly Revision[],
  contents: ReadonlyMap<Revision, Summed>,
  wanted: RevisionsWanted,
): ListedRevision[] {
  const shaped = (revision: Revision) => ({ revision, header: contents.get(revision)?.header ?? null });
  let before: Revision | null = null;
  return revisions.map((revision) => {
    const why = voidOf(revision, wanted);
    if (why !== null) return { revision, kind: 'void', void: why, totals: null };
    const isSame = before !== null && isSameMethod(shaped(before), shaped(revision));
    const kind = before === null ? 'first' : isSame ? 'changed' : 'method';
    before = revision;
    return { revision, kind, void: null, totals: contents.get(revision)?.totals ?? null };
  });
}

function voidOf(revision: Revision, { generation, isProven }: RevisionsWanted): string | null {
  if (revision.void !== undefined) return revision.void;
  if (revision.generation !== generation) return 'refuted';
  return isProven ? null : 'not_proven';
}

function tooMany(count: number): GatewayError {
  return invalidQuery({
    param: 'query.dateTo',
    message: `the period has ${count} revisions, and at most ${MOST_LISTED} are listed at once: ask for fewer days`,
  });
}
