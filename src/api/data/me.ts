/** What a team may know of itself: `GET /gateway/v1/me`. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import type { Frozen } from '../../lib/record.js';
import { Outlook } from '../../platform/credential/outlook.js';
import type { Caller, Identify } from '../../teams/auth/authenticate.js';
import { ShownTeam } from '../../teams/auth/team.js';
import type { Limits } from '../../teams/limits/limits.js';
import { checkTeam } from '../../teams/policy/authorize.js';
import { checkAddress } from '../../teams/policy/check-address.js';
import { OwnUsageDay } from '../../teams/usage/usage-day.js';
import { readKeyHeaders } from '../http/request-keys.js';
import { json, type Operation } from '../openapi/operation.js';

export interface MeOptions {
  readonly identify: Identify;
  readonly limits: Pick<Limits, 'teams' | 'shares'>;
  /** The team's last 30 days; null when they cannot be read now. */
  readonly usage: (team: string) => Promise<Me['usage']>;
  /** State of the platform's credential, without anything secret. */
  readonly credential: () => Me['credential'];
}

/** What a caller may know of itself. */
export function createShowMe({
  limits,
  usage,
  credential,
}: Omit<MeOptions, 'identify'>): (caller: Caller) => Promise<Me> {
  return async (caller) => {
    const left = await leftOf(caller, limits);
    const days = await usage(caller.team.id);
    return { ...describe(caller, left, credential()), usage: days };
  };
}

export function registerMe(app: FastifyInstance, options: MeOptions): void {
  const showMe = createShowMe(options);
  app.get('/gateway/v1/me', { schema: SCHEMA, config: { operation: OPERATION } }, async (request, reply) => {
    const caller = options.identify(readKeyHeaders(request.raw), request.trace);
    checkTeam(caller);
    checkAddress(caller, request.ip);
    return reply.header('cache-control', 'private, no-store').send(await showMe(caller));
  });
}

/** What is left of each limit, by the limit's own name. */
async function leftOf({ team }: Caller, { teams, shares }: MeOptions['limits']): Promise<Me['left']> {
  const { left: upstreamCallsPerDay, resetsAt } = await shares.status(team);
  return {
    requestsPerMinute: teams.rate(team).left,
    maxConcurrent: teams.concurrencyLeft(team),
    upstreamCallsPerDay,
    upstreamCallsResetAt: resetsAt,
  };
}

function describe({ team, key }: Caller, left: Me['left'], credential: Me['credential']): Omit<Me, 'usage'> {
  const { id, name, scopes, advertisers, limits, defaultFormat } = team;
  return {
    team: { id, name },
    key: { id: key.id, label: key.label, createdAt: key.createdAt, expiresAt: key.expiresAt },
    scopes,
    advertisers,
    defaultFormat,
    limits,
    left,
    credential,
  };
}

const ME = Type.Object(
  {
    team: Type.Object({ id: Type.String(), name: Type.String() }),
    key: Type.Object({
      id: Type.String(),
      label: Type.String(),
      createdAt: Type.String({ format: 'date-time' }),
      expiresAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
        description: 'Null: it does not expire.',
      }),
    }),
    scopes: ShownTeam.properties.scopes,
    advertisers: ShownTeam.properties.advertisers,
    defaultFormat: ShownTeam.properties.defaultFormat,
    limits: ShownTeam.properties.limits,
    left: Type.Object(
      {
        requestsPerMinute: Type.Integer(),
        maxConcurrent: Type.Integer(),
        upstreamCallsPerDay: Type.Integer(),
        upstreamCallsResetAt: Type.String({ format: 'date-time' }),
      },
      { description: 'What is left of each limit.' },
    ),
    credential: Outlook,
    usage: Type.Union([Type.Array(OwnUsageDay), Type.Null()], {
      description: 'The last 30 days that have any, newest last; null while they cannot be read.',
    }),
  },
  { title: 'Me' },
);
export type Me = Frozen<Static<typeof ME>>;

const SCHEMA = {
  summary: 'Your team, its scopes, advertisers and limits',
  tags: ['gateway'],
  security: [{ bearer: [] }, { apiKey: [] }],
};

const OPERATION: Operation = {
  id: 'getMe',
  answers: { 200: json(ME, 'Your team.', ['cache-control']) },
};
