/** Rows as NDJSON: one JSON text a line. */

/**
 * @param rowsText rows as compact JSON, joined by `,\n`; a raw line break stands nowhere else in compact JSON
 * @returns one row a line, every line ended by `\n`; empty when there are no rows
 */
export function toNdjson(rowsText: string): string {
  return rowsText === '' ? '' : `${rowsText.replaceAll(',\n', '\n')}\n`;
}
