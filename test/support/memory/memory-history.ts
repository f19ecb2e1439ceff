import { newStamp } from '../../../src/store/entry-stamp.js';
import type {
  HistoryContent,
  HistoryHeads,
  HistoryMonth,
  HistoryStore,
} from '../../../src/store/history-port.js';
import type { SavedMap } from './saved-map.js';

/** One day: its heads, and its contents by their names. */
export interface MemoryDay extends HistoryHeads {
  readonly series: string;
  readonly day: string;
  readonly contents: ReadonlyMap<string, HistoryContent>;
}

/** The history within this process. */
export function createMemoryHistory(days: SavedMap<MemoryDay>): HistoryStore {
  const nameOf = (series: string, day: string) => JSON.stringify([series, day]);
  const monthOf = ({ series, day }: MemoryDay): HistoryMonth => ({ series, month: day.slice(0, 7) });
  const orderOf = ({ series, month }: HistoryMonth) => `${month} ${series}`;

  return {
    roomBytes: () => null,
    heads: async (series, wanted) =>
      wanted.map((day) => {
        const found = days.get(nameOf(series, day));
        return found === undefined ? null : { stamp: found.stamp, heads: found.heads };
      }),
    contents: async (series, wanted) =>
      wanted.map(({ day, name }) => days.get(nameOf(series, day))?.contents.get(name) ?? null),
    write: async (series, writes) =>
      writes.map(({ day, stamp, heads, added, removed }) => {
        const found = days.get(nameOf(series, day));
        if ((found?.stamp ?? 0) !== stamp) return false;
        const contents = new Map(found?.contents);
        for (const [name, content] of added) contents.set(name, content);
        for (const name of removed) contents.delete(name);
        days.set(nameOf(series, day), { series, day, heads, contents, stamp: newStamp() });
        return true;
      }),
    async months(after, limit) {
      const all = new Map([...days.values()].map((day) => [orderOf(monthOf(day)), monthOf(day)]));
      const names = [...all.keys()].sort().filter((name) => after === null || name > orderOf(after));
      return names.slice(0, limit).map((name) => all.get(name) as HistoryMonth);
    },
    async remove(what) {
      for (const [name, day] of days) if (orderOf(monthOf(day)) === orderOf(what)) days.delete(name);
    },
  };
}
