/** Rows as NDJSON: one JSON text a line. */

/**
 * @param rowsText rows as compact JSON, joined by `,\n`; a raw line break stands nowhere else in compact JSON
 * @returns one row a line, every line ended by `\n`; empty when there are no rows
 */
export function toNdjson(rowsText: string): string {
  if (rowsText === '') return '';
  const lines = rowsText.replaceAll(',\n', '\n');
  return `${lines.replace(UNICODE_BREAKS, escapeBreak)}\n`;
}

/** JSON allows them raw in texts, and many readers of lines end a line there. They stand nowhere else in JSON. */
const UNICODE_BREAKS = /[\u0085\u2028\u2029]/g;

function escapeBreak(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
