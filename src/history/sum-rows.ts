/** Totals of the columns that may be summed. Pure. */
import { add, type Decimal, decimalOf, shownAs, ZERO } from '../report/decimal.js';
import { isAdditive, isMoney } from '../report/row-names.js';
import type { Row } from './rows-of.js';

/** @returns by column, in the order in which they stand; those that hold anything but numbers are left out */
export function sumRows(rows: readonly Row[]): Record<string, number | string> {
  const sums = new Map<string, Decimal | null>();
  const currencies = new Set<unknown>();
  for (const row of rows) {
    for (const [column, value] of row) {
      if (/currency$/i.test(column)) currencies.add(value);
      if (!isAdditive(column) || value === null || sums.get(column) === null) continue;
      const number = decimalOf(value);
      sums.set(column, number === null ? null : add(sums.get(column) ?? ZERO, number));
    }
  }
  const isMixed = currencies.size > 1;
  return Object.fromEntries(
    [...sums].flatMap(([column, sum]) =>
      sum === null || (isMixed && isMoney(column)) ? [] : [[column, shownAs(sum)]],
    ),
  );
}
