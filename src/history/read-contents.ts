/** Rows of revisions, whichever of a day. */
import { decodeEntries } from '../cache/entry.js';
import { type Entry, isEntryHeader, type RowsHeader } from '../report/entry.js';
import type { HistoryContent, HistoryStore } from '../store/history-port.js';
import { contentName } from './content-name.js';
import type { Revision } from './revision.js';

/** @returns in their order; null for what is gone or damaged. @throws StoreUnavailable */
export async function readContents(
  store: Pick<HistoryStore, 'contents'>,
  series: string,
  wanted: readonly { readonly day: string; readonly revision: Pick<Revision, 'id'> }[],
): Promise<(Entry<RowsHeader> | null)[]> {
  const contents = await store.contents(
    series,
    wanted.map(({ day, revision }) => ({ day, name: revision.id })),
  );
  return decodeContents(contents, (at) => contentName(series, wanted[at]?.day as string));
}

/**
 * Rows as the store has them.
 * @param nameAt under which the rows at a place were sealed
 * @returns in their order; null for what is gone or damaged
 */
export async function decodeContents(
  contents: readonly (HistoryContent | null)[],
  nameAt: (at: number) => string,
): Promise<(Entry<RowsHeader> | null)[]> {
  const found = contents.flatMap((entry, at) => (entry === null ? [] : [{ at, id: nameAt(at), entry }]));
  const rows: (Entry<RowsHeader> | null)[] = contents.map(() => null);
  for (const [place, decoded] of (await decodeEntries(found)).entries()) {
    if (typeof decoded === 'string' || !isEntryHeader(decoded.header) || decoded.header.form !== 'rows')
      continue;
    rows[found[place]?.at as number] = decoded as Entry<RowsHeader>;
  }
  return rows;
}
