/** Usage of each team by day; counters over time, for charts and the ledger of teams. */
import type { FastifyInstance } from 'fastify';
import { invalidQuery } from '../../errors.js';
import { mustBe } from '../../lib/field-faults.js';
import { dayNumber } from '../../reports/query/days.js';
import type { Services } from '../../server/services.js';
import { getSeries, getSeriesOfTeams, getUsage } from '../operations/overview.js';
import { serve } from './serve.js';

const DEFAULT_DAYS = 30;
const MAX_DAYS = 400;

export function registerUsage(app: FastifyInstance, usage: Services['usage']): void {
  serve(app, getUsage, async ({ query }) => {
    const defaults = usage.daysBack(DEFAULT_DAYS - 1);
    const { from = defaults.from, to = defaults.to, team } = query;
    const days = (dayNumber(to) as number) - (dayNumber(from) as number) + 1;
    if (days < 1) throw invalidQuery({ param: 'to', message: 'must not be before from' });
    if (days > MAX_DAYS) throw invalidQuery(mustBe('to', `at most ${MAX_DAYS} days after from`));
    return { from, to, usage: await usage.read(from, to, team) };
  });
}

export function registerSeries(
  app: FastifyInstance,
  { series, directory, budgets, incidents }: Pick<Services, 'series' | 'directory' | 'budgets' | 'incidents'>,
): void {
  serve(app, getSeries, async ({ query: { range, team } }) => {
    if (team === undefined) {
      const read = await series.read(range, null);
      const failed = read.series.outcomes.failed.reduce((all, one) => all + one, 0);
      // What failed since is in neither.
      const ofIncidents = Math.min(failed, await incidents.failedSince(Date.parse(read.from)));
      return { ...read, failedReports: { ofIncidents, outside: failed - ofIncidents } };
    }
    const known = directory.team(team);
    const callsPerDay = known?.limits.upstreamCallsPerDay ?? null;
    const read = await series.read(range, { id: team, callsPerDay, lives: 'all' });
    const forecast = known && (await budgets.forecast(known));
    return { ...read, ...(forecast ? { forecast } : {}) };
  });
  serve(app, getSeriesOfTeams, async ({ query: { range } }) => ({
    range,
    ...(await series.ledger(range, (id) => directory.team(id)?.name)),
  }));
}
