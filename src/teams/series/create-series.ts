/**
 * Counters over time: of all requests by minute, kept a day, and of each team by hour, kept 90 days. Each process counts in
 * memory, and adds its counts periodically to the shared counters.
 */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { groupBy } from '../../lib/group-by.js';
import { repeat } from '../../lib/repeat.js';
import { uptimeMs } from '../../lib/time.js';
import { createCountBatches, readGroups } from '../../store/count-batches.js';
import { type Counters, StoreUnavailable } from '../../store/port.js';
import { teamOfName } from '../auth/team.js';
import { AT, type Cell } from './cell.js';
import {
  ALL,
  cellsOf,
  DAY_MS,
  daysGroup,
  HOUR_MS,
  HOURS_OF_GROUP,
  hoursGroup,
  MINUTE_MS,
  minutesGroup,
  NO_KEY,
  teamMinutesGroup,
  teamsGroup,
  toBatches,
} from './groups.js';
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
import { createSeriesTally } from './tally.js';

// Reads cells of the counters.

/** Cells by start of their minute or hour, milliseconds. */
type TimedCells = readonly (readonly [number, Cell])[];

/** @param lengthMs length of a group. @returns numbers of groups since the epoch */
function partsOf(fromMs: number, toMs: number, lengthMs: number): number[] {
  const first = Math.floor(fromMs / lengthMs);
  return Array.from({ length: Math.floor((toMs - 1) / lengthMs) - first + 1 }, (_, at) => first + at);
}

async function readCells(
  counters: Counters,
  places: readonly { readonly group: string; readonly fromMs: number }[],
  slotMs: number,
): Promise<TimedCells> {
  const names = places.map(({ group }) => group);
  const groups = await readGroups(counters, names);
  return groups.flatMap((group, at) =>
    [...cellsOf(group)].map(([slot, cell]) => [(places[at]?.fromMs ?? 0) + slot * slotMs, cell] as const),
  );
}

/** @param groupsOf an hour */
function readMinutes(
  counters: Counters,
  steps: Steps,
  groupsOf: (hour: number) => readonly string[],
): Promise<TimedCells> {
  const places = partsOf(steps.fromMs, endOf(steps), HOUR_MS).flatMap((hour) =>
    groupsOf(hour).map((group) => ({ group, fromMs: hour * HOUR_MS })),
  );
  return readCells(counters, places, MINUTE_MS);
}

/** Whole days. @param names {@link ALL}, or lives of a team */
function readHours(counters: Counters, steps: Steps, names: readonly string[]): Promise<TimedCells> {
  const partMs = HOURS_OF_GROUP * HOUR_MS;
  const fromMs = Math.floor(steps.fromMs / DAY_MS) * DAY_MS;
  const places = names.flatMap((name) =>
    partsOf(fromMs, endOf(steps), partMs).map((part) => ({
      group: hoursGroup(part, name),
      fromMs: part * partMs,
    })),
  );
  return readCells(counters, places, HOUR_MS);
}

/** Hours of the first day, which may be partial, and whole days. */
async function readDays(counters: Counters, steps: Steps, names: readonly string[]): Promise<TimedCells> {
  const [first = 0, ...days] = partsOf(steps.fromMs, endOf(steps), DAY_MS);
  const ofFirst = { ...steps, count: Math.ceil(((first + 1) * DAY_MS - steps.fromMs) / steps.stepMs) };
  const places = names.flatMap((name) =>
    days.map((day) => ({ group: daysGroup(day, name), fromMs: day * DAY_MS })),
  );
  return [...(await readHours(counters, ofFirst, names)), ...(await readCells(counters, places, DAY_MS))];
}

/** Teams with counts on these days, by id, with the names of their lives. */
async function readTeams(counters: Counters, steps: Steps): Promise<ReadonlyMap<string, readonly string[]>> {
  const days = await readGroups(counters, partsOf(steps.fromMs, endOf(steps), DAY_MS).map(teamsGroup));
  return groupBy([...new Set(days.flatMap((day) => [...day.keys()]))].sort(), teamOfName);
}

interface SeriesTeam {
  readonly id: string;
  /** Null for a deleted team. */
  readonly callsPerDay: number | null;
  /** The team sees its present life; operators see all lives of the id. */
  readonly lives: 'present' | 'all';
}

export type Series = ReturnType<typeof createSeries>;
export type ShownSeries = ReturnType<typeof shown>;
type LedgerRow = { readonly id: string; readonly name: string } & NonNullable<ReturnType<typeof ledgerRow>>;

interface SeriesOptions {
  readonly counters: Counters;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Length of the queue for platform calls, and the platform's remaining rate if it shows one. */
  readonly traffic: {
    readonly budget: { readonly queued: number };
    readonly pace: { status(): { readonly remaining: number } | null };
  };
  /** A team in its present life, as `nameInLife` writes it. Absent: the id. */
  readonly nameOf?: (team: string) => string;
}

/** A killed process loses at most this time. After idle time, the first counts are written at the next tick. */
const FLUSH_EVERY_MS = 10_000;
const LOOK_EVERY_MS = 1000;
const CLOSE_TRIES = 3;

export function createSeries(options: SeriesOptions) {
  const { counters, clock, logger, traffic, nameOf = (team) => team } = options;
  const tally = createSeriesTally(clock, nameOf);
  const { flush, close } = createCountBatches({
    ...{ counters, clock, logger, what: 'the series', isEmpty: tally.isEmpty, everyMs: null },
    take: () => toBatches(tally.take(), clock.now()),
  });
  let restsUntilMs = 0;

  const looks = repeat(LOOK_EVERY_MS, async () => {
    tally.queued(traffic.budget.queued);
    if (uptimeMs() < restsUntilMs || tally.isEmpty()) return;
    restsUntilMs = uptimeMs() + FLUSH_EVERY_MS;
    await flush();
  });

  /** So that reads include the counts of this process. */
  async function writeFirst(): Promise<void> {
    // A running flush may have started before the last count.
    await flush();
    if (!(await flush())) throw new StoreUnavailable('what was counted cannot be written');
  }

  return {
    add: tally.add,
    /** An attempt of a platform call. */
    addCall(team: string): void {
      tally.addCall(team, traffic.pace.status()?.remaining ?? null);
      tally.queued(traffic.budget.queued);
    },
    /** @param team null: all requests. @throws StoreUnavailable, here and below */
    async read(range: Range, team: SeriesTeam | null): Promise<ShownSeries> {
      await writeFirst();
      if (team !== null) {
        const steps = hourSteps(range, clock.now());
        const former = team.lives === 'all' ? (await readTeams(counters, steps)).get(team.id) : undefined;
        const names = new Set([nameOf(team.id), ...(former ?? [])]);
        const found = await readHours(counters, steps, [...names]);
        const { callsPerDay } = team;
        const left =
          callsPerDay === null ? Array<null>(steps.count).fill(null) : shareLeft(steps, found, callsPerDay);
        return shown(range, steps, seriesOf(cellsOfSteps(steps, found), left));
      }
      const steps = fineSteps(range, clock.now());
      const found = await (range === '30d'
        ? readHours(counters, steps, [ALL])
        : readMinutes(counters, steps, (hour) => [minutesGroup(hour)]));
      const cells = cellsOfSteps(steps, found);
      return shown(range, steps, seriesOf(cells, shownBudget(cells)));
    },
    /** Platform calls of a team by hour of the UTC day, of the seven days before and today. */
    async weekOf(team: string): Promise<readonly number[]> {
      await flush();
      const fromMs = (Math.floor(clock.now() / DAY_MS) - 7) * DAY_MS;
      const steps = { fromMs, stepMs: HOUR_MS, count: 8 * 24 };
      const cells = cellsOfSteps(steps, await readHours(counters, steps, [nameOf(team)]));
      return cells.map((cell) => cell[AT.platformCalls] as number);
    },
    /** Each team with counts, all its lives together; their sums with `withoutKey` are those of all requests. */
    async ledger(range: Range, titleOf: (id: string) => string | undefined) {
      await writeFirst();
      const steps = fineSteps(range, clock.now());
      const teams: LedgerRow[] = [];
      let withoutKey: ReturnType<typeof ledgerRow> = null;
      for (const [id, names] of await readTeams(counters, steps)) {
        const cells = await (range === '1h'
          ? readMinutes(counters, steps, (hour) => names.map((name) => teamMinutesGroup(hour, name)))
          : readDays(counters, steps, names));
        const row = ledgerRow(steps, cells);
        if (id === NO_KEY) withoutKey = row;
        else if (row !== null) teams.push({ id, name: titleOf(id) ?? id, ...row });
      }
      return { teams, withoutKey };
    },
    /** @returns whether the store took all counts. Never rejects */
    flush,
    /** Writes the rest, if the store takes it within a few seconds. */
    async close() {
      await looks.stop();
      if (!(await close(CLOSE_TRIES)))
        logger.warn('the last seconds of the series are lost: the store does not accept them');
    },
  };
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
