/**
 * The history of reports in its own environment. The keys, with the digest (16 bytes) of `series`:
 * `h` series · day: heads
 * `c` series · day · name: rows, see history-content.ts
 * `f` series · month · digest: their facts
 * `m` month · series: marks a month; the value is the series
 */
import { hash } from 'node:crypto';
import { monthOf, packContent, unpackContent } from '../history-content.js';
import type { HistoryContent, HistoryMonth, HistoryStore, HistoryWrite } from '../history-port.js';
import type { View } from './environment.js';
import { wholeTable } from './records.js';
import type { Draft, Table } from './table.js';

/** The letters of the tables: heads, rows, facts, months. Two histories share one environment. */
export const HISTORY_TABLES = ['h', 'c', 'f', 'm'] as const;
export const PIN_TABLES = ['H', 'C', 'F', 'M'] as const;
/** Records removed in one transaction, as others wait for it. */
const REMOVED_AT_ONCE = 500;

export function historyOver(table: Table, tables: typeof HISTORY_TABLES | typeof PIN_TABLES): HistoryStore {
  const keys = keysOf(tables);
  const { headsKey, contentKey, factsKey, monthKey } = keys;
  const [HEADS, CONTENT, FACTS, MONTH] = tables;
  const toMonth = ({ key, value }: { key: Buffer; value: Buffer }): HistoryMonth => ({
    series: value.toString(),
    month: key.toString('latin1', MONTH.length, MONTH.length + 7),
  });

  function writeDay(
    draft: Draft,
    series: string,
    { day, stamp, heads, added, removed }: HistoryWrite,
  ): boolean {
    if (draft.stampOf(headsKey(series, day)) !== stamp) return false;
    draft.set(headsKey(series, day), heads);
    const setShared = (key: Buffer, value: Buffer) => draft.has(key) || draft.set(key, value);
    setShared(monthKey(monthOf(day), series), Buffer.from(series));
    for (const [name, content] of added) {
      const { bytes, digest } = packContent(content);
      draft.set(contentKey(series, day, name), bytes);
      setShared(factsKey(series, monthOf(day), digest), content.facts);
    }
    for (const name of removed) draft.set(contentKey(series, day, name), null);
    return true;
  }

  async function removeRange(from: Buffer, to: Buffer): Promise<void> {
    for (let removed = REMOVED_AT_ONCE; removed === REMOVED_AT_ONCE; )
      removed = await table.change((draft) => {
        const found = draft.range({ from, to }, REMOVED_AT_ONCE);
        for (const { key } of found) draft.set(key, null);
        return found.length;
      });
  }

  return {
    roomBytes: () => null,
    heads: async (series, days) =>
      table.read((view) =>
        days.map((day) => {
          const key = headsKey(series, day);
          const heads = view.get(key);
          return heads && { stamp: view.stampOf(key), heads };
        }),
      ),
    contents: async (series, wanted) =>
      table.read((view) => wanted.map(({ day, name }) => contentOf(keys, view, series, day, name))),
    write: (series, writes) => table.change((draft) => writes.map((one) => writeDay(draft, series, one))),
    async months(after, limit) {
      const { from, to } = wholeTable(MONTH);
      const start =
        after === null ? from : Buffer.concat([monthKey(after.month, after.series), Buffer.of(0)]);
      return table.read((view) => view.range({ from: start, to, limit })).map(toMonth);
    },
    async remove({ series, month }) {
      // Heads first: a reader meanwhile finds nothing instead of a part.
      for (const letter of [HEADS, CONTENT, FACTS]) {
        const from = seriesKey(letter, series, month);
        await removeRange(from, Buffer.concat([from, Buffer.of(0xff)]));
      }
      await table.change((draft) => draft.set(monthKey(month, series), null));
    },
  };
}

function contentOf(
  { contentKey, factsKey }: TableKeys,
  view: View,
  series: string,
  day: string,
  name: string,
): HistoryContent | null {
  const found = unpackContent(view.get(contentKey(series, day, name)));
  if (found === null) return null;
  const { digest, ...content } = found;
  const facts = view.get(factsKey(series, monthOf(day), digest));
  return facts === null ? null : { ...content, facts };
}

const digestOf = (series: string) => hash('sha256', series, 'buffer').subarray(0, 16);

/** @param rest a day, or the beginning of one */
function seriesKey(table: string, series: string, rest: string): Buffer {
  return Buffer.concat([Buffer.from(table), digestOf(series), Buffer.from(rest)]);
}

type TableKeys = ReturnType<typeof keysOf>;

function keysOf([heads, content, facts, month]: readonly string[]) {
  return {
    headsKey: (series: string, day: string) => seriesKey(heads as string, series, day),
    contentKey: (series: string, day: string, name: string) =>
      seriesKey(content as string, series, `${day}:${name}`),
    factsKey: (series: string, of: string, digest: string) =>
      seriesKey(facts as string, series, `${of}:${digest}`),
    monthKey: (of: string, series: string) => Buffer.concat([Buffer.from(month + of), digestOf(series)]),
  };
}
