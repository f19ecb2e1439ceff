/** Rows of a kept day as values. They were normalised before they were kept: what is a number there, JSON holds exactly. */
import type { Entry, RowsHeader } from '../report/entry.js';

/** A row: names and values, in its own order. */
export type Row = ReadonlyMap<string, unknown>;

export function rowsOf({ body }: Pick<Entry<RowsHeader>, 'body'>): Row[] {
  return rowsIn(body.toString());
}

/** @param text rows with commas between them */
export function rowsIn(text: string): Row[] {
  const rows = JSON.parse(`[${text}]`) as object[];
  return rows.map((row) => new Map(Object.entries(row)));
}
