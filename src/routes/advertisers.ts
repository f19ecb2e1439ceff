/** Which advertisers a team may see, with their names: `GET /gateway/v1/advertisers`. */
import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { json, type Operation, shownToTeams } from '../openapi/operation.js';
import { type AskCall, readAskCall } from '../pipeline/ask.js';

export interface AdvertiserRoutes {
  readonly showAdvertisers: { readonly ofTeam: (call: AskCall) => Promise<object> };
}

export function registerAdvertisers(app: FastifyInstance, { showAdvertisers }: AdvertiserRoutes): void {
  app.get(
    '/gateway/v1/advertisers',
    shownToTeams(
      'gateway',
      'The advertisers you may ask for, with names as far as they are known',
      OPERATION,
    ),
    async (request, reply) =>
      reply
        .header('cache-control', 'private, no-store')
        .send(await showAdvertisers.ofTeam(readAskCall(request, reply))),
  );
}

const orNull = (schema: ReturnType<typeof Type.String>, description: string) =>
  Type.Union([schema, Type.Null()], { description });

/** On both planes. */
export const ADVERTISERS = Type.Object(
  {
    advertisers: Type.Array(
      Type.Object({
        id: Type.Integer(),
        name: orNull(Type.String(), 'As an answer of the platform told it last; null: none did.'),
        lastSeenAt: orNull(
          Type.String({ format: 'date-time' }),
          'When an answer last held it, to the hour; null: none did.',
        ),
      }),
      { description: 'Those seen last come first.' },
    ),
  },
  { title: 'Advertisers' },
);

export const ADVERTISERS_QUERY = (limit: string) =>
  Type.Object({
    search: Type.Optional(
      Type.String({ description: 'Only those whose id begins so, or whose name has this in it.' }),
    ),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10_000, description: `How many; ${limit} when not given.` }),
    ),
  });

const OPERATION: Operation = {
  id: 'getAdvertisers',
  query: ADVERTISERS_QUERY('all'),
  answers: {
    200: json(
      ADVERTISERS,
      'Those of the team alone. A team of all advertisers is shown those that answers have told of.',
      ['cache-control'],
    ),
  },
  problems: ['invalid_query', 'scope_missing', 'rate_limited'],
};
