/** What was counted since it was last taken: by day, team and field, in memory. */
import type { Clock } from '../../lib/clock.js';
import { isoDay } from '../../reports/query/days.js';
import { type Answered, countRequest } from './count-request.js';
import type { Pending, UsageField } from './usage-day.js';

export interface UsageTally {
  add(team: string, counts: ReadonlyMap<UsageField, number>): void;
  /** Adds what an answered request counts as. */
  addRequest(team: string, status: number, answered: Answered): void;
  isEmpty(): boolean;
  /** Everything so far; counting begins anew. */
  take(): Pending;
}

type Fields = Map<UsageField, number>;

/** @param nameOf a team in its present life */
export function createUsageTally(clock: Clock, nameOf: (team: string) => string): UsageTally {
  let counted = new Map<string, Map<string, Fields>>();
  let [day, dayIso] = [Number.NaN, ''];

  /** Of a team, today. */
  function fieldsOf(team: string): Fields {
    const today = Math.floor(clock.now() / 86_400_000);
    if (today !== day) [day, dayIso] = [today, isoDay(today)];
    const teams = entryOf(counted, dayIso, () => new Map<string, Fields>());
    return entryOf(teams, nameOf(team), () => new Map());
  }

  return {
    add(team, counts) {
      const fields = fieldsOf(team);
      for (const [field, by] of counts) grow(fields, field, by);
    },
    addRequest(team, status, answered) {
      const fields = fieldsOf(team);
      countRequest(status, answered, (field, by) => grow(fields, field, by));
    },
    isEmpty: () => counted.size === 0,
    take() {
      const taken = counted;
      counted = new Map();
      return taken;
    },
  };
}

/** Nothing is no count. */
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
