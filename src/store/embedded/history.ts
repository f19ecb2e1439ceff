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
import { orDamaged, type View } from './environment.js';
import { wholeTable } from './records.js';
import { type Draft, removeRange, type Table } from './table.js';

/** The letters of the tables: heads, rows, facts, months. Old pins are stored alike, in the same environment. */
export const HISTORY_TABLES = ['h', 'c', 'f', 'm'] as const;
export const OLD_PIN_TABLES = ['H', 'C', 'F', 'M'] as const;

type Tables = typeof HISTORY_TABLES | typeof OLD_PIN_TABLES;

export function historyOver(table: Table, tables: Tables): HistoryStore {
  const [HEADS, CONTENT, FACTS, MONTH] = tables;
  const toMonth = ({ key, value }: { key: Buffer; value: Buffer }): HistoryMonth => ({
    series: value.toString(),
    month: key.toString('latin1', MONTH.length, MONTH.length + 7),
  });

  function writeDay(
    draft: Draft,
    { series, headsKey, contentKey, factsKey, monthKey }: SeriesKeys,
    { day, stamp, heads, added, removed }: HistoryWrite,
  ): boolean {
    const key = headsKey(day);
    if (draft.stampOf(key) !== stamp) return false;
    draft.set(key, heads);
    const setShared = (key: Buffer, value: () => Buffer) => draft.has(key) || draft.set(key, value());
    setShared(monthKey(monthOf(day)), () => Buffer.from(series));
    for (const [name, content] of added) {
      const { bytes, digest } = packContent(content);
      draft.set(contentKey(day, name), bytes);
      setShared(factsKey(monthOf(day), digest), () => content.facts);
    }
    for (const name of removed) draft.set(contentKey(day, name), null);
    return true;
  }

  return {
    roomBytes: () => null,
    async heads(series, days) {
      const { headsKey } = keysOf(tables, series);
      return table.read((view) =>
        days.map((day) => {
          const key = headsKey(day);
          const heads = view.get(key);
          return heads && { stamp: view.stampOf(key), heads };
        }),
      );
    },
    async contents(series, wanted) {
      const keys = keysOf(tables, series);
      return table.read((view) =>
        wanted.map(({ day, name }) => {
          const found = orDamaged(() => contentOf(keys, view, day, name));
          return found === 'damaged' ? null : found;
        }),
      );
    },
    write(series, writes) {
      const keys = keysOf(tables, series);
      return table.change((draft) => writes.map((one) => writeDay(draft, keys, one)));
    },
    async months(after, limit) {
      const { from, to } = wholeTable(MONTH);
      const start =
        after === null
          ? from
          : Buffer.concat([keysOf(tables, after.series).monthKey(after.month), Buffer.of(0)]);
      return table.read((view) => view.range({ from: start, to, limit })).map(toMonth);
    },
    async remove({ series, month }) {
      const { keyIn, monthKey } = keysOf(tables, series);
      // Heads first: a reader meanwhile finds nothing instead of a part.
      for (const letter of [HEADS, CONTENT, FACTS]) {
        const from = keyIn(letter)(month);
        await removeRange(table, from, Buffer.concat([from, Buffer.of(0xff)]));
      }
      await table.change((draft) => draft.set(monthKey(month), null));
    },
  };
}

function contentOf(
  { contentKey, factsKey }: SeriesKeys,
  view: View,
  day: string,
  name: string,
): HistoryContent | null {
  const found = unpackContent(view.get(contentKey(day, name)));
  if (found === null) return null;
  const { digest, ...content } = found;
  const facts = view.get(factsKey(monthOf(day), digest));
  return facts === null ? null : { ...content, facts };
}

type SeriesKeys = ReturnType<typeof keysOf>;

/** The keys of one series, whose digest is computed once. */
function keysOf([heads, content, facts, month]: Tables, series: string) {
  const digest = hash('sha256', series, 'buffer').subarray(0, 16);
  /** Makes keys of days, or of their beginnings. */
  const keyIn = (table: string) => {
    const start = Buffer.concat([Buffer.from(table), digest]);
    return (rest: string) => Buffer.concat([start, Buffer.from(rest)]);
  };
  const [contentIn, factsIn] = [keyIn(content), keyIn(facts)];
  return {
    series,
    keyIn,
    headsKey: keyIn(heads),
    contentKey: (day: string, name: string) => contentIn(`${day}:${name}`),
    factsKey: (of: string, digest: string) => factsIn(`${of}:${digest}`),
    monthKey: (of: string) => Buffer.concat([Buffer.from(month + of), digest]),
  };
}
