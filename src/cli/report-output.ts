/** What the data plane said of reports, for people, for scripts and for files. */
import { toCsv } from '../reports/rows/row-formats.js';
import { CommandError } from './command-error.js';
import { EXIT } from './exit-codes.js';
import { plainJson, plainText } from './plain-text.js';
import { type Cell, renderTable } from './table.js';
import type { TeamOptions } from './team-client.js';
import type { Terminal } from './terminal.js';

export type Row = Readonly<Record<string, unknown>>;

/** @throws CommandError when it is no answer of the data plane */
export function parseAnswer(text: string): { readonly data: readonly Row[]; readonly meta: Row } {
  try {
    const value = JSON.parse(text) as { data?: unknown; meta?: unknown };
    if (Array.isArray(value.data)) return { data: value.data as Row[], meta: (value.meta ?? {}) as Row };
  } catch {
    // Said below.
  }
  throw new CommandError('what answers there is no data plane of a gateway', EXIT.unavailable);
}

/** @param rows for a table, with the same members in each */
export function showRows(
  terminal: Terminal,
  options: TeamOptions,
  answer: string,
  rows: readonly Row[],
): void {
  const columns = [...new Set(rows.flatMap(Object.keys))];
  if (options.json) terminal.print(`${plainJson(JSON.parse(answer), 2)}\n`);
  else if (options.csv)
    terminal.print(toCsv(rows.map((row) => JSON.stringify(row)).join(',\n'), columns, { bom: false }));
  else if (rows.length === 0) terminal.print('nothing\n');
  else
    terminal.print(
      plainText(
        renderTable(
          columns,
          rows.map((row) => columns.map((column) => cellOf(row[column]))),
        ),
      ),
    );
}

function cellOf(value: unknown): Cell {
  if (value === null || value === undefined) return null;
  return typeof value === 'number' || typeof value === 'string' ? value : JSON.stringify(value);
}
