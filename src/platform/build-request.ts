/** A call as it goes out: the gateway's own headers stand above the caller's. Pure, but for the request id. */
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { randomId } from '../chance.js';

export interface Outgoing {
  readonly method: string;
  /** Path and query below the base URL. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | Readable | null;
  readonly token: string;
  readonly userAgent: string;
}

export function buildRequest(baseUrl: URL, outgoing: Outgoing): Dispatcher.RequestOptions {
  const given = Object.entries(outgoing.headers).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    origin: baseUrl.origin,
    path: baseUrl.pathname.replace(/\/$/, '') + outgoing.target,
    method: outgoing.method as Dispatcher.HttpMethod,
    headers: {
      'user-agent': outgoing.userAgent,
      ...Object.fromEntries(given),
      // Last, so that nothing above can stand in their place.
      accept: 'application/json',
      authorization: `Bearer ${outgoing.token}`,
      'x-request-id': randomId(),
    },
    body: outgoing.body,
  };
}
