import { plainLine } from './plain-text.js';

export type Cell = string | number | null | undefined;

/** A text table; numbers are right-aligned. */
export function renderTable(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const cells = rows.map((row) => row.map(show));
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...cells.map((row) => (row[column] ?? '').length)),
  );
  const isNumeric = heads.map(
    (_, column) =>
      rows.length > 0 &&
      rows.every((row) => typeof row[column] === 'number' || (row[column] ?? null) === null),
  );
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) =>
        isNumeric[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return [line(heads), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line), ''].join('\n');
}

/** A member, or a heading with a member or a function of the row. */
type Column<T> = (keyof T & string) | readonly [head: string, cell: (keyof T & string) | ((row: T) => Cell)];
export type Columns<T> = readonly Column<T>[];

export function renderRows<T>(rows: readonly T[], columns: Columns<T>): string {
  const pairs = columns.map((column) => (typeof column === 'string' ? ([column, column] as const) : column));
  return renderTable(
    pairs.map(([head]) => head),
    rows.map((row) => pairs.map(([, cell]) => (typeof cell === 'string' ? (row[cell] as Cell) : cell(row)))),
  );
}

export function renderFields(fields: readonly (readonly [name: string, value: Cell])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${show(value)}\n`).join('');
}

/** A text beside its name, broken between words. @param columns of the terminal; undefined: one line */
export function renderHanging(name: string, text: string, columns = Number.POSITIVE_INFINITY): string {
  const indent = name.length + 2;
  return `${name}  ${linesOf(plainLine(text), columns - indent).join(`\n${' '.repeat(indent)}`)}\n`;
}

/** A text broken between words into lines of at most so many characters; a longer word has a line of its own. */
export function linesOf(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

function show(cell: Cell): string {
  if (cell === null || cell === undefined) return '–';
  return plainLine(String(cell));
}
