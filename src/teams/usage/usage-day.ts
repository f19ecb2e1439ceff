/** The counters of a team's day, as shown. Pure. */
import Type, { type TInteger } from 'typebox';
import { AT, REQUESTS_AT } from '../tally/cell.js';
import { fieldOf } from '../tally/groups.js';

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

/** The numbers of a day that each member is the sum of. Collapsed requests waited for the platform like misses, failed ones in vain. */
const PLACES: Readonly<Record<ShownField | typeof BY_MCP, readonly number[]>> = {
  requests: REQUESTS_AT,
  hits: [AT.hit],
  stale: [AT.stale, AT.staleIfError],
  misses: [AT.miss, AT.refresh, AT.collapsed, AT.failed],
  upstreamCalls: [AT.platformCalls],
  upstreamCallsSaved: [AT.platformCallsSaved],
  rows: [AT.rows],
  bytesOut: [AT.bytesOut],
  errors: [AT.errors],
  rateLimited: [AT.rateLimited],
  [BY_MCP]: [AT.viaMcp],
};

/** @param fields of the group of a day. Earlier releases counted each member in a field of its name */
export function usageOf(day: string, team: string, fields: ReadonlyMap<string, number>): UsageDay {
  const of = (field: ShownField | typeof BY_MCP) =>
    PLACES[field].reduce((sum, at) => sum + (fields.get(fieldOf(0, at)) ?? 0), fields.get(field) ?? 0);
  const byMcp = of(BY_MCP);
  return {
    day,
    team,
    ...(Object.fromEntries(USAGE_FIELDS.map((field) => [field, of(field)])) as UsageCounts),
    ...(byMcp === 0 ? {} : { [BY_MCP]: byMcp }),
  };
}
