/** 405 for addresses that exist, and the methods they do take. */
import type { FastifyInstance, HTTPMethods } from 'fastify';
import { GatewayError } from '../errors.js';

/** Answers every method of `url` that has no route of its own. To be called after the routes are registered. */
export function refuseOtherMethods(app: FastifyInstance, url: string, allowed: readonly HTTPMethods[]): void {
  const allow = allowed.join(', ');
  app.route({
    url,
    method: app.supportedMethods.filter((method) => !allowed.includes(method)),
    schema: { hide: true },
    onRequest: async () => {
      throw new GatewayError('method_not_allowed', {
        detail: `This address takes ${allow}.`,
        headers: { allow },
      });
    },
    handler: async () => undefined,
  });
}
