/** Reads pages of the series, with what this process has not sent yet. */

import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { createLastUsed } from '../../lib/last-used.js';
import { isoDay } from '../../reports/query/days.js';
import type { Documents } from '../../store/port.js';
import { teamOfName } from '../team-life.js';
import type { Cell } from './cell.js';
import type { Outbox } from './outbox.js';
import { decodePage, EMPTY_PAGE, mergedCells, type Page } from './page.js';
import { ALL, DAY_MS, HOUR_MS, hoursPlace, MINUTE_MS, minutesPlace } from './places.js';
import { endOf, type Steps } from './shape.js';

/** Cells by the beginning of their minute or hour, milliseconds. */
export type TimedCells = readonly (readonly [number, Cell])[];

export interface PageReader {
  /** @throws StoreUnavailable, here and below */
  minutes(steps: Steps): Promise<TimedCells>;
  /** Of whole days. @param names {@link ALL}, or lives of a team */
  hours(steps: Steps, names: readonly string[]): Promise<TimedCells>;
  /** Teams of which anything was counted on the days of it, by id, and the names of their lives. */
  teams(steps: Steps): Promise<ReadonlyMap<string, readonly string[]>>;
}

export interface PageReaderOptions {
  readonly documents: Documents;
  readonly outbox: Pick<Outbox, 'missing'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const AT_ONCE = 64;
/** Documents of days that are over; just after its end each process still has something to add. */
const OVER_AFTER_MS = 5 * MINUTE_MS;
const REMEMBERED = 10_000;
const REMEMBERED_MS = 60_000;

export function createPageReader(options: PageReaderOptions): PageReader {
  const { documents, outbox, clock, logger } = options;
  const over = createLastUsed<string>(REMEMBERED, {
    ttl: REMEMBERED_MS,
    perf: { now: clock.monotonicMs },
  });
  const said = createLastUsed<true>(1000);

  function decoded(key: string, text: string): Page {
    const page = decodePage(text);
    if (page === 'damaged' && !said.has(key)) {
      said.set(key, true);
      logger.error({ document: key }, 'a document of the series is damaged; it is left out of what is shown');
    }
    return typeof page === 'string' ? EMPTY_PAGE : page;
  }

  async function readPage(key: string, isOver: boolean): Promise<Page> {
    const known = over.get(key);
    const text = known ?? (await documents.get(key)) ?? '';
    if (isOver && known === undefined) over.set(key, text);
    const page = text === '' ? EMPTY_PAGE : decoded(key, text);
    const missing = outbox.missing(key, page);
    return {
      writers: page.writers,
      cells: mergedCells([page.cells, ...missing.map(({ cells }) => cells)]),
      names: [...page.names, ...missing.flatMap(({ names }) => [...names])],
    };
  }

  const daysOf = (steps: Steps) => {
    const first = Math.floor(steps.fromMs / DAY_MS);
    return Array.from({ length: Math.floor((endOf(steps) - 1) / DAY_MS) - first + 1 }, (_, at) => first + at);
  };
  const pageOfDay = (day: number, team: string) =>
    readPage(hoursPlace(isoDay(day), team).key, day < Math.floor((clock.now() - OVER_AFTER_MS) / DAY_MS));

  return {
    async minutes(steps) {
      const first = Math.floor(steps.fromMs / HOUR_MS);
      const last = Math.floor((endOf(steps) - 1) / HOUR_MS);
      const hours = Array.from({ length: last - first + 1 }, (_, at) => first + at);
      return await inTurns(hours, async (hour) => {
        const { cells } = await readPage(minutesPlace(hour).key, false);
        return [...cells].map(([slot, cell]) => [hour * HOUR_MS + slot * MINUTE_MS, cell] as const);
      });
    },
    hours(steps, names) {
      const places = names.flatMap((name) => daysOf(steps).map((day) => ({ day, name })));
      return inTurns(places, async ({ day, name }) => {
        const { cells } = await pageOfDay(day, name);
        return [...cells].map(([slot, cell]) => [day * DAY_MS + slot * HOUR_MS, cell] as const);
      });
    },
    async teams(steps) {
      const names = await inTurns(daysOf(steps), async (day) => (await pageOfDay(day, ALL)).names);
      return new Map(
        [...new Set(names.map(teamOfName))]
          .sort()
          .map((id) => [id, [...new Set(names)].filter((name) => teamOfName(name) === id)]),
      );
    },
  };
}

async function inTurns<T, R>(all: readonly T[], read: (one: T) => Promise<readonly R[]>): Promise<R[]> {
  const found: R[] = [];
  for (let at = 0; at < all.length; at += AT_ONCE)
    for (const some of await Promise.all(all.slice(at, at + AT_ONCE).map(read))) found.push(...some);
  return found;
}
