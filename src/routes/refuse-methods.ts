/** 405 for addresses that exist, and the methods they do take. */
import type { FastifyInstance, HTTPMethods } from 'fastify';
import { wrongMethod } from '../http/not-found.js';

/** Answers every method of `url` that has no route of its own. To be called after the routes are registered. */
export function refuseOtherMethods(app: FastifyInstance, url: string, allowed: readonly HTTPMethods[]): void {
  app.route({
    url,
    method: app.supportedMethods.filter((method) => !allowed.includes(method)),
    schema: { hide: true },
    onRequest: async () => {
      throw wrongMethod(allowed);
    },
    handler: async () => undefined,
  });
}
