/** CSV files of the gateway as one, with the advertiser of each. Pure. */

/** The CSV of one advertiser, as the gateway wrote it. */
export interface CsvPart {
  readonly id: string;
  readonly name: string | null;
  readonly text: string;
}

const OWN = ['advertiserId', 'advertiserName'] as const;

/**
 * @returns RFC 4180 with a header line: the gateway's columns, with id and name of the advertiser in front where they are
 *   not among them. Cells stay as the gateway wrote them; it has made them safe for spreadsheets
 */
export function joinCsv(parts: readonly CsvPart[]): string {
  const tables = parts.map((part) => ({ ...part, lines: parseCsv(part.text.replace(/^\ufeff/, '')) }));
  const known = [...new Set(tables.flatMap(({ lines }) => lines[0] ?? []))];
  const columns = [...OWN.filter((name) => !known.includes(name)), ...known];
  const records = tables.flatMap(({ id, name, lines: [head = [], ...rows] }) => {
    // No plain object: a platform's column may have the name of a member that all objects have.
    const own = new Map<string, string>([
      ['advertiserId', id],
      ['advertiserName', safe(name ?? '')],
    ]);
    const places = columns.map((column) => [head.indexOf(column), own.get(column) ?? ''] as const);
    return rows.map((row) => places.map(([at, absent]) => (at < 0 ? absent : (row[at] ?? ''))));
  });
  return records.length === 0 ? '' : csvOf([columns, ...records]);
}

/** A text that a spreadsheet could take for a formula, as the gateway's CSV has it. */
export const safe = (text: string): string => (/^[=+\-@\p{Cc}]/u.test(text) ? `'${text}` : text);

export const csvOf = (records: readonly (readonly string[])[]): string =>
  records.map((cells) => `${cells.map(quoted).join()}\r\n`).join('');

const quoted = (text: string): string =>
  /[",;\t\r\n]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

/** @returns records of cells, without quotes */
export function parseCsv(text: string): string[][] {
  const records: string[][] = [];
  let cells: string[] = [];
  const CELL = /(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r\n|\n|$)/gy;
  while (CELL.lastIndex < text.length) {
    const found = CELL.exec(text);
    if (found === null) throw new Error('the CSV of the gateway cannot be read');
    const [, inQuotes, plain = '', end] = found;
    cells.push(inQuotes?.replaceAll('""', '"') ?? plain);
    if (end === ',' && CELL.lastIndex < text.length) continue;
    if (end === ',') cells.push('');
    records.push(cells);
    cells = [];
  }
  return records;
}
