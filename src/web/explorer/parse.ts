/** Parses a large answer in parts, so that the page does not freeze. */
import type { ReportAnswer } from '../../api/operations/table.js';
import type { Answered } from './answered.js';

export type Cell = string | number | boolean | null | object;
export type Row = Readonly<Record<string, Cell | undefined>>;

/** The row's own member: a platform may name a column as a member that all objects have, `constructor`. */
export const cellOf = (row: Row, name: string): Cell | undefined =>
  Object.hasOwn(row, name) ? row[name] : undefined;

/** The row with further cells. Never by assignment: that of `__proto__` would be none. */
export const rowWith = (row: Row, cells: Iterable<readonly [string, Cell | undefined]>): Row => ({
  ...row,
  ...Object.fromEntries(cells),
});

/** Totals have the platform's form: for some reports a list. */
export type Meta = Omit<ReportAnswer['meta'], 'totals'> & {
  readonly totals?: Row | readonly Row[] | null;
};

export interface Report {
  readonly rows: readonly Row[];
  readonly meta: Meta;
  /** Absent: the numbers are kept as they were. */
  readonly answered?: Answered;
}

const HEAD = '{"data":[';
const LINES_AT_ONCE = 2_000;

/**
 * The gateway writes one row per line, without line breaks in rows.
 * @param rest called between parts
 */
export async function parseReport(text: string, rest: () => Promise<void>): Promise<Report> {
  const end = text.lastIndexOf('],"meta":');
  if (text.length < 500_000 || !text.startsWith(HEAD) || end < 0) return whole(text);
  const rows: Row[] = [];
  try {
    for (let at = HEAD.length; at < end; ) {
      let to = at;
      for (let line = 0; line < LINES_AT_ONCE && to < end; line++) {
        const next = text.indexOf(',\n', to);
        to = next < 0 || next > end ? end : next + 2;
      }
      const lines = text.slice(at, to).replace(/,\n$/, '');
      for (const row of JSON.parse(`[${lines}]`) as Row[]) rows.push(row);
      at = to;
      await rest();
    }
    const { meta } = JSON.parse(`{${text.slice(end + 2)}`) as Report;
    return { rows, meta };
  } catch {
    // The answer has another form.
    return whole(text);
  }
}

function whole(text: string): Report {
  const { data, meta } = JSON.parse(text) as { data: Row[] | Row | null; meta: Meta };
  return { rows: Array.isArray(data) ? data : data === null ? [] : [data], meta };
}

/** Lets the browser paint and handle events. */
export const breathe = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
