/**
 * The plainest request there is: GET or HEAD without a body, one host, at most one of each header that matters, and
 * nothing to agree on first. Read once over the raw headers, for this is the way of most requests.
 */
import type { IncomingMessage } from 'node:http';
import type { KeyHeaders } from '../../auth/authenticate.js';

export interface SimpleRequest {
  readonly method: 'GET' | 'HEAD';
  /** Path and query, as received. */
  readonly target: string;
  readonly keys: KeyHeaders;
  readonly accept: string | undefined;
  readonly acceptEncoding: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

/** Header names whose presence alone makes a request one that is not simple. */
const NOT_SIMPLE = new Set([
  'cache-control',
  'content-length',
  'expect',
  'http2-settings',
  'origin',
  'pragma',
  'range',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const NONE: readonly string[] = [];

const READ: ReadonlyMap<string, number> = new Map([
  ['host', 0],
  ['authorization', 1],
  ['x-api-key', 2],
  ['accept', 3],
  ['accept-encoding', 4],
  ['if-none-match', 5],
]);

type Received = Pick<IncomingMessage, 'method' | 'url' | 'httpVersion'> & {
  readonly rawHeaders: readonly string[];
};

/** @returns null for every other request */
export function readSimpleRequest({ method, url, httpVersion, rawHeaders }: Received): SimpleRequest | null {
  if ((method !== 'GET' && method !== 'HEAD') || httpVersion !== '1.1' || url === undefined) return null;
  const values: (string | undefined)[] = [undefined, undefined, undefined, undefined, undefined, undefined];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase();
    const place = READ.get(name);
    if (place !== undefined) {
      if (values[place] !== undefined) return null;
      values[place] = rawHeaders[at + 1] as string;
    } else if (NOT_SIMPLE.has(name)) return null;
  }
  const [host, authorization, apiKey, accept, acceptEncoding, ifNoneMatch] = values;
  if (host === undefined) return null;
  const keys = {
    authorization: authorization === undefined ? NONE : [authorization],
    apiKey: apiKey === undefined ? NONE : [apiKey],
  };
  return { method, target: url, keys, accept, acceptEncoding, ifNoneMatch };
}
