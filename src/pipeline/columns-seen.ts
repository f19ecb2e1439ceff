/** Columns that answers of a report had before: one that is there at times only must not become a fault when it is not. */
import { createLastUsed } from '../last-used.js';
import type { Entry } from '../report/entry.js';

export interface ColumnsSeen {
  /** Adds those of an answer. @returns all that were seen of the series */
  add(series: string, parts: readonly Entry[]): ReadonlySet<string>;
}

const MAX_SERIES = 2000;
/** Rows that each bring names of their own would take room without end. */
const MAX_COLUMNS = 500;

interface Seen {
  readonly columns: Set<string>;
  /** The list that was added last: days of an answer share theirs. */
  last: readonly string[] | null;
}

export function createColumnsSeen(): ColumnsSeen {
  const bySeries = createLastUsed<Seen>(MAX_SERIES);
  return {
    add(series, parts) {
      const seen = bySeries.get(series) ?? { columns: new Set(), last: null };
      bySeries.set(series, seen);
      for (const { header } of parts) {
        if (header.form !== 'rows' || header.columns === seen.last) continue;
        seen.last = header.columns;
        for (const column of header.columns) if (seen.columns.size < MAX_COLUMNS) seen.columns.add(column);
      }
      return seen.columns;
    },
  };
}
