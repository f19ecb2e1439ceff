/**
 * What the gateway counts of itself over time: of all requests by the minute, kept a day, and of each team by the hour, kept 90
 * days. Each process counts in memory and adds it now and then to the documents that all processes share.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { createLastUsed } from '../../lib/last-used.js';
import { flushAtEnd, oneAtATime, repeat } from '../../lib/repeat.js';
import { uptimeMs } from '../../lib/time.js';
import { isoDay } from '../../reports/query/days.js';
import type { Documents } from '../../store/port.js';
import { teamOfName } from '../team-life.js';
import type { Cell } from './cell.js';
import { createOutbox, type Outbox } from './outbox.js';
import { decodePage, EMPTY_PAGE, mergedCells, type Page } from './page.js';
import { ALL, DAY_MS, HOUR_MS, hoursPlace, MINUTE_MS, minutesPlace, toBatches } from './places.js';
import {
  cellsOfSteps,
  endOf,
  fineSteps,
  hourSteps,
  ledgerRow,
  type Range,
  type Steps,
  seriesOf,
  shareLeft,
  shownBudget,
} from './shape.js';
import { createSeriesTally, type SeriesTally } from './tally.js';

// Reads pages of the series, with what this process has not sent yet.

/** Cells by the beginning of their minute or hour, milliseconds. */
type TimedCells = readonly (readonly [number, Cell])[];

interface PageReader {
  /** @throws StoreUnavailable, here and below */
  minutes(steps: Steps): Promise<TimedCells>;
  /** Of whole days. @param names {@link ALL}, or lives of a team */
  hours(steps: Steps, names: readonly string[]): Promise<TimedCells>;
  /** Teams of which anything was counted on the days of it, by id, and the names of their lives. */
  teams(steps: Steps): Promise<ReadonlyMap<string, readonly string[]>>;
}

interface PageReaderOptions {
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

function createPageReader(options: PageReaderOptions): PageReader {
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

/** A team of which a series is asked for. */
interface SeriesTeam {
  readonly id: string;
  /** Platform calls it may cause a day; null: not known, as of one that was deleted. */
  readonly callsPerDay: number | null;
  /** The team itself is shown its present life; operators all lives of the id. */
  readonly lives: 'present' | 'all';
}

export interface Series extends Pick<SeriesTally, 'add'> {
  /** A try of a platform call. */
  addCall(team: string): void;
  /** @param team null: all requests together. @throws StoreUnavailable, here and below */
  read(range: Range, team: SeriesTeam | null): Promise<ShownSeries>;
  /** Each team of which anything was counted, by its id, all lives together. */
  ledger(range: Range, titleOf: (id: string) => string | undefined): Promise<readonly LedgerRow[]>;
  /** Writes what was counted so far. @returns whether the store took it all. Never rejects */
  flush(): Promise<boolean>;
  /** Writes what is left, as long as the store takes it within a few seconds. */
  close(): Promise<void>;
}

export type ShownSeries = ReturnType<typeof shown>;
type LedgerRow = { readonly id: string; readonly name: string } & NonNullable<ReturnType<typeof ledgerRow>>;

interface SeriesOptions {
  readonly documents: Documents;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How many wait for a place among the platform's calls, and what the platform still allows, where it says so. */
  readonly traffic: {
    readonly budget: { readonly queued: number };
    readonly pace: { status(): { readonly remaining: number } | null };
  };
  /** A team in its present life, as `nameInLife` writes it. Absent: the id. */
  readonly nameOf?: (team: string) => string;
  /** Letters and digits, of this process alone; made up when not given. */
  readonly writer?: string;
}

/** What a busy process loses when it is killed. After a quiet time the first counts are written at the next look. */
const FLUSH_EVERY_MS = 10_000;
const LOOK_EVERY_MS = 1000;
const CLOSE_TRIES = 3;

export function createSeries(options: SeriesOptions): Series {
  const { clock, logger, traffic, nameOf = (team) => team } = options;
  const tally = createSeriesTally(clock, nameOf);
  const outbox = createOutbox(options);
  const pages = createPageReader({ ...options, outbox });
  let restsUntilMs = 0;

  function collect(): void {
    const counted = tally.take();
    if (counted !== null) outbox.add(toBatches(counted));
  }

  const flushOutbox = oneAtATime(outbox.flush);
  function flush(): Promise<boolean> {
    collect();
    return flushOutbox();
  }

  const looks = repeat(LOOK_EVERY_MS, async () => {
    tally.queued(traffic.budget.queued);
    if (uptimeMs() < restsUntilMs) return;
    collect();
    if (outbox.isEmpty()) return;
    restsUntilMs = uptimeMs() + FLUSH_EVERY_MS;
    await flush();
  });

  return {
    add: tally.add,
    addCall(team) {
      tally.addCall(team, traffic.pace.status()?.remaining ?? null);
      tally.queued(traffic.budget.queued);
    },
    async read(range, team) {
      collect();
      if (team !== null) {
        const steps = hourSteps(range, clock.now());
        const former = team.lives === 'all' ? (await pages.teams(steps)).get(team.id) : undefined;
        const names = new Set([nameOf(team.id), ...(former ?? [])]);
        return showTeam(range, steps, await pages.hours(steps, [...names]), team);
      }
      const steps = fineSteps(range, clock.now());
      const found = range === '30d' ? await pages.hours(steps, [ALL]) : await pages.minutes(steps);
      const cells = cellsOfSteps(steps, found);
      return shown(range, steps, seriesOf(cells, shownBudget(cells)));
    },
    async ledger(range, titleOf) {
      collect();
      const steps = hourSteps(range, clock.now());
      const rows: LedgerRow[] = [];
      for (const [id, names] of await pages.teams(steps)) {
        const row = ledgerRow(steps, await pages.hours(steps, names));
        if (row !== null) rows.push({ id, name: titleOf(id) ?? id, ...row });
      }
      return rows;
    },
    flush,
    async close() {
      await looks.stop();
      if (!(await flushAtEnd(flush, CLOSE_TRIES)))
        logger.warn('the last seconds of the series are lost: the store does not take them');
    },
  };
}

function showTeam(range: Range, steps: Steps, found: TimedCells, { callsPerDay }: SeriesTeam): ShownSeries {
  const left =
    callsPerDay === null ? Array<null>(steps.count).fill(null) : shareLeft(steps, found, callsPerDay);
  return shown(range, steps, seriesOf(cellsOfSteps(steps, found), left));
}

function shown(range: Range, steps: Steps, series: ReturnType<typeof seriesOf>) {
  return {
    range,
    from: new Date(steps.fromMs).toISOString(),
    to: new Date(endOf(steps)).toISOString(),
    stepSeconds: steps.stepMs / 1000,
    points: steps.count,
    series,
  };
}
