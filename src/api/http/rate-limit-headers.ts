/** `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10). */
import type { FastifyInstance } from 'fastify';
import type { RateStanding } from '../../limits/team-limits.js';

export function rateLimitHeaders({ limit, left, resetS }: RateStanding): Record<string, string> {
  return {
    'ratelimit-policy': `"team";q=${limit};w=60`,
    ratelimit: `"team";r=${left};t=${resetS}`,
  };
}

/**
 * Puts them on every answer to a team that is known, whatever the answer is.
 * @param quotaOf null when there is no such team any more
 */
export function registerRateLimitHeaders(
  app: FastifyInstance,
  quotaOf: (teamId: string) => RateStanding | null,
): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const { team } = request.trace;
    const status = team === null ? null : quotaOf(team);
    if (status !== null) reply.headers(rateLimitHeaders(status));
    done(null, payload);
  });
}
