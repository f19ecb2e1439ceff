import type { IncomingHttpHeaders } from 'node:http';

/** @returns the token of `authorization: Bearer <token>`, or undefined (RFC 6750, section 2.1) */
export function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
  return /^bearer +(\S+)$/i.exec(authorization ?? '')?.[1];
}
