/** Reads the gateway's CSV (RFC 4180) back into rows, as a spreadsheet would. */

const NUMBERS: readonly string[] = ['campaignId', 'advertiserId', 'impressions', 'clicks', 'spent', 'reach'];

/** @throws when it is not what RFC 4180 allows */
export function csvRows(text: string): Record<string, unknown>[] {
  const [header = [], ...lines] = records(text);
  return lines.map((cells) => {
    if (cells.length !== header.length) throw new Error(`a line has ${cells.length} cells`);
    return Object.fromEntries(
      header.map((name, index) => {
        const cell = cells[index] as string;
        // A text that a spreadsheet would take for a formula is led by an apostrophe.
        return [name, NUMBERS.includes(name) ? Number(cell) : cell.replace(/^'(?=[=+\-@])/, '')];
      }),
    );
  });
}

function records(text: string): string[][] {
  const all: string[][] = [];
  let at = 0;
  while (at < text.length) {
    const cells: string[] = [];
    for (;;) {
      const match = /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/.exec(text.slice(at));
      if (match === null) throw new Error(`no cell at ${at}`);
      at += match[0].length;
      cells.push(match[1]?.replaceAll('""', '"') ?? (match[2] as string));
      if (match[3] !== ',') break;
    }
    all.push(cells);
  }
  return all;
}
