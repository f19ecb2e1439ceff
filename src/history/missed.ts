/** What could not be written down, because the store was away: remembered here until it is marked with its days. */
import { createLastUsed } from '../last-used.js';
import { type MarkStore, markDays } from './mark-days.js';
import { noteMissed } from './note-fetch.js';

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

export function createMissed(store: MarkStore): Missed {
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
      const done = await markDays(store, series, dates, (known, at) =>
        noteMissed(known, days.get(names[at] as string) ?? 0),
      );
      // Another has written the day meanwhile: it is marked the next time.
      for (const [at, name] of names.entries())
        if (done.get(dates[at] as string) !== false) days.delete(name);
    },
  };
}
