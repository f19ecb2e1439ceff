/** What the gateway counts of itself over time, for charts and the ledger of teams. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Directory } from '../auth/directory.js';
import { type FieldFault, GatewayError } from '../errors.js';
import { json, type Operation, shownAs } from '../openapi/operation.js';
import type { Series } from '../series/create-series.js';
import { isRange, NO_RANGE, RANGE, SHOWN_LEDGER, SHOWN_SERIES } from '../series/describe.js';
import type { Range } from '../series/shape.js';
import { NO_TEAM_ID, TEAM_ID } from './usage.js';

export interface SeriesRoutesOptions {
  readonly series: Pick<Series, 'read' | 'ledger'>;
  readonly directory: Pick<Directory, 'team'>;
}

const ONE: Operation = {
  id: 'getSeries',
  query: Type.Object({
    range: RANGE,
    team: Type.Optional(Type.String({ description: 'Only this one, by the hour.' })),
  }),
  answers: {
    200: json(
      SHOWN_SERIES,
      '1h by the minute, 24h by five minutes; 30d, and whatever is of a team, by the hour.',
    ),
  },
  problems: ['invalid_query', 'not_ready'],
};

const LEDGER: Operation = {
  id: 'getSeriesOfTeams',
  query: Type.Object({ range: RANGE }),
  answers: {
    200: json(
      SHOWN_LEDGER,
      'Teams of which anything was counted, by id. By whole hours: 1h is the hour under way and the one before.',
    ),
  },
  problems: ['invalid_query', 'not_ready'],
};

export function registerSeries(app: FastifyInstance, { series, directory }: SeriesRoutesOptions): void {
  app.get(
    '/admin/v1/series',
    shownAs('series', 'Requests, outcomes, calls and latency over time', ONE),
    async (request) => {
      const { range, team } = readQuery(request.query);
      if (team === undefined) return await series.read(range, null);
      const callsPerDay = directory.team(team)?.limits.upstreamCallsPerDay ?? null;
      return await series.read(range, { id: team, callsPerDay, lives: 'all' });
    },
  );
  app.get(
    '/admin/v1/series/teams',
    shownAs('series', 'The same by team, summed up', LEDGER),
    async (request) => {
      const { range } = readQuery(request.query);
      return { range, teams: await series.ledger(range, (id) => directory.team(id)?.name) };
    },
  );
}

function readQuery(query: unknown): { readonly range: Range; readonly team?: string } {
  const { range, team } = query as { readonly range?: unknown; readonly team?: unknown };
  const faults: FieldFault[] = [];
  if (team !== undefined && !(typeof team === 'string' && TEAM_ID.test(team)))
    faults.push({ param: 'team', message: NO_TEAM_ID });
  if (!isRange(range)) faults.unshift({ param: 'range', message: NO_RANGE });
  if (!isRange(range) || faults.length > 0) throw new GatewayError('invalid_query', { errors: faults });
  return { range, ...(team === undefined ? {} : { team: team as string }) };
}
