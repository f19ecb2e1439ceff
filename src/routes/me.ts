/** What a team may know of itself: `GET /gateway/v1/me`. */
import type { FastifyInstance } from 'fastify';
import type { Caller } from '../auth/authenticate.js';
import type { Identify } from '../auth/identify.js';
import { readKeyHeaders } from '../http/request-keys.js';
import type { Limits } from '../limits/limits.js';
import { checkAddress } from '../policy/check-address.js';
import { checkTeam } from '../policy/check-team.js';

export interface MeOptions {
  readonly identify: Identify;
  readonly limits: Pick<Limits, 'teams' | 'shares'>;
  /** The team's last 30 days; null when they cannot be read now. */
  readonly usage: (team: string) => Promise<readonly object[] | null>;
  /** State of the platform's credential, without anything secret. */
  readonly credential: () => object;
}

export function registerMe(app: FastifyInstance, { identify, limits, usage, credential }: MeOptions): void {
  app.get('/gateway/v1/me', { schema: SCHEMA }, async (request, reply) => {
    const caller = identify(readKeyHeaders(request.raw), request.trace);
    checkTeam({ caller });
    checkAddress({ caller, address: request.ip });
    const left = await leftOf(caller, limits);
    const days = await usage(caller.team.id);
    return reply
      .header('cache-control', 'private, no-store')
      .send({ ...describe(caller, left, credential()), usage: days });
  });
}

/** What is left of each limit, by the limit's own name. */
async function leftOf({ team }: Caller, { teams, shares }: MeOptions['limits']): Promise<object> {
  const { left: upstreamCallsPerDay, resetsAt } = await shares.status(team);
  return {
    requestsPerMinute: teams.rate(team).left,
    maxConcurrent: teams.concurrencyLeft(team),
    upstreamCallsPerDay,
    upstreamCallsResetAt: resetsAt,
  };
}

function describe({ team, key }: Caller, left: object, credential: object): object {
  const { id, name, scopes, advertisers, limits, defaultFormat } = team;
  return {
    team: { id, name },
    key: { id: key.id, label: key.label, expiresAt: key.expiresAt },
    scopes,
    advertisers,
    defaultFormat,
    limits,
    left,
    credential,
  };
}

const SCHEMA = {
  summary: 'Your team, its scopes, advertisers and limits',
  tags: ['gateway'],
  security: [{ bearer: [] }, { apiKey: [] }],
};
