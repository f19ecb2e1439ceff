/** Usage per team and day: counted in memory, written in batches. */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { daysBetween, isoDay } from '../../reports/query/days.js';
import { createCountBatches, readGroups } from '../../store/count-batches.js';
import { type Counters, whenAway } from '../../store/port.js';
import { teamOfName } from '../auth/team.js';
import { addDays, dayGroup, readDay, teamGroup, toBatch, type UsageDay } from './usage-day.js';
import { createUsageTally } from './usage-tally.js';

/** Retention, to compare a year with the previous one. */
const KEPT_MS = 800 * 86_400_000;

// Reading usage from the store.

/**
 * Stored usage by day, then by team, all its lives together; days without usage are omitted.
 * @param from first day, `YYYY-MM-DD`; `to` is the last. @param team default: all
 * @throws StoreUnavailable
 */
async function readUsage(counters: Counters, from: string, to: string, team?: string): Promise<UsageDay[]> {
  const days = daysBetween(from, to);
  const groups = await readGroups(counters, days.map(dayGroup));
  const places = days.flatMap((day, index) =>
    [...(groups[index]?.keys() ?? [])]
      .filter((name) => team === undefined || teamOfName(name) === team)
      .map((name) => ({ day, name })),
  );
  const found = new Map<string, UsageDay>();
  for (const one of await readPlaces(counters, places)) {
    const shown = { ...one, team: teamOfName(one.team) };
    const key = `${shown.day} ${shown.team}`;
    const before = found.get(key);
    found.set(key, before === undefined ? shown : addDays(before, shown));
  }
  return [...found.keys()].sort().map((key) => found.get(key) as UsageDay);
}

async function readPlaces(
  counters: Counters,
  places: readonly { readonly day: string; readonly name: string }[],
): Promise<UsageDay[]> {
  const groups = await readGroups(
    counters,
    places.map(({ day, name }) => teamGroup(day, name)),
  );
  return places.flatMap(({ day, name }, at) => readDay(day, name, groups[at] ?? new Map()) ?? []);
}

export interface UsageOptions {
  readonly counters: Counters;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A team in its present life, as `nameInLife` writes it. Absent: the id. */
  readonly nameOf?: (team: string) => string;
  /** Time between two batches. */
  readonly everyMs?: number;
}

/** By contract, a killed process loses at most 5 s, including the time of writing. */
const EVERY_MS = 2000;
/** As `/gateway/v1/me` shows them. */
const RECENT_DAYS = 30;
const CLOSE_TRIES = 5;

export function createUsage(options: UsageOptions) {
  const { counters, clock, logger, nameOf = (team) => team } = options;
  const tally = createUsageTally(clock, nameOf);

  const today = () => Math.floor(clock.now() / 86_400_000);
  /** UTC days: today, and `count` days before. */
  const daysBack = (count: number) => ({ from: isoDay(today() - count), to: isoDay(today()) });

  const batches = createCountBatches({
    ...{ counters, clock, logger, what: 'usage', isEmpty: tally.isEmpty },
    everyMs: options.everyMs ?? EVERY_MS,
    take: () => [{ ...toBatch(tally.take()), ttlMs: KEPT_MS }],
  });

  return {
    add: tally.add,
    addRequest: tally.addRequest,
    /** @returns whether the store took all counts */
    flush: batches.flush,
    read: (from: string, to: string, team?: string) => readUsage(counters, from, to, team),
    recent: (team: string) => recentOf(nameOf(team), counters, daysBack(RECENT_DAYS - 1)),
    daysBack,
    /** Writes the rest, if the store takes it within a few seconds. */
    async close() {
      if (!(await batches.close(CLOSE_TRIES)))
        logger.error('usage since the store became unavailable is lost');
    },
  };
}

/** The last 30 days of a team's present life, newest last; null without the store. */
async function recentOf(
  team: string,
  counters: Counters,
  { from, to }: { readonly from: string; readonly to: string },
): Promise<Omit<UsageDay, 'team'>[] | null> {
  const places = daysBetween(from, to).map((day) => ({ day, name: team }));
  const days = await readPlaces(counters, places).catch(whenAway(() => null));
  return days?.map(({ team: _, ...day }) => day) ?? null;
}

/** At startup, restores the daily shares from stored usage: buckets of the embedded store end with the process. */
export async function recallShares(
  shares: { recall(team: string, calls: number): Promise<void> },
  usage: Pick<ReturnType<typeof createUsage>, 'daysBack' | 'read'>,
  logger: Logger,
): Promise<void> {
  try {
    const { from, to } = usage.daysBack(0);
    for (const { team, upstreamCalls } of await usage.read(from, to))
      await shares.recall(team, upstreamCalls);
  } catch (error) {
    logger.warn({ err: error }, 'failed to read the platform calls that teams have used today');
  }
}
