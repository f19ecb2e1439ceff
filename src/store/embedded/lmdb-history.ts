/**
 * The history of reports in an environment of its own. The keys, where `series` stands as its digest (16 bytes):
 * `h` series · day: heads
 * `c` series · day · name: rows, see history-content.ts
 * `f` series · month · digest: facts of these
 * `m` month · series: that there is one; the value is the series
 */
import { hash } from 'node:crypto';
import { monthOf, packContent, unpackContent } from '../history-content.js';
import type { HistoryContent, HistoryMonth, HistoryStore, HistoryWrite } from '../history-port.js';
import type { Environment, RecordWrite, View } from './environment.js';
import { wholeTable } from './records.js';

/** The letters of the tables, in this order: heads, rows, facts, months. Two histories lie in one environment. */
export const HISTORY_TABLES = ['h', 'c', 'f', 'm'] as const;
export const PIN_TABLES = ['H', 'C', 'F', 'M'] as const;
/** Records that one transaction removes: others wait for it. */
const REMOVED_AT_ONCE = 500;

export function createLmdbHistory(
  environment: Pick<Environment, 'read' | 'write'>,
  tables: typeof HISTORY_TABLES | typeof PIN_TABLES,
): HistoryStore {
  const keys = keysOf(tables);
  const { headsKey, contentKey, factsKey, monthKey } = keys;
  const [HEADS, CONTENT, FACTS, MONTH] = tables;
  const toMonth = ({ key, value }: { key: Buffer; value: Buffer }): HistoryMonth => ({
    series: value.toString(),
    month: key.toString('latin1', MONTH.length, MONTH.length + 7),
  });

  function recordsFor(series: string, { day, heads, added, removed }: HistoryWrite): RecordWrite[] {
    const writes: RecordWrite[] = [{ key: headsKey(series, day), value: heads }];
    const month = monthKey(monthOf(day), series);
    const facts = new Map<string, RecordWrite>();
    for (const [name, content] of added) {
      const { bytes, digest } = packContent(content);
      writes.push({ key: contentKey(series, day, name), value: bytes });
      facts.set(digest, { key: factsKey(series, monthOf(day), digest), value: content.facts });
    }
    for (const name of removed) writes.push({ key: contentKey(series, day, name), value: null });
    const shared = [...facts.values(), { key: month, value: Buffer.from(series) }];
    return [...writes, ...environment.read((view) => shared.filter(({ key }) => !view.has(key)))];
  }

  async function removeRange(from: Buffer, to: Buffer): Promise<void> {
    for (;;) {
      const found = environment.read((view) => view.range({ from, to, limit: REMOVED_AT_ONCE }));
      if (found.length === 0) return;
      await environment.write(
        null,
        found.map(({ key }) => ({ key, value: null })),
      );
    }
  }

  return {
    roomBytes: () => null,
    heads: async (series, days) =>
      environment.read((view) =>
        days.map((day) => {
          const found = view.get(headsKey(series, day));
          return found && { stamp: found.stamp, heads: found.value };
        }),
      ),
    contents: async (series, wanted) =>
      environment.read((view) => wanted.map(({ day, name }) => contentOf(keys, view, series, day, name))),
    write: (series, writes) =>
      Promise.all(
        writes.map((one) => {
          const condition = { key: headsKey(series, one.day), stamp: one.stamp };
          return environment.write(condition, recordsFor(series, one));
        }),
      ),
    async months(after, limit) {
      const { from, to } = wholeTable(MONTH);
      const start =
        after === null ? from : Buffer.concat([monthKey(after.month, after.series), Buffer.of(0)]);
      return environment.read((view) => view.range({ from: start, to, limit })).map(toMonth);
    },
    async remove({ series, month }) {
      // Heads first: whoever reads in between finds nothing, and not half of it.
      for (const table of [HEADS, CONTENT, FACTS]) {
        const from = seriesKey(table, series, month);
        await removeRange(from, Buffer.concat([from, Buffer.of(0xff)]));
      }
      await environment.write(null, [{ key: monthKey(month, series), value: null }]);
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
  const found = unpackContent(view.get(contentKey(series, day, name))?.value);
  if (found === null) return null;
  const { digest, ...content } = found;
  const facts = view.get(factsKey(series, monthOf(day), digest))?.value;
  return facts === undefined ? null : { ...content, facts };
}

const digestOf = (series: string) => hash('sha256', series, 'buffer').subarray(0, 16);

/** @param rest what follows the series: a day, or the beginning of one */
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
