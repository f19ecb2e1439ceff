/** Counters in memory since the last take: by day, team and field. */
import type { Clock } from '../../lib/clock.js';
import type { Counted } from '../../outcome.js';
import { isoDay } from '../../reports/query/days.js';
import type { Pending, UsageField } from './usage-day.js';

/** @param add called for each field, perhaps with 0. Platform calls are counted where they are made */
export function countRequest(counted: Counted, add: (field: UsageField, by: number) => void): void {
  const { kind, fault, byMcp, rows, saved, bytesOut } = counted;
  add('requests', 1);
  add('viaMcp', byMcp);
  if (fault !== null) add(fault, 1);
  if (kind !== null) add(kind, 1);
  add('rows', rows);
  add('upstreamCallsSaved', saved);
  add('bytesOut', bytesOut);
}

type Fields = Map<UsageField, number>;

/** @param nameOf a team in its present life */
export function createUsageTally(clock: Clock, nameOf: (team: string) => string) {
  let counted = new Map<string, Map<string, Fields>>();
  let [day, dayIso] = [Number.NaN, ''];

  /** Today's counters of a team. */
  function fieldsOf(team: string): Fields {
    const today = Math.floor(clock.now() / 86_400_000);
    if (today !== day) [day, dayIso] = [today, isoDay(today)];
    const teams = entryOf(counted, dayIso, () => new Map<string, Fields>());
    return entryOf(teams, nameOf(team), () => new Map());
  }

  return {
    add(team: string, counts: ReadonlyMap<UsageField, number>): void {
      const fields = fieldsOf(team);
      for (const [field, by] of counts) grow(fields, field, by);
    },
    addRequest(team: string, counted: Counted): void {
      const fields = fieldsOf(team);
      countRequest(counted, (field, by) => grow(fields, field, by));
    },
    isEmpty: () => counted.size === 0,
    /** Returns all counts and resets them. */
    take(): Pending {
      const taken = counted;
      counted = new Map();
      return taken;
    },
  };
}

/** Skips zero counts. */
function grow(fields: Fields, field: UsageField, by: number): void {
  if (by > 0) fields.set(field, (fields.get(field) ?? 0) + by);
}

function entryOf<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
