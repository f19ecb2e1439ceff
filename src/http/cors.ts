/** Pages of other origins: which of them may read the data plane's answers, and what of their headers. */
import type { IncomingMessage } from 'node:http';
import cors from '@fastify/cors';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** What an app in a browser may read of an answer's headers. */
const EXPOSED_HEADERS = [
  'age',
  'cache-status',
  'content-disposition',
  'etag',
  'idempotency-replayed',
  'location',
  'ratelimit',
  'ratelimit-policy',
  'report-revision',
  'report-warnings',
  'retry-after',
  'x-request-id',
];

/** @param origins none: answers say nothing of CORS */
export async function registerCors(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  await app.register(cors, { origin: [...origins], methods: METHODS, exposedHeaders: EXPOSED_HEADERS });
  app.addHook('onSend', varyByOrigin);
}

/** Answers say themselves what they vary by, in place of what the CORS plugin said. */
async function varyByOrigin(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const vary = String(reply.getHeader('vary') ?? '');
  if (!/\borigin\b/i.test(vary)) reply.header('vary', vary === '' ? 'origin' : `${vary}, origin`);
}

/** The same for what is answered before any plugin runs, of requests that name no origin: header names and values. */
export function corsWithoutOrigin(origins: readonly string[]): readonly string[] {
  if (origins.length === 0) return [];
  const exposed = ['access-control-expose-headers', EXPOSED_HEADERS.join(', ')];
  return origins.includes('*') ? ['access-control-allow-origin', '*', ...exposed] : exposed;
}

export interface CorsOfRefusal {
  /** A browser asks ahead whether it may ask. */
  readonly preflight: boolean;
  readonly headers: Readonly<Record<string, string>>;
}

/** The same for what the path gate answers, where no plugin runs: so that a page can read why it was refused. */
export function corsOfRefusal(
  { method, headers }: IncomingMessage,
  origins: readonly string[],
): CorsOfRefusal {
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
