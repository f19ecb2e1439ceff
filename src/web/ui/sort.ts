/** @returns a new list, stably sorted; null comes last in both directions */
export function sortedBy<Row>(
  rows: readonly Row[],
  by: (row: Row) => string | number | null,
  down: boolean,
): Row[] {
  const sign = down ? -1 : 1;
  return rows
    .map((row) => [by(row), row] as const)
    .sort(([a], [b]) => {
      if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
      if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
      return sign * String(a).localeCompare(String(b), 'en', { numeric: true });
    })
    .map(([, row]) => row);
}
