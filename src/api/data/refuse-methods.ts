/** 405 below a prefix. What has an address of its own needs no more than its routes: `api/http/not-found.ts` tells of them. */
import type { FastifyInstance, HTTPMethods } from 'fastify';
import { wrongMethod } from '../http/not-found.js';

/** @param url ends in a wildcard: every method of it is answered that has no route. To be called after the routes are registered. */
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
