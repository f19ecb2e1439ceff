/** Reads from the store what teams asked for. */

import { daysBetween } from '../../reports/query/days.js';
import type { Counters } from '../../store/port.js';
import { teamOfName } from '../team-life.js';
import { addDays, dayGroup, readDay, teamGroup, type UsageDay } from './usage-day.js';

/** A store answers one command within its time; a year of many teams is read in several. */
const GROUPS_AT_ONCE = 500;

/**
 * By day, then by team, all lives of it together; days without anything are left out.
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
  const groups = await counters.read(days.map(dayGroup));
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

/** The same of one life of a team, by its name. @throws StoreUnavailable */
export async function readLife(
  counters: Counters,
  from: string,
  to: string,
  name: string,
): Promise<UsageDay[]> {
  return readPlaces(
    counters,
    daysBetween(from, to).map((day) => ({ day, name })),
  );
}

async function readPlaces(
  counters: Counters,
  places: readonly { readonly day: string; readonly name: string }[],
): Promise<UsageDay[]> {
  const found: UsageDay[] = [];
  for (let at = 0; at < places.length; at += GROUPS_AT_ONCE) {
    const some = places.slice(at, at + GROUPS_AT_ONCE);
    const groups = await counters.read(some.map(({ day, name }) => teamGroup(day, name)));
    for (const [index, { day, name }] of some.entries()) {
      const one = readDay(day, name, groups[index] ?? new Map());
      if (one !== null) found.push(one);
    }
  }
  return found;
}
