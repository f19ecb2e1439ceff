/** Reads the tally over time: all requests by minute, kept a day, and those of each team by hour, kept 90 days. */
import type { Clock } from '../../lib/clock.js';
import { groupBy } from '../../lib/group-by.js';
import type { FailedPart } from '../../outcome.js';
import { readGroups } from '../../store/count-batches.js';
import type { Counters } from '../../store/port.js';
import { teamOfName } from '../auth/team.js';
import { AT, type Cell } from '../tally/cell.js';
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
  teamsGroup,
} from '../tally/groups.js';
import type { Tally } from '../tally/tally.js';
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

export type ShownSeries = ReturnType<typeof shown>;
type LedgerRow = { readonly id: string; readonly name: string } & NonNullable<ReturnType<typeof ledgerRow>>;

export function createSeries(tally: Tally, clock: Pick<Clock, 'now'>) {
  const { counters, nameOf } = tally;
  return {
    /** @param team null: all requests. @throws StoreUnavailable, here and below */
    async read(range: Range, team: SeriesTeam | null): Promise<ShownSeries> {
      await tally.writeAll();
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
        : readMinutes(counters, steps, (hour) => [minutesGroup(hour, ALL)]));
      const cells = cellsOfSteps(steps, found);
      return shown(range, steps, seriesOf(cells, shownBudget(cells)));
    },
    /** Platform calls of a team by hour of the UTC day, of the seven days before and today. */
    async weekOf(team: string): Promise<readonly number[]> {
      await tally.flush();
      const fromMs = (Math.floor(clock.now() / DAY_MS) - 7) * DAY_MS;
      const steps = { fromMs, stepMs: HOUR_MS, count: 8 * 24 };
      const cells = cellsOfSteps(steps, await readHours(counters, steps, [nameOf(team)]));
      return cells.map((cell) => cell[AT.platformCalls] as number);
    },
    /** Failed reports of all teams by the start of their minute and by part, from the minute of this time on, at most a day back. */
    async failedByMinute(fromMs: number): Promise<ReadonlyMap<number, Readonly<Record<FailedPart, number>>>> {
      await tally.flush();
      const toMs = clock.now();
      const firstMs = Math.floor(Math.max(fromMs, toMs - DAY_MS) / MINUTE_MS) * MINUTE_MS;
      const steps = {
        fromMs: firstMs,
        stepMs: MINUTE_MS,
        count: Math.floor((toMs - firstMs) / MINUTE_MS) + 1,
      };
      const cells = await readMinutes(counters, steps, (hour) => [minutesGroup(hour, ALL)]);
      return new Map(
        cellsOfSteps(steps, cells).map((cell, at) => {
          const [all, credential] = [cell[AT.failed] as number, cell[AT.failedByCredential] as number];
          return [firstMs + at * MINUTE_MS, { platform: all - credential, credential }];
        }),
      );
    },
    /** Each team with counts, all its lives together; their sums with `withoutKey` are those of all requests. */
    async ledger(range: Range, titleOf: (id: string) => string | undefined) {
      await tally.writeAll();
      const steps = fineSteps(range, clock.now());
      const teams: LedgerRow[] = [];
      let withoutKey: ReturnType<typeof ledgerRow> = null;
      for (const [id, names] of await readTeams(counters, steps)) {
        const cells = await (range === '1h'
          ? readMinutes(counters, steps, (hour) => names.map((name) => minutesGroup(hour, name)))
          : readDays(counters, steps, names));
        const row = ledgerRow(steps, cells);
        if (id === NO_KEY) withoutKey = row;
        else if (row !== null) teams.push({ id, name: titleOf(id) ?? id, ...row });
      }
      return { teams, withoutKey };
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
