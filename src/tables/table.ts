/** Rows of an answer as a table: columns once, each row a list in their order; sorted where that is asked for. Pure. */
import { GatewayError, invalidQuery } from '../errors.js';
import { holdsId, isAdditive } from '../report/row-names.js';

export type Row = Readonly<Record<string, unknown>>;

/** Members about it, and rows as lists in the order of `columns`. */
export interface Table {
  readonly about: Readonly<Record<string, unknown>>;
  readonly columns: readonly string[];
  readonly rowCount: number;
  /** Each made when it is reached: a wide table is mostly empty cells. */
  readonly rows: Iterable<readonly unknown[]>;
}

export interface Sort {
  readonly column: string;
  readonly order?: 'asc' | 'desc' | undefined;
}

export const DOES_NOT_ADD_UP = 'does not add up';

/** Empty ones too. The largest answer that is taken has three million members. */
const MAX_CELLS = 5_000_000;
const MOST_NAMED = 10;

/** @returns every column that any row has, in the order in which they come */
export function columnsOf(rows: readonly Row[]): string[] {
  const columns = new Set<string>();
  for (const row of rows) for (const name of Object.keys(row)) columns.add(name);
  return [...columns];
}

/** What a row lacks is null. */
export function tableOf(
  about: Table['about'],
  rows: readonly Row[],
  columns: readonly string[] = columnsOf(rows),
): Table {
  return { about, columns, rowCount: rows.length, rows: listsOf(rows, columns) };
}

function* listsOf(rows: readonly Row[], columns: readonly string[]): Iterable<readonly unknown[]> {
  for (const row of rows) yield columns.map((column) => (Object.hasOwn(row, column) ? row[column] : null));
}

/**
 * Rows may bring columns that no other has, and each makes a cell in every row.
 * @throws GatewayError `upstream_too_large`
 */
export function checkSize(rows: readonly Row[], columns: readonly string[]): void {
  if (rows.length * columns.length <= MAX_CELLS) return;
  const named = columns.slice(0, MOST_NAMED).map((name) => name.slice(0, 40));
  throw new GatewayError('upstream_too_large', {
    detail: `A table of ${rows.length} rows and ${columns.length} columns has more than ${MAX_CELLS} cells, most of them empty.`,
    help: `Name the columns you need; there are ${named.join(', ')} and others.`,
  });
}

/** Columns of numbers that must not be added up over rows: people, rates, means. */
export function notAdditive(rows: readonly Row[], columns: readonly string[]): string[] {
  return columns.filter(
    (column) =>
      !isAdditive(column) &&
      !holdsId(column) &&
      rows.some((row) => Object.hasOwn(row, column) && typeof row[column] === 'number'),
  );
}

/**
 * Numbers by value, then texts by code unit, then what is absent; equal ones stay in their order.
 * @throws GatewayError `invalid_query` for a column that no row has
 */
export function sortRows(
  rows: readonly Row[],
  columns: readonly string[],
  sort: Sort | null,
): readonly Row[] {
  if (sort === null || rows.length === 0) return rows;
  const { column, order = 'asc' } = sort;
  if (!columns.includes(column))
    throw invalidQuery({ param: 'sort.column', message: `must be one of ${columns.join(', ')}` });
  const sign = order === 'asc' ? 1 : -1;
  return rows.toSorted((one, other) => compare(one[column], other[column], sign));
}

function compare(one: unknown, other: unknown, sign: number): number {
  const [a, b] = [rankOf(one), rankOf(other)];
  if (a !== b) return a - b;
  if (a === 0) return sign * ((one as number) - (other as number));
  if (a > 1) return 0;
  const [x, y] = [one as string, other as string];
  return x < y ? -sign : x > y ? sign : 0;
}

function rankOf(value: unknown): 0 | 1 | 2 {
  return typeof value === 'number' ? 0 : typeof value === 'string' ? 1 : 2;
}
