/** Calls with an admin token in a header: counted, and audited where people sign in with their company account only. */
import type { FastifyRequest } from 'fastify';
import type { Services } from '../../server/services.js';
import { noteEvent } from '../../telemetry/audit.js';

/** Scraped several times a minute. */
const METRICS = '/metrics';

export function createNoteBearer(services: Services) {
  const { config, metrics } = services;
  return async (request: FastifyRequest): Promise<void> => {
    metrics.count('admin_bearer_calls', {});
    const { method, routeOptions, actor } = request;
    if (config.auth.tokenSignIn || routeOptions.url === METRICS) return;
    const event = { action: 'token.use', subject: `${method} ${routeOptions.url}` };
    // The token opens the gateway also when the audit cannot be written.
    await noteEvent(services, event, actor).catch((error: unknown) => {
      request.log.warn(
        { err: error, admin: actor.name },
        'failed to record the use of an admin token in the audit',
      );
    });
  };
}
