/** Reads from the store what teams asked for. */
import { daysBetween } from '../report/days.js';
import type { Counters } from '../store/port.js';
import { dayGroup, readDay, teamGroup, type UsageDay } from './usage-day.js';

/** A store answers one command within its time; a year of many teams is read in several. */
const GROUPS_AT_ONCE = 500;

/**
 * By day, then by team; days without anything are left out.
 * @param from first day, `YYYY-MM-DD`; `to` is the last. @param team only this one
 * @throws StoreUnavailable
 */
export async function readUsage(
  counters: Counters,
  from: string,
  to: string,
  team?: string,
): Promise<UsageDay[]> {
  const days = daysBetween(from, to);
  const places = team === undefined ? await placesOf(counters, days) : days.map((day) => ({ day, team }));
  const found: UsageDay[] = [];
  for (let at = 0; at < places.length; at += GROUPS_AT_ONCE) {
    const some = places.slice(at, at + GROUPS_AT_ONCE);
    const groups = await counters.read(some.map((place) => teamGroup(place.day, place.team)));
    for (const [index, place] of some.entries()) {
      const day = readDay(place.day, place.team, groups[index] ?? new Map());
      if (day !== null) found.push(day);
    }
  }
  return found;
}

async function placesOf(
  counters: Counters,
  days: readonly string[],
): Promise<{ day: string; team: string }[]> {
  const groups = await counters.read(days.map(dayGroup));
  return days.flatMap((day, index) =>
    [...(groups[index]?.keys() ?? [])].sort().map((team) => ({ day, team })),
  );
}
