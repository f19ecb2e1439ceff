/** Origin and cookie of a browser's request, and whether it may use the session. */
import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../errors.js';
import { invalidSession, isSame, type Session, type Sessions } from './sessions.js';

/** A request as the browser sent it, before trusted proxies. */
export interface Arrival {
  readonly method: string;
  readonly host: string;
  /** Origin of this host's own page. */
  readonly ownOrigin: string;
  readonly origin: string | undefined;
  readonly cookie: string | undefined;
  readonly csrf: string | undefined;
  /** Whether the cookie must be limited to TLS. */
  readonly secure: boolean;
}

/** Host names of this machine in browsers. */
const LOOPBACK_HOST = /^(?:localhost|[a-z0-9.-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/;
const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;

export function arrivalOf(request: FastifyRequest): Arrival {
  const { method, headers, host, protocol, ip, raw } = request;
  const { origin, cookie, 'x-csrf-token': csrf } = headers;
  // A request for another name may have come through a TLS proxy on this machine that is not configured as trusted.
  const isHere =
    LOOPBACK.test(raw.socket.remoteAddress ?? '') && LOOPBACK.test(ip) && LOOPBACK_HOST.test(host);
  return {
    method,
    host,
    origin,
    cookie,
    ownOrigin: `${protocol}://${host}`,
    csrf: typeof csrf === 'string' ? csrf : undefined,
    secure: protocol === 'https' || !isHere,
  };
}

/** 256 random bits in base64url. */
const ID_FORM = /^[A-Za-z0-9_-]{43}$/;

/** @returns the id in the session cookie; null without one. @throws GatewayError `invalid_session` */
function sessionIdIn(header: string | undefined, name: Sessions['cookie']): string | null {
  const [id, ...others] = (header ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair === name || pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  if (id === undefined) return null;
  // Another host of the domain may have set a second cookie, and it is unknown which one is right.
  if (others.length === 0 && ID_FORM.test(id)) return id;
  throw invalidSession(name, {
    detail: `The cookie ${name} is not one that the gateway gave, or there are two of it.`,
  });
}

/** @param secure false for a browser on this machine without TLS, which would not keep the cookie otherwise */
export function writeSessionCookie(name: string, id: string, maxAgeS: number, secure: boolean): string {
  return `${name}=${id}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
}

/** Deletes the cookie. */
export function endSessionCookie(name: string, secure: boolean): string {
  return writeSessionCookie(name, '', 0, secure);
}

/**
 * Checks the session cookie of a request.
 * @returns null without a cookie
 * @throws GatewayError `invalid_session`; `session_forbidden` for a request that another page may have made; `not_ready`
 */
export async function judgeSession(
  arrival: Arrival,
  sessions: Pick<Sessions, 'cookie' | 'find'>,
): Promise<Session | null> {
  const id = sessionIdIn(arrival.cookie, sessions.cookie);
  if (id === null) return null;
  const session = await sessions.find(id);
  checkPage(arrival, session);
  return session;
}

function checkPage({ method, host, origin, csrf }: Arrival, session: Session): void {
  if (host !== session.host)
    throw forbidden('The session was opened at another host than this request names.');
  const isSafe = method === 'GET' || method === 'HEAD';
  if (origin === undefined ? !isSafe : origin !== session.origin)
    throw forbidden('The origin of the request is not the page that opened the session.');
  if (!isSafe && (csrf === undefined || !isSame(csrf, session.csrf)))
    throw forbidden("The request lacks the session's x-csrf-token, or has another one.");
}

/** Another site must not sign a user in under its own name. @throws GatewayError `session_forbidden` */
export function checkSignIn({ host, origin, ownOrigin }: Arrival): void {
  if (host === '') throw forbidden('The request names no host, which a session is bound to.');
  if (origin === undefined || origin === ownOrigin) return;
  throw new GatewayError('session_forbidden', {
    detail: `Signing in is only possible from the origin ${ownOrigin}; this request has another.`,
    help: "Sign in on the gateway's own page; a proxy that ends TLS or changes the host must be in server.trustedProxies and send x-forwarded-proto and x-forwarded-host.",
  });
}

function forbidden(detail: string): GatewayError {
  return new GatewayError('session_forbidden', { detail });
}
