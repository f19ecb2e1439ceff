/** History, cache entries and pins as earlier releases had them, on the disk. A later release removes this file. */
import { hash } from 'node:crypto';
import { type OldPinRows, type OldPinStore, readOldRows } from '../pins-port.js';
import type { RemovedLayout } from '../port.js';
import type { Generations } from './disk-cache.js';
import { orDamaged, type View } from './environment.js';
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

// Old pins in the environment of the history. The keys, with the digest (16 bytes) of the owner:
// `H` owner · `2000-01-01`: the index
// `C` owner · `2000-01-01:` name: rows
// `F` owner · `2000-01:` digest: their facts
// `M` `2000-01` owner: marks an owner; the value is its name

const [MONTH, DAY] = ['2000-01', '2000-01-01'] as const;

export function oldPinsOver(table: Table): OldPinStore {
  return {
    async index(owner) {
      const { index } = keysOf(owner);
      return table.read((view) => {
        const bytes = view.get(index);
        return bytes && { stamp: view.stampOf(index), bytes };
      });
    },
    async rows(owner, names) {
      const keys = keysOf(owner);
      return table.read((view) =>
        names.map((name) => {
          const found = orDamaged(() => rowsIn(view, keys, name));
          return found === 'damaged' ? null : found;
        }),
      );
    },
    write(owner, { stamp, bytes }, removed) {
      const keys = keysOf(owner);
      return table.change((draft) => {
        if (draft.stampOf(keys.index) !== stamp) return false;
        draft.set(keys.index, bytes);
        for (const name of removed) draft.set(keys.rows(name), null);
        return true;
      });
    },
    async owners(after, limit) {
      const { from, to } = wholeTable('M');
      const start = after === null ? from : Buffer.concat([keysOf(after).mark, Buffer.of(0)]);
      return table
        .read((view) => view.range({ from: start, to, limit }))
        .map(({ value }) => value.toString());
    },
    async remove(owner) {
      const keys = keysOf(owner);
      // The index first: a reader meanwhile finds nothing instead of a part.
      for (const from of [keys.index, keys.rows(''), keys.facts('')])
        await removeRange(table, from, Buffer.concat([from, Buffer.of(0xff)]));
      await table.change((draft) => draft.set(keys.mark, null));
    },
  };
}

function rowsIn(view: View, keys: ReturnType<typeof keysOf>, name: string): OldPinRows | null {
  const found = readOldRows(view.get(keys.rows(name)));
  const facts = found && view.get(keys.facts(found.digest));
  return facts && { ...found, facts };
}

function keysOf(owner: string) {
  const digest = hash('sha256', owner, 'buffer').subarray(0, 16);
  const keyIn = (letter: string, rest: string) =>
    Buffer.concat([Buffer.from(letter), digest, Buffer.from(rest)]);
  return {
    index: keyIn('H', DAY),
    rows: (name: string) => keyIn('C', `${DAY}:${name}`),
    facts: (of: string) => keyIn('F', `${MONTH}:${of}`),
    mark: Buffer.concat([Buffer.from(`M${MONTH}`), digest]),
  };
}
