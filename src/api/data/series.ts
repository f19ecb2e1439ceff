/** What the gateway counted of the caller's own team over time: `GET /gateway/v1/series`. */
import type { FastifyInstance } from 'fastify';
import type { Identify } from '../../teams/auth/authenticate.js';
import type { Series } from '../../teams/series/create-series.js';
import { readQuery } from '../http/read-query.js';
import { getOwnSeries } from '../operations/own.js';
import { readParameters, unlessAway } from './ask.js';
import { enter, serveTeam } from './serve.js';

export interface OwnSeriesOptions {
  readonly identify: Identify;
  readonly series: Pick<Series, 'read'>;
}

export function registerOwnSeries(app: FastifyInstance, { identify, series }: OwnSeriesOptions): void {
  serveTeam(app, getOwnSeries, async (call, request) => {
    const { id, limits } = enter(identify, request).team;
    const given = Object.fromEntries(readParameters(call.query, ['range']));
    const { range } = readQuery(getOwnSeries.query, given);
    const team = { id, callsPerDay: limits.upstreamCallsPerDay, lives: 'present' } as const;
    return await unlessAway(series.read(range, team));
  });
}
