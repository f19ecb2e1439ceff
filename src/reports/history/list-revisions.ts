/** All that is known of some days: each revision with what became of it, what its rows add up to, and what is missing. */
import { type GatewayError, invalidQuery } from '../../errors.js';
import type { RowsHeader } from '../rows/entry.js';
import { isSameMethod } from './diff-days.js';
import { guarded, type Readable, readContents, sumRows } from './read.js';
import { type Heads, headsIn, type Revision } from './revision.js';

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

const MOST_LISTED = 5_000;
const READ_AT_ONCE = 10;

/** @throws GatewayError `not_known_then`, `not_ready`; `invalid_query` where there are too many */
export async function listRevisions(g: Readable, wanted: RevisionsWanted): Promise<ListedDays> {
  const { series, dates } = wanted;
  return guarded(g, async () => {
    const heads = (await g.store.heads(series, dates)).map(headsIn);
    const known = heads.map(({ asked, revisions }) =>
      // Where the report names no account, its rows have to be read to tell whether it was erased: see readSums.
      revisions.filter((one) => asked.length === 0 || !g.isErased({ ...one, asked, held: [] })),
    );
    const count = known.flat().length;
    if (count > MOST_LISTED) throw tooMany(count);
    const wantedRows = known.flatMap((revisions, at) =>
      revisions
        .filter((revision) => voidOf(revision, wanted) === null)
        .map((revision) => ({ day: dates[at] as string, revision, asked: (heads[at] as Heads).asked })),
    );
    const { sums, erased } = await readSums(g, series, wantedRows);
    const days = known.map((revisions, at) => {
      const shown = revisions.filter((one) => !erased.has(one));
      return { date: dates[at] as string, revisions: judge(shown, sums, wanted) };
    });
    const accounts = [...sums.values()].flatMap(({ header }) => header.accounts);
    return { days, accounts: [...new Set(accounts)] };
  });
}

interface Summed {
  readonly header: RowsHeader;
  readonly totals: Readonly<Record<string, number | string>>;
}

/** @returns by revision, of those whose rows can be read; and those that were erased */
async function readSums(
  { store, isErased }: Readable,
  series: string,
  wanted: readonly { readonly day: string; readonly revision: Revision; readonly asked: readonly string[] }[],
) {
  const sums = new Map<Revision, Summed>();
  const erased = new Set<Revision>();
  for (let from = 0; from < wanted.length; from += READ_AT_ONCE) {
    const some = wanted.slice(from, from + READ_AT_ONCE);
    const entries = await readContents(store, series, some);
    for (const [at, { revision, asked }] of some.entries()) {
      const entry = entries[at] ?? null;
      if (entry === null) continue;
      const { header } = entry;
      if (isErased({ ...revision, asked, held: header.accounts })) erased.add(revision);
      else sums.set(revision, { header, totals: await sumRows(entry) });
    }
  }
  return { sums, erased };
}

function judge(
  revisions: readonly Revision[],
  sums: ReadonlyMap<Revision, Summed>,
  wanted: RevisionsWanted,
): ListedRevision[] {
  const shaped = (revision: Revision) => ({ revision, header: sums.get(revision)?.header ?? null });
  let before: Revision | null = null;
  return revisions.map((revision) => {
    const why = voidOf(revision, wanted);
    if (why !== null) return { revision, kind: 'void', void: why, totals: null };
    const isSame = before !== null && isSameMethod(shaped(before), shaped(revision));
    const kind = before === null ? 'first' : isSame ? 'changed' : 'method';
    before = revision;
    return { revision, kind, void: null, totals: sums.get(revision)?.totals ?? null };
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
