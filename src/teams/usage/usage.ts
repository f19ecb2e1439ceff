/** Reads the tally by team and day. */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { dayNumber, daysBetween, isoDay } from '../../reports/query/days.js';
import { readGroups } from '../../store/count-batches.js';
import { type Counters, whenAway } from '../../store/port.js';
import { teamOfName } from '../auth/team.js';
import { DAY_MS, daysGroup, NO_KEY, teamsGroup } from '../tally/groups.js';
import type { Tally } from '../tally/tally.js';
import { type UsageDay, usageOf } from './usage-day.js';

/** A day of a life of a team; `name` as `nameInLife` writes it. */
interface Place {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly name: string;
}

/** @returns usage by day, then by team, all its lives together; days without counts are omitted */
async function readPlaces(counters: Counters, places: readonly Place[]): Promise<UsageDay[]> {
  const groups = await readGroups(
    counters,
    places.map(({ day, name }) => daysGroup(dayNumber(day) as number, name)),
  );
  const found = new Map<
    string,
    { readonly day: string; readonly team: string; fields: Map<string, number> }
  >();
  for (const [at, { day, name }] of places.entries()) {
    const team = teamOfName(name);
    const key = `${day} ${team}`;
    const { fields } = found.get(key) ?? { fields: new Map() };
    for (const [field, count] of groups[at] ?? []) fields.set(field, (fields.get(field) ?? 0) + count);
    if (fields.size > 0) found.set(key, { day, team, fields });
  }
  return [...found]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([, { day, team, fields }]) => usageOf(day, team, fields));
}

/** As `/gateway/v1/me` shows them. */
const RECENT_DAYS = 30;

export function createUsage(tally: Tally, clock: Pick<Clock, 'now'>) {
  const { counters, nameOf } = tally;
  const today = () => Math.floor(clock.now() / DAY_MS);
  /** UTC days: today, and `count` days before. */
  const daysBack = (count: number) => ({ from: isoDay(today() - count), to: isoDay(today()) });

  return {
    daysBack,
    /**
     * @param from first day, `YYYY-MM-DD`; `to` is the last. @param team default: all
     * @throws StoreUnavailable
     */
    async read(from: string, to: string, team?: string): Promise<UsageDay[]> {
      await tally.flush();
      const days = daysBetween(from, to);
      const teams = await readGroups(
        counters,
        days.map((day) => teamsGroup(dayNumber(day) as number)),
      );
      const isMeant = (name: string) => name !== NO_KEY && (team === undefined || teamOfName(name) === team);
      const places = days.flatMap((day, at) =>
        [...(teams[at]?.keys() ?? [])].filter(isMeant).map((name) => ({ day, name })),
      );
      return await readPlaces(counters, places);
    },
    /** The last 30 days of a team's present life, newest last; null without the store. */
    async recent(team: string): Promise<Omit<UsageDay, 'team'>[] | null> {
      await tally.flush();
      const { from, to } = daysBack(RECENT_DAYS - 1);
      const places = daysBetween(from, to).map((day) => ({ day, name: nameOf(team) }));
      const days = await readPlaces(counters, places).catch(whenAway(() => null));
      return days?.map(({ team: _, ...day }) => day) ?? null;
    },
  };
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
