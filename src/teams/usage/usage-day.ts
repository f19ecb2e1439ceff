/** The counters of a team's day, and their keys in the store. Pure. */
import Type, { type TInteger } from 'typebox';
import type { CounterAdd, CounterRaise } from '../../store/port.js';

/** In display order; docs/operations.md defines each. */
export const USAGE_FIELDS = [
  'requests',
  'hits',
  'stale',
  'misses',
  'upstreamCalls',
  'upstreamCallsSaved',
  'rows',
  'bytesOut',
  'errors',
  'rateLimited',
] as const;

/** Requests by MCP, shown only on days with any: older clients know only the fields above. */
const BY_MCP = 'viaMcp';

type ShownField = (typeof USAGE_FIELDS)[number];
export type UsageField = ShownField | typeof BY_MCP;
type UsageCounts = Readonly<Record<ShownField, number>>;

export interface UsageDay extends UsageCounts {
  readonly [BY_MCP]?: number;
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string;
  readonly team: string;
}

const COUNTS = {
  ...(Object.fromEntries(USAGE_FIELDS.map((field) => [field, Type.Integer({ minimum: 0 })])) as Record<
    ShownField,
    TInteger
  >),
  [BY_MCP]: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'Requests by POST /mcp, included in requests; absent if there are none.',
    }),
  ),
};

/** For the team itself. */
export const OwnUsageDay = Type.Object(
  { day: Type.String({ format: 'date' }), ...COUNTS },
  { title: 'OwnUsageDay', description: 'A UTC day.' },
);

/** For operators. */
export const ShownUsageDay = Type.Object(
  { day: Type.String({ format: 'date' }), team: Type.String(), ...COUNTS },
  { title: 'UsageDay', description: 'A UTC day of a team.' },
);

/** Counter group of a team's day. */
export function teamGroup(day: string, team: string): string {
  return `usage:${day}:${team}`;
}

/** Counter group with one field per team that was active on the day. */
export function dayGroup(day: string): string {
  return `usage:${day}`;
}

/** @returns null if nothing was counted; fields of other releases are ignored */
export function readDay(day: string, team: string, group: ReadonlyMap<string, number>): UsageDay | null {
  if (group.size === 0) return null;
  const counts = USAGE_FIELDS.map((field) => [field, group.get(field) ?? 0]);
  const byMcp = group.get(BY_MCP);
  return {
    ...{ day, team },
    ...(Object.fromEntries(counts) as UsageCounts),
    ...(byMcp === undefined ? {} : { [BY_MCP]: byMcp }),
  };
}

/** Sums two days; the result has day and team of the first. */
export function addDays(one: UsageDay, other: UsageDay): UsageDay {
  const sums = USAGE_FIELDS.map((field) => [field, one[field] + other[field]]);
  const byMcp = (one[BY_MCP] ?? 0) + (other[BY_MCP] ?? 0);
  return { ...one, ...Object.fromEntries(sums), ...(byMcp === 0 ? {} : { [BY_MCP]: byMcp }) };
}

/** Counts not yet in the store: day to team to field. */
export type Pending = ReadonlyMap<string, ReadonlyMap<string, ReadonlyMap<UsageField, number>>>;

export function toBatch(pending: Pending): { adds: CounterAdd[]; raises: CounterRaise[] } {
  const adds: CounterAdd[] = [];
  const raises: CounterRaise[] = [];
  for (const [day, teams] of pending) {
    for (const [team, counts] of teams) {
      raises.push({ group: dayGroup(day), field: team, to: 1 });
      for (const [field, by] of counts) adds.push({ group: teamGroup(day, team), field, by });
    }
  }
  return { adds, raises };
}
