/** Columns for people: as wide as their widest cell, numbers to the right. */
export function renderTable(
  heads: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
): string {
  const cells = rows.map((row) => row.map((cell) => (cell === null ? '–' : String(cell))));
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...cells.map((row) => (row[column] ?? '').length)),
  );
  const isNumeric = heads.map(
    (_, column) =>
      rows.length > 0 && rows.every((row) => typeof row[column] === 'number' || row[column] === null),
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
