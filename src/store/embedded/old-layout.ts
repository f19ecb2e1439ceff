/** History and cache entries as earlier releases had them, on the disk. A later release removes this file. */
import type { RemovedLayout } from '../port.js';
import type { Generations } from './disk-cache.js';
import { wholeTable } from './records.js';
import { removeRange, type Table } from './table.js';

/** Heads, rows, facts; the marks of months last, so that those of a removal that broke off are counted. */
const [HISTORY, MONTHS] = [['h', 'c', 'f'], 'm'] as const;
/** Facts, pieces of bodies; entries last. */
const [CACHE, ENTRIES] = [['f', 'p'], 'e'] as const;
/** Records removed in one transaction: one may be large. */
const AT_ONCE = 100;

export async function removeOldLayout(
  history: Table,
  cache: Generations,
  isStopped: () => boolean,
): Promise<RemovedLayout> {
  const remove = async (table: Table, letters: readonly string[]) => {
    let last = 0;
    for (const letter of letters) {
      const { from, to } = wholeTable(letter);
      last = await removeRange(table, from, to, AT_ONCE, isStopped);
    }
    return last;
  };
  const months = await remove(history, [...HISTORY, MONTHS]);
  let cacheEntries = 0;
  for (const table of cache)
    if (table !== undefined) cacheEntries += await remove(table, [...CACHE, ENTRIES]);
  return { months, cacheEntries };
}
