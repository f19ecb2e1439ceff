/** Rows of revisions, whichever of a day. */
import { decodeEntries } from '../cache/entry.js';
import { type Entry, isEntryHeader, type RowsHeader } from '../report/entry.js';
import type { HistoryStore } from '../store/history-port.js';
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
  const found = contents.flatMap((entry, at) =>
    entry === null ? [] : [{ at, id: contentName(series, wanted[at]?.day as string), entry }],
  );
  const rows: (Entry<RowsHeader> | null)[] = wanted.map(() => null);
  for (const [place, decoded] of (await decodeEntries(found)).entries()) {
    if (typeof decoded === 'string' || !isEntryHeader(decoded.header) || decoded.header.form !== 'rows')
      continue;
    rows[found[place]?.at as number] = decoded as Entry<RowsHeader>;
  }
  return rows;
}
