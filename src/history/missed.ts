/** What could not be written down, because the store was away: remembered here until it is marked with its days. */
import { createLastUsed } from '../last-used.js';
import type { HistoryStore, HistoryWrite } from '../store/history-port.js';
import { noteMissed } from './note-fetch.js';
import { decodeHeads, encodeHeads } from './revision.js';

export interface Missed {
  /** @param fetchedAt end of the fetch that brought it; the first that was missed counts. */
  add(series: string, date: string, fetchedAt: number): void;
  /** @returns end of the first fetch that was missed, and is not marked yet */
  get(series: string, date: string): number | undefined;
  /** It is marked. */
  delete(series: string, date: string): void;
  /** All series of which something is to be marked. */
  series(): readonly string[];
  /** Marks what was missed of a series. @throws StoreUnavailable */
  mark(series: string): Promise<void>;
}

/** Days of which this process remembers it. */
const REMEMBERED_DAYS = 10_000;
/** An ISO date, and what divides it from its series. */
const DATE_CHARS = 11;

export function createMissed(store: Pick<HistoryStore, 'heads' | 'write'>): Missed {
  const days = createLastUsed<number>(REMEMBERED_DAYS);
  const nameOf = (series: string, date: string) => `${series}|${date}`;
  const seriesOf = (name: string) => name.slice(0, -DATE_CHARS);
  return {
    add(series, date, fetchedAt) {
      const name = nameOf(series, date);
      if (!days.has(name)) days.set(name, fetchedAt);
    },
    get: (series, date) => days.get(nameOf(series, date)),
    delete: (series, date) => void days.delete(nameOf(series, date)),
    series: () => [...new Set([...days.keys()].map(seriesOf))],
    async mark(series) {
      const names = [...days.keys()].filter((name) => seriesOf(name) === series);
      if (names.length === 0) return;
      const dates = names.map((name) => name.slice(1 - DATE_CHARS));
      const heads = await store.heads(series, dates);
      const writes = heads.flatMap((head, at): HistoryWrite[] => {
        const known = head === null ? null : decodeHeads(head.heads);
        const revisions = noteMissed(known?.revisions ?? [], days.get(names[at] as string) ?? 0);
        if (head === null || known === null || revisions === known.revisions) return [];
        const marked = encodeHeads({ ...known, revisions });
        const day = dates[at] as string;
        return [{ day, stamp: head.stamp, heads: marked, added: new Map(), removed: [] }];
      });
      const done = writes.length === 0 ? [] : await store.write(series, writes);
      // Another has written the day meanwhile: it is marked the next time.
      const left = new Set(writes.flatMap(({ day }, at) => (done[at] === true ? [] : [day])));
      for (const [at, name] of names.entries()) if (!left.has(dates[at] as string)) days.delete(name);
    },
  };
}
