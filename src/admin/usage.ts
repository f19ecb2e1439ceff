/** Usage: what each team asked for, day by day. */
import type { FastifyInstance } from 'fastify';
import { type FieldFault, GatewayError } from '../errors.js';
import { dayNumber } from '../report/days.js';
import type { Usage } from '../usage/usage.js';

/** Days shown when nothing is asked for: the last 30. */
const USUAL_DAYS = 30;
const MAX_DAYS = 400;

interface UsageQuery {
  readonly from?: unknown;
  readonly to?: unknown;
  readonly team?: unknown;
}

export function registerUsage(app: FastifyInstance, usage: Usage): void {
  const summary = 'Usage per team and day, by UTC: ?from and ?to (the last 30 days) and ?team';
  app.get('/admin/v1/usage', { schema: { tags: ['usage'], summary } }, async (request) => {
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
    faults.push({ param: 'team', message: 'must be the id of a team, given once' });
  if (first === null || last === null) return faults;
  if (last < first) faults.push({ param: 'to', message: 'must not be before from' });
  if (last - first >= MAX_DAYS)
    faults.push({ param: 'to', message: `must be at most ${MAX_DAYS} days from from` });
  return faults;
}

/** Of a team that was deleted, too: its usage stays. */
const TEAM_ID = /^[a-z0-9-]{1,40}$/;
const NO_DAY = 'must be a calendar day as YYYY-MM-DD';

function dayOf(text: unknown): number | null {
  return typeof text === 'string' ? dayNumber(text) : null;
}
