/** The counters of a team's day, as shown. Pure. */
import Type, { type TInteger } from 'typebox';
import { AT, type Cell, requestsOf } from '../tally/cell.js';

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

/** What the day's counts are in the terms of usage. Collapsed requests waited for the platform like misses, failed ones in vain. */
export function usageOf(day: string, team: string, cell: Cell): UsageDay {
  const sum = (...places: readonly number[]) => places.reduce((all, at) => all + (cell[at] as number), 0);
  const byMcp = sum(AT.viaMcp);
  return {
    ...{ day, team },
    requests: requestsOf(cell),
    hits: sum(AT.hit),
    stale: sum(AT.stale, AT.staleIfError),
    misses: sum(AT.miss, AT.refresh, AT.collapsed, AT.failed),
    upstreamCalls: sum(AT.platformCalls),
    upstreamCallsSaved: sum(AT.platformCallsSaved),
    rows: sum(AT.rows),
    bytesOut: sum(AT.bytesOut),
    errors: sum(AT.errors),
    rateLimited: sum(AT.rateLimited),
    ...(byMcp === 0 ? {} : { [BY_MCP]: byMcp }),
  };
}
