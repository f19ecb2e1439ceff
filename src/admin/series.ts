/** What the gateway counts of itself over time, for charts and the ledger of teams. */
import type { FastifyInstance } from 'fastify';
import { getSeries, getSeriesOfTeams } from '../api/operations/overview.js';
import type { Directory } from '../auth/directory.js';
import type { Series } from '../series/create-series.js';
import { serve } from './serve.js';

export interface SeriesRoutesOptions {
  readonly series: Pick<Series, 'read' | 'ledger'>;
  readonly directory: Pick<Directory, 'team'>;
}

export function registerSeries(app: FastifyInstance, { series, directory }: SeriesRoutesOptions): void {
  serve(app, getSeries, async ({ query: { range, team } }) => {
    if (team === undefined) return await series.read(range, null);
    const callsPerDay = directory.team(team)?.limits.upstreamCallsPerDay ?? null;
    return await series.read(range, { id: team, callsPerDay, lives: 'all' });
  });
  serve(app, getSeriesOfTeams, async ({ query: { range } }) => ({
    range,
    teams: await series.ledger(range, (id) => directory.team(id)?.name),
  }));
}
