/** The caller's key as sent: every value of the two headers that may carry it; or, without either, the session. */
import type { IncomingMessage } from 'node:http';
import type { KeyHeaders } from '../../teams/auth/authenticate.js';

/** The session of a request's cookie, or its error, noted before authentication. */
const sessions = new WeakMap<IncomingMessage, KeyHeaders['session']>();

/** From `rawHeaders`: Node silently drops a second `authorization` header. */
export function readKeyHeaders(request: IncomingMessage): KeyHeaders {
  const { rawHeaders } = request;
  const authorization: string[] = [];
  const apiKey: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase();
    if (name === 'authorization') authorization.push(rawHeaders[index + 1] ?? '');
    else if (name === 'x-api-key') apiKey.push(rawHeaders[index + 1] ?? '');
  }
  // A key takes precedence over the cookie.
  const session = isKeyless({ authorization, apiKey }) ? sessions.get(request) : undefined;
  return { authorization, apiKey, ...(session === undefined ? {} : { session }) };
}

export function isKeyless({ authorization, apiKey }: KeyHeaders): boolean {
  return authorization.length === 0 && apiKey.length === 0;
}

export function noteSession(request: IncomingMessage, session: NonNullable<KeyHeaders['session']>): void {
  sessions.set(request, session);
}
