/** CORS: the origins whose pages may read answers of the data plane, and the headers they may read. */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { EXPOSED_HEADERS } from '../openapi/headers.js';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/**
 * Called before any hook that may refuse a request: pages must be able to read a 404, too.
 * @param origins none: no CORS headers
 */
export function registerCors(app: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return;
  const flat = corsWithoutOrigin(origins);
  const withoutOrigin = Object.fromEntries(
    flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] as string]] : [])),
  );
  app.addHook('onRequest', (request, reply, done) => {
    if (request.headers.origin === undefined) return done(void reply.headers(withoutOrigin));
    const { preflight, headers } = corsOf(request.raw, origins);
    reply.headers(headers);
    if (!preflight) return done();
    // The actual request checks whether the address exists.
    void reply.code(204).header('vary', PREFLIGHT_VARY).send();
  });
  app.addHook('onSend', varyByOrigin);
}

export const PREFLIGHT_VARY = 'origin, access-control-request-headers';

async function varyByOrigin(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const vary = String(reply.getHeader('vary') ?? '');
  if (!/\borigin\b/i.test(vary)) reply.header('vary', vary === '' ? 'origin' : `${vary}, origin`);
}

/** Header names and values for requests without origin, answered before any hook. */
export function corsWithoutOrigin(origins: readonly string[]): readonly string[] {
  if (origins.length === 0) return [];
  const exposed = ['access-control-expose-headers', EXPOSED_HEADERS.join(', ')];
  return origins.includes('*') ? ['access-control-allow-origin', '*', ...exposed] : exposed;
}

/** For requests with an origin. */
export function corsOf({ method, headers }: IncomingMessage, origins: readonly string[]) {
  const { origin, 'access-control-request-headers': asked } = headers;
  if (origin === undefined || !(origins.includes('*') || origins.includes(origin)))
    return { preflight: false, headers: {} };
  const allowed = {
    'access-control-allow-origin': origins.includes('*') ? '*' : origin,
    'access-control-expose-headers': EXPOSED_HEADERS.join(', '),
  };
  const preflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
  if (!preflight) return { preflight, headers: allowed };
  return {
    preflight,
    headers: {
      ...allowed,
      'access-control-allow-methods': METHODS.join(', '),
      ...(asked === undefined ? {} : { 'access-control-allow-headers': asked }),
    },
  };
}
