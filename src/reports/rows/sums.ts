/** Sums of the columns whose values add up, and the totals of the platform that are not the sums of the rows. Pure. */
import { abs, add, compare, type Decimal, decimalOf, isSame, subtract, ZERO } from './decimal.js';
import { isAdditive, isMoney } from './row-names.js';

/** A row: values by name, in order. Normalised: numbers are exact. */
export type Row = ReadonlyMap<string, unknown>;

interface Sum {
  readonly sum: Decimal;
  /** Rows with a number. */
  readonly count: number;
}

export interface Sums {
  readonly rowCount: number;
  /** Of columns whose names say that they add up; null: a value is no number. */
  readonly columns: ReadonlyMap<string, Sum | null>;
  /** Values of currency columns. */
  readonly currencies: ReadonlySet<unknown>;
}

type Kind = 'currency' | 'additive' | 'other';

function kindOf(column: string): Kind {
  if (/currency$/i.test(column)) return 'currency';
  return isAdditive(column) ? 'additive' : 'other';
}

/** Adds up rows as they come. */
export function startSums() {
  let rowCount = 0;
  const columns = new Map<string, Sum | null>();
  const currencies = new Set<unknown>();
  const kinds = new Map<string, Kind>();
  return {
    add(row: Row): void {
      rowCount += 1;
      for (const [column, value] of row) {
        // Cached: classifying a name is slower than adding.
        const kind = kinds.get(column) ?? kindOf(column);
        kinds.set(column, kind);
        if (kind === 'currency') currencies.add(value);
        if (kind !== 'additive' || value === null || columns.get(column) === null) continue;
        const { sum, count } = columns.get(column) ?? NONE;
        const number = decimalOf(value);
        columns.set(column, number === null ? null : { sum: add(sum, number), count: count + 1 });
      }
    },
    sums: (): Sums => ({ rowCount, columns, currencies }),
  };
}

const NONE: Sum = { sum: ZERO, count: 0 };

export function joinSums(all: readonly Sums[]): Sums {
  const columns = new Map<string, Sum | null>();
  for (const [column, one] of all.flatMap((sums) => [...sums.columns])) {
    const known = columns.get(column) ?? NONE;
    const isKnown = one !== null && columns.get(column) !== null;
    columns.set(column, isKnown ? { sum: add(known.sum, one.sum), count: known.count + one.count } : null);
  }
  return {
    rowCount: all.reduce((count, sums) => count + sums.rowCount, 0),
    columns,
    currencies: new Set(all.flatMap(({ currencies }) => [...currencies])),
  };
}

/** Sums that mean something: amounts of several currencies have none. */
export function sumsShown({ columns, currencies }: Sums): [column: string, sum: Decimal][] {
  const isMixed = currencies.size > 1;
  return [...columns].flatMap(([column, one]): [string, Decimal][] =>
    one === null || (isMixed && isMoney(column)) ? [] : [[column, one.sum]],
  );
}

export interface Apart {
  readonly column: string;
  readonly total: Decimal;
  /** Of the rows. */
  readonly sum: Decimal;
}

/**
 * @param totals of the row of totals
 * @returns columns whose total is not the sum of the rows; none where a row lacks the number, or rounding may be the reason
 */
export function apartFrom(rows: Sums, totals: Sums): readonly Apart[] {
  const both = joinSums([rows, totals]);
  return sumsShown(both).flatMap(([column]): Apart[] => {
    const [ofRows, ofTotals] = [rows.columns.get(column) ?? NONE, totals.columns.get(column)];
    if (ofTotals?.count !== 1 || ofRows.count !== rows.rowCount) return [];
    const [{ sum }, { sum: total }] = [ofRows, ofTotals];
    return isRounding(subtract(total, sum), ofRows, total) ? [] : [{ column, total, sum }];
  });
}

/** Beyond the digits of a double. */
const RELATIVE_SCALE = 12;

/** Whether rows and total may be rounded numbers that add up. Whole numbers are counts, and exact. */
function isRounding(difference: Decimal, { sum, count }: Sum, total: Decimal): boolean {
  if (sum.scale === 0 && total.scale === 0) return isSame(difference, ZERO);
  // Each number may be off by half of its last place.
  const rows = { units: 5n * BigInt(count), scale: sum.scale + 1 };
  const own = { units: 5n, scale: total.scale + 1 };
  const relative = { units: abs(sum.units), scale: sum.scale + RELATIVE_SCALE };
  const most = add(add(rows, own), relative);
  return compare({ ...difference, units: abs(difference.units) }, most) <= 0;
}
