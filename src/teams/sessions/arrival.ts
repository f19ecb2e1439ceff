/** What of a request tells where it comes from: as the browser sees it, behind trusted proxies resolved. */
import type { FastifyRequest } from 'fastify';

export interface Arrival {
  readonly method: string;
  readonly host: string;
  /** Of the page that this host serves. */
  readonly ownOrigin: string;
  /** As the browser said it; undefined where it did not. */
  readonly origin: string | undefined;
  readonly cookie: string | undefined;
  readonly csrf: string | undefined;
  /** Whether a cookie for it has to be kept to TLS. */
  readonly secure: boolean;
}

/** This machine, as a browser names it. */
const LOOPBACK_HOST = /^(?:localhost|[a-z0-9.-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/;
const LOOPBACK = /^(?:::ffff:)?127\.|^::1$/;

export function arrivalOf(request: FastifyRequest): Arrival {
  const { method, headers, host, protocol, ip, raw } = request;
  const { origin, cookie, 'x-csrf-token': csrf } = headers;
  // Whoever comes by a name from elsewhere may have come through a TLS proxy on this machine that nobody told us of.
  const isHere =
    LOOPBACK.test(raw.socket.remoteAddress ?? '') && LOOPBACK.test(ip) && LOOPBACK_HOST.test(host);
  return {
    ...{ method, host, origin, cookie },
    ownOrigin: `${protocol}://${host}`,
    csrf: typeof csrf === 'string' ? csrf : undefined,
    secure: protocol === 'https' || !isHere,
  };
}
