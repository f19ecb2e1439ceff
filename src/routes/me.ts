/** What a team may know of itself: `GET /gateway/v1/me`. */
import type { FastifyInstance } from 'fastify';
import type { Caller } from '../auth/authenticate.js';
import { readKeyHeaders } from '../http/request-keys.js';
import { checkAddress } from '../policy/check-address.js';
import { checkTeam } from '../policy/check-team.js';
import type { Identify } from '../stages/identify.js';

export interface MeOptions {
  readonly identify: Identify;
  /** State of the platform's credential, without anything secret. */
  readonly credential: () => object;
}

export function registerMe(app: FastifyInstance, { identify, credential }: MeOptions): void {
  app.get('/gateway/v1/me', { schema: SCHEMA }, async (request, reply) => {
    const caller = identify(readKeyHeaders(request.raw), request.trace);
    checkTeam({ caller });
    checkAddress({ caller, address: request.ip });
    return reply.header('cache-control', 'private, no-store').send(describe(caller, credential()));
  });
}

function describe({ team, key }: Caller, credential: object): object {
  const { id, name, scopes, advertisers, limits, defaultFormat } = team;
  return {
    team: { id, name },
    key: { id: key.id, label: key.label, expiresAt: key.expiresAt },
    scopes,
    advertisers,
    defaultFormat,
    limits,
    credential,
  };
}

const SCHEMA = {
  summary: 'Your team, its scopes, advertisers and limits',
  tags: ['gateway'],
  security: [{ bearer: [] }, { apiKey: [] }],
};
