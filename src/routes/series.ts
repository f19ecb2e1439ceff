/** What the gateway counted of the caller's own team over time: `GET /gateway/v1/series`. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import type { Identify } from '../auth/identify.js';
import { GatewayError } from '../errors.js';
import { readKeyHeaders } from '../http/request-keys.js';
import { json, type Operation, shownToTeams } from '../openapi/operation.js';
import { checkAddress } from '../policy/check-address.js';
import { checkTeam } from '../policy/check-team.js';
import type { Series } from '../series/create-series.js';
import { isRange, NO_RANGE, RANGE, SHOWN_SERIES } from '../series/describe.js';
import { StoreUnavailable } from '../store/port.js';

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
      checkTeam({ caller });
      checkAddress({ caller, address: request.ip });
      const { range } = request.query as { readonly range?: unknown };
      if (!isRange(range))
        throw new GatewayError('invalid_query', { errors: [{ param: 'range', message: NO_RANGE }] });
      const { id, limits } = caller.team;
      const team = { id, callsPerDay: limits.upstreamCallsPerDay };
      const shown = await series.read(range, team).catch((error: unknown) => {
        throw error instanceof StoreUnavailable ? storeAway(error) : error;
      });
      return reply.header('cache-control', 'private, no-store').send(shown);
    },
  );
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
