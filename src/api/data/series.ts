/** What the gateway counted of the caller's own team over time: `GET /gateway/v1/series`. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { GatewayError } from '../../errors.js';
import { StoreUnavailable } from '../../store/port.js';
import type { Identify } from '../../teams/auth/authenticate.js';
import { checkTeam } from '../../teams/policy/authorize.js';
import { checkAddress } from '../../teams/policy/check-address.js';
import type { Series } from '../../teams/series/create-series.js';
import { isRange, NO_RANGE, RANGE, SHOWN_SERIES } from '../../teams/series/describe.js';
import type { Range } from '../../teams/series/shape.js';
import { readKeyHeaders } from '../http/request-keys.js';
import { json, type Operation, shownToTeams } from '../openapi/operation.js';

export interface OwnSeriesOptions {
  readonly identify: Identify;
  readonly series: Pick<Series, 'read'>;
}

const SERIES_PATH = '/gateway/v1/series';

export function registerOwnSeries(app: FastifyInstance, { identify, series }: OwnSeriesOptions): void {
  app.get(
    SERIES_PATH,
    shownToTeams('gateway', 'Requests, outcomes, calls and latency of your team over time', OPERATION),
    async (request, reply) => {
      const caller = identify(readKeyHeaders(request.raw), request.trace);
      checkTeam(caller);
      checkAddress(caller, request.ip);
      const range = readRange(request.query);
      const { id, limits } = caller.team;
      const team = { id, callsPerDay: limits.upstreamCallsPerDay, lives: 'present' } as const;
      const shown = await series.read(range, team).catch((error: unknown) => {
        throw error instanceof StoreUnavailable ? storeAway(error) : error;
      });
      return reply.header('cache-control', 'private, no-store').send(shown);
    },
  );
}

/** @throws GatewayError `invalid_query`, for what it does not know, too: a misspelt name is not to be taken for its absence */
function readRange(query: unknown): Range {
  const { range, ...others } = query as Readonly<Record<string, unknown>>;
  const errors = Object.keys(others).map((param) => ({
    param,
    message: 'is not known; there is range alone',
  }));
  if (isRange(range) && errors.length === 0) return range;
  throw new GatewayError('invalid_query', {
    errors: isRange(range) ? errors : [{ param: 'range', message: NO_RANGE }, ...errors],
  });
}

function storeAway(cause: StoreUnavailable): GatewayError {
  return new GatewayError('not_ready', {
    detail:
      'The store cannot be reached, so what was counted cannot be read. Reports may be answered all the same.',
    retryAfterS: 5,
    cause,
  });
}

const OPERATION: Operation = {
  id: 'getOwnSeries',
  query: Type.Object({ range: RANGE }),
  answers: { 200: json(SHOWN_SERIES, 'By the hour.', ['cache-control']) },
  problems: ['invalid_query', 'not_ready'],
};
