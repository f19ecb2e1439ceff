/** Requests as they go over the wire, and answers without what differs between any two: to hold one way against another. */
import { head } from '../support/raw-socket.js';
import { REPORT } from '../support/start-gateway.js';

export const QUERY = 'advertiserId=1&byDate=1&byCampaign=1&dateFrom=2026-11-01&dateTo=2026-11-07';

export interface Ask {
  readonly method?: string;
  readonly query?: string;
  readonly path?: string;
  readonly version?: string;
  readonly headers?: readonly string[];
}

export function requestOf(
  key: string | null,
  { method = 'GET', query = QUERY, path = REPORT, version = '1.1', headers = [] }: Ask,
) {
  return head(`${method} ${path}${query === '' ? '' : `?${query}`} HTTP/${version}`, [
    'host: gateway.test',
    ...(key === null ? [] : [`x-api-key: ${key}`]),
    ...headers,
    'connection: close',
  ]);
}

/** What differs between any two answers: id, date, and what is left of the requests; and the order of headers. */
export function masked(answer: string): string {
  const [top = '', ...body] = answer.split('\r\n\r\n');
  const [status = '', ...headers] = top.split('\r\n');
  return [status, ...headers.sort(), '', ...body]
    .join('\r\n')
    .replace(/^x-request-id: .*$/im, 'x-request-id: …')
    .replace(/^date: .*$/im, 'date: …')
    .replace(/"requestId":"[^"]*"/, '"requestId":"…"')
    .replace(/^ratelimit: .*$/im, 'ratelimit: …');
}

/** Whom the router answers. */
interface Asked {
  readonly key: string;
  readonly routed: (request: string) => Promise<string>;
}

/** Asked often enough to be at hand, in the very form in which it is asked. */
export async function warm({ routed, key }: Asked, ask: Ask): Promise<void> {
  for (let n = 0; n < 2; n++) await routed(requestOf(key, ask));
}
