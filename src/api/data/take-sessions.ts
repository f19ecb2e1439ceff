/** What a cookie is good for on the data plane: it reads, and makes the gateway's own calls, and no others. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import { arrivalOf } from '../../sessions/arrival.js';
import { judgeSession } from '../../sessions/judge.js';
import type { Session, Sessions } from '../../sessions/sessions.js';
import { isKeyless, noteSession, readKeyHeaders } from '../http/request-keys.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a request that is made by cookie. */
    session: Session | null;
  }
}

export const EXPLORER_SESSION_PATH = '/gateway/v1/session';
const OWN_CALLS = '/gateway/v1/';
const PLATFORM_CALLS = '/api/v1/';

/** What the platform answers may be a page, whose script would run in the name of whoever is signed in. */
const NO_PAGE = {
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'x-content-type-options': 'nosniff',
};

/**
 * Finds the session of each call that would take a key and has none, before it is asked who calls. What is wrong with it is
 * told there, and nowhere else: a page is not refused for a cookie that has ended.
 */
export function takeSessions(app: FastifyInstance, sessions: Sessions): void {
  app.decorateRequest('session', null);
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.headers.cookie === undefined || !isForKeys(request)) return done();
    sessionFor(request, sessions).then(
      (session) => {
        request.session = session;
        if (session !== null) noteSession(request.raw, session);
        done();
      },
      (error: Error) => {
        if (!(error instanceof GatewayError)) return done(error);
        noteSession(request.raw, error);
        done();
      },
    );
  });
  // What one person has seen is not left in the browser for the next.
  app.addHook('onSend', async (request, reply, payload) => {
    if (request.session === null) return payload;
    reply.header('cache-control', 'private, no-store');
    if (!request.url.startsWith(OWN_CALLS)) reply.headers(NO_PAGE);
    return payload;
  });
}

function isForKeys({ method, raw, routeOptions: { url = '' } }: FastifyRequest): boolean {
  if (method === 'POST' && url === EXPLORER_SESSION_PATH) return false;
  const isCall = url.startsWith(OWN_CALLS) || url.startsWith(PLATFORM_CALLS);
  return isCall && isKeyless(readKeyHeaders(raw));
}

/** @throws GatewayError `invalid_session`, `session_forbidden`, `not_ready` */
async function sessionFor(request: FastifyRequest, sessions: Sessions): Promise<Session | null> {
  const { method, routeOptions } = request;
  const session = await judgeSession(arrivalOf(request), sessions);
  const isRead = method === 'GET' || method === 'HEAD';
  if (session === null || isRead || (routeOptions.url ?? '').startsWith(OWN_CALLS)) return session;
  throw new GatewayError('session_forbidden', {
    detail: `${method} below ${PLATFORM_CALLS} is not done by cookie: a session only reads there.`,
    help: 'Send the team key in authorization or x-api-key.',
  });
}
