/** What the gateway counts of itself over time, for charts and the ledger of teams. */
import type { FastifyInstance } from 'fastify';
import type { Directory } from '../../teams/auth/directory.js';
import type { Series } from '../../teams/series/create-series.js';
import { getSeries, getSeriesOfTeams } from '../operations/overview.js';
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
