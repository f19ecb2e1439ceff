/** The caller's key as sent: every value of the two headers that may carry it. */
import type { IncomingMessage } from 'node:http';
import type { KeyHeaders } from '../auth/authenticate.js';

/** `rawHeaders`, because Node keeps only the first of two `authorization` headers and says nothing of the other. */
export function readKeyHeaders({ rawHeaders }: IncomingMessage): KeyHeaders {
  const authorization: string[] = [];
  const apiKey: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase();
    if (name === 'authorization') authorization.push(rawHeaders[index + 1] ?? '');
    else if (name === 'x-api-key') apiKey.push(rawHeaders[index + 1] ?? '');
  }
  return { authorization, apiKey };
}
