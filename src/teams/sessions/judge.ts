/** Whether a request may be made in the name of the session that its cookie shows. */
import { GatewayError } from '../../errors.js';
import type { Arrival } from './arrival.js';
import { readSessionCookie } from './cookie.js';
import { isSame } from './record.js';
import { invalidSession, type Session, type Sessions } from './sessions.js';

/**
 * @returns null where the request shows no session
 * @throws GatewayError `invalid_session`; `session_forbidden` for a request that another page may have made; `not_ready`
 */
export async function judgeSession(
  arrival: Arrival,
  sessions: Pick<Sessions, 'cookie' | 'find'>,
): Promise<Session | null> {
  const shown = readSessionCookie(arrival.cookie, sessions.cookie);
  if (shown === null) return null;
  if (shown === 'bad')
    throw invalidSession(
      sessions.cookie,
      `The cookie ${sessions.cookie} is not one that the gateway gave, or there are two of it.`,
    );
  const session = await sessions.find(shown.id);
  checkPage(arrival, session);
  return session;
}

function checkPage({ method, host, origin, csrf }: Arrival, session: Session): void {
  if (host !== session.host)
    throw forbidden('The session was begun at another host than this request names.');
  const isSafe = method === 'GET' || method === 'HEAD';
  if (origin === undefined ? !isSafe : origin !== session.origin)
    throw forbidden('The request does not come from the page that the session was begun in (origin).');
  if (!isSafe && (csrf === undefined || !isSame(csrf, session.csrf)))
    throw forbidden("The request lacks the session's x-csrf-token, or has another one.");
}

/**
 * A page of others must not sign anybody in, under whose name they would then work.
 * @throws GatewayError `session_forbidden`
 */
export function checkSignIn({ host, origin, ownOrigin }: Arrival): void {
  if (host === '') throw forbidden('The request names no host, which a session is bound to.');
  if (origin === undefined || origin === ownOrigin) return;
  throw new GatewayError('session_forbidden', {
    detail: `Signing in takes a request of the origin ${ownOrigin}; this one has another.`,
    help: 'Sign in on the page that the gateway serves; behind a proxy that ends TLS or names another host, have it listed in server.trustedProxies, and send x-forwarded-proto and x-forwarded-host.',
  });
}

function forbidden(detail: string): GatewayError {
  return new GatewayError('session_forbidden', { detail });
}
