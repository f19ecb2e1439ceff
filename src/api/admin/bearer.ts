/** Calls with an admin token in a header: counted, and audited where people sign in with their company account only. */
import type { FastifyRequest } from 'fastify';
import type { Services } from '../../server/services.js';
import { auditLine } from '../../telemetry/audit.js';

/** Scraped several times a minute. */
const METRICS = '/metrics';

export function createNoteBearer({ config, metrics, registry, clock }: Services) {
  return async (request: FastifyRequest): Promise<void> => {
    metrics.count('admin_bearer_calls', {});
    const { method, routeOptions, actor } = request;
    if (config.auth.tokenSignIn || routeOptions.url === METRICS) return;
    const event = { action: 'token.use', subject: `${method} ${routeOptions.url}` };
    const audit = [auditLine(event, actor, clock.now())];
    // The token opens the gateway also when the audit cannot be written.
    await registry.commit({ writes: new Map(), audit }).catch((error: unknown) => {
      request.log.warn(
        { err: error, admin: actor.name },
        'failed to record the use of an admin token in the audit',
      );
    });
  };
}
