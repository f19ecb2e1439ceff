/** Totals of the columns that may be summed. */
import { add, type Decimal, decimalOf, shownAs, ZERO } from '../report/decimal.js';
import { type Entry, ROW_SEPARATOR, type RowsHeader } from '../report/entry.js';
import { isAdditive, isMoney } from '../report/row-names.js';
import { turn } from '../time.js';
import { rowsIn } from './rows-of.js';

/** Rows that are added up in one turn of the event loop: about 2 ms. A day may have tens of thousands. */
const ROWS_A_TURN = 1_000;

/** @returns by column, in the order in which they stand; those that hold anything but numbers are left out */
export async function sumRows({
  body,
}: Pick<Entry<RowsHeader>, 'body'>): Promise<Record<string, number | string>> {
  const sums = new Map<string, Decimal | null>();
  const currencies = new Set<unknown>();
  const kinds = new Map<string, Kind>();
  const texts = body.toString().split(ROW_SEPARATOR);
  for (let at = 0; at < texts.length; at += ROWS_A_TURN) {
    await turn();
    for (const row of rowsIn(texts.slice(at, at + ROWS_A_TURN).join()))
      for (const [column, value] of row) {
        // To look into a name takes longer than to add.
        const kind = kinds.get(column) ?? kindOf(column);
        kinds.set(column, kind);
        if (kind === 'currency') currencies.add(value);
        if (kind !== 'additive' || value === null || sums.get(column) === null) continue;
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

type Kind = 'currency' | 'additive' | 'other';

function kindOf(column: string): Kind {
  if (/currency$/i.test(column)) return 'currency';
  return isAdditive(column) ? 'additive' : 'other';
}
