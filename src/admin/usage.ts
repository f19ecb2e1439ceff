/** Usage: what each team asked for, day by day. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { type FieldFault, GatewayError } from '../errors.js';
import { json, type Operation, shownAs } from '../openapi/operation.js';
import { dayNumber } from '../reports/query/days.js';
import type { Usage } from '../usage/usage.js';
import { ShownUsageDay } from '../usage/usage-day.js';

/** Days shown when nothing is asked for: the last 30. */
const USUAL_DAYS = 30;
const MAX_DAYS = 400;

interface UsageQuery {
  readonly from?: unknown;
  readonly to?: unknown;
  readonly team?: unknown;
}

const day = (description: string) => Type.String({ format: 'date', description });

const OPERATION: Operation = {
  id: 'getUsage',
  query: Type.Object({
    from: Type.Optional(day('First day, by UTC; 29 days ago when not given.')),
    to: Type.Optional(day('Last day, by UTC; today when not given.')),
    team: Type.Optional(Type.String({ description: 'Only this one.' })),
  }),
  answers: {
    200: json(
      Type.Object({ from: day('First day.'), to: day('Last day.'), usage: Type.Array(ShownUsageDay) }),
      'By day, then by team; days without anything are left out.',
    ),
  },
  problems: ['invalid_query', 'not_ready'],
};

export function registerUsage(app: FastifyInstance, usage: Usage): void {
  const shown = shownAs('usage', 'Usage per team and day, by UTC', OPERATION);
  app.get('/admin/v1/usage', shown, async (request) => {
    const usual = usage.daysBack(USUAL_DAYS - 1);
    const { from = usual.from, to = usual.to, team } = request.query as UsageQuery;
    const faults = faultsOf({ from, to, team });
    if (faults.length > 0) throw new GatewayError('invalid_query', { errors: faults });
    const days = await usage.read(from as string, to as string, team as string | undefined);
    return { from, to, usage: days };
  });
}

function faultsOf({ from, to, team }: UsageQuery): FieldFault[] {
  const [first, last] = [dayOf(from), dayOf(to)];
  const faults: FieldFault[] = [];
  if (first === null) faults.push({ param: 'from', message: NO_DAY });
  if (last === null) faults.push({ param: 'to', message: NO_DAY });
  if (team !== undefined && !(typeof team === 'string' && TEAM_ID.test(team)))
    faults.push({ param: 'team', message: NO_TEAM_ID });
  if (first === null || last === null) return faults;
  if (last < first) faults.push({ param: 'to', message: 'must not be before from' });
  if (last - first >= MAX_DAYS)
    faults.push({ param: 'to', message: `must be at most ${MAX_DAYS} days from from` });
  return faults;
}

/** Of a team that was deleted, too: its usage stays. */
export const TEAM_ID = /^[a-z0-9-]{1,40}$/;
export const NO_TEAM_ID = 'must be the id of a team, given once';
const NO_DAY = 'must be a calendar day as YYYY-MM-DD';

function dayOf(text: unknown): number | null {
  return typeof text === 'string' ? dayNumber(text) : null;
}
