/** Rows of an answer as a table: columns once, each row a list in their order; sorting. Pure. */
import { GatewayError, invalidQuery } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import { compare, type Decimal, decimalOf } from '../rows/decimal.js';
import { holdsId, isAdditive } from '../rows/row-names.js';

export type Row = Readonly<Record<string, unknown>>;

export interface Table {
  /** Metadata. */
  readonly about: Row;
  readonly columns: readonly string[];
  readonly rowCount: number;
  /** Made lazily: a wide table is mostly empty cells. */
  readonly rows: Iterable<readonly unknown[]>;
  /** Columns that identify a row, where others change by the minute; absent: all. */
  readonly identity?: readonly string[];
}

export interface Sort {
  readonly column: string;
  readonly order?: 'asc' | 'desc' | undefined;
}

export const DOES_NOT_ADD_UP = 'does not add up';

/** Including empty cells. The largest accepted answer has three million members. */
const MAX_CELLS = 5_000_000;
const MAX_NAMED = 10;

/** In order of first occurrence. */
export function columnsOf(rows: readonly Row[]): string[] {
  const columns = new Set<string>();
  for (const row of rows) for (const name of Object.keys(row)) columns.add(name);
  return [...columns];
}

/** Absent members are null. */
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

/** A column of a single row adds a cell to every row. @throws GatewayError `upstream_too_large` */
export function checkSize(rows: readonly Row[], columns: readonly string[]): void {
  if (rows.length * columns.length <= MAX_CELLS) return;
  const named = columns.slice(0, MAX_NAMED).map((name) => name.slice(0, 40));
  throw new GatewayError('upstream_too_large', {
    detail: `The table has ${rows.length} rows and ${columns.length} columns, which is more than ${MAX_CELLS} cells.`,
    help: `Name the columns you need. Available: ${named.join(', ')} and others.`,
  });
}

/** Numeric columns that must not be added up over rows: people, rates, means. */
export function notAdditive(rows: readonly Row[], columns: readonly string[]): string[] {
  return columns.filter(
    (column) =>
      !isAdditive(column) &&
      !holdsId(column) &&
      rows.some((row) => Object.hasOwn(row, column) && typeof row[column] === 'number'),
  );
}

/**
 * Stable. Numbers, also as text, by value; after them, in either order, other texts by code unit, then absent values.
 * @throws GatewayError `invalid_query` for an unknown column
 */
export function sortRows(rows: readonly Row[], columns: readonly string[], sort: Sort | null) {
  if (sort === null || rows.length === 0) return { rows, isMixed: false };
  const { column, order = 'asc' } = sort;
  if (!columns.includes(column)) throw invalidQuery(mustBe('sort.column', `one of ${columns.join(', ')}`));
  const sign = order === 'asc' ? 1 : -1;
  const keys = rows.map((row) => keyOf(row, Object.hasOwn(row, column) ? row[column] : null));
  return {
    rows: keys.toSorted((one, other) => compareKeys(one, other, sign)).map(({ row }) => row),
    /** The column contains numbers, and texts without a numeric value such as `-` or `1,000.50`. */
    isMixed: keys.some(({ number }) => number !== null) && keys.some(({ text }) => text !== ''),
  };
}

interface SortKey {
  readonly row: Row;
  readonly number: Decimal | null;
  /** The nearest double: only equal ones need the exact comparison. */
  readonly near: number;
  /** Empty for other values. */
  readonly text: string;
  readonly rank: 0 | 1 | 2;
}

function keyOf(row: Row, value: unknown): SortKey {
  const number = decimalOf(value);
  if (number !== null) return { row, number, near: Number(value), text: '', rank: 0 };
  const isText = typeof value === 'string';
  return { row, number, near: 0, text: isText ? value : '', rank: isText ? 1 : 2 };
}

function compareKeys(one: SortKey, other: SortKey, sign: number): number {
  if (one.rank !== other.rank) return one.rank - other.rank;
  if (one.number !== null && other.number !== null) {
    if (one.near !== other.near) return one.near < other.near ? -sign : sign;
    return sign * compare(one.number, other.number);
  }
  return one.text < other.text ? -sign : one.text > other.text ? sign : 0;
}
