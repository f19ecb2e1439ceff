/** Request and response headers, described once for all operations. */
import Type, { type TSchema } from 'typebox';

/** Without `accept`, `content-type` and `authorization`: OpenAPI describes them elsewhere. */
export const REQUEST_HEADERS = {
  'cache-control': text(
    'no-cache and max-age=N request fresher data (ignored without the scope cache:refresh); max-stale=N accepts older data; only-if-cached makes no platform call.',
  ),
  'if-none-match': text('One or more ETags; 304 if the answer matches.'),
  'accept-encoding': text('br, gzip, or zstd if the runtime supports it.'),
  'idempotency-key': Type.String({
    pattern: '^[\\x20-\\x7e]{1,255}$',
    description: 'The call is sent to the platform once; repeats with the same key get the first answer.',
  }),
  'x-write-checksum': text(
    'The checksum of a dry run (_dryRun=1); 422 if method, path, query or body differ.',
  ),
  'x-csrf-token': text('The csrf of the session, for calls by cookie.'),
  'if-match': text('Passed to the platform.'),
  'if-modified-since': text('Passed to the platform.'),
} as const satisfies Record<string, TSchema>;

export type RequestHeader = keyof typeof REQUEST_HEADERS;

/** Of every report, and of its 304. Values: `headersOf` (`reports/cache/reply.ts`). */
const OF_REPORTS = {
  'cache-status': text(
    'RFC 9211. hit: no platform call was made; fresh for ttl more seconds, negative: past that. fwd=miss, stale or request: the platform was called. days=2/7: 2 of 7 days were fetched, 5 were cached; totals after it: those of _totals=1 were fetched.',
  ),
  age: Type.Integer({ minimum: 0, description: 'Seconds since the oldest part was fetched.' }),
  'cache-control': text("How long the caller's cache may keep the answer."),
  etag: text(
    'Strong, for if-none-match. Of a JSON report it covers meta too, so it changes with asOf although rows may be the same; of CSV and NDJSON rows, columns and warnings alone. report-revision identifies the rows.',
  ),
  vary: text('Request headers on which the answer depends.'),
  'report-revision': text('Identifies the rows of a report that is cached by day.'),
  'report-warnings': text('For CSV, NDJSON and raw: the codes of meta.warnings, separated by commas.'),
};
export const REPORT_HEADERS = Object.keys(OF_REPORTS) as (keyof typeof OF_REPORTS)[];

export const RESPONSE_HEADERS = {
  'x-request-id': text('Id of this request, also in the log.'),
  ...OF_REPORTS,
  'stream-next-offset': text('Where the next request goes on; see Durable Streams 1.0.'),
  'stream-up-to-date': Type.Literal('true', { description: 'There was nothing more.' }),
  'stream-cursor': text('For the next live request, as cursor.'),
  'changes-since': text('Time of the oldest change that is kept.'),
  'changes-voiding': text('Endpoint and split of the reports whose days are being withdrawn just now.'),
  'x-content-type-options': Type.Literal('nosniff'),
  'cross-origin-resource-policy': Type.Literal('same-origin'),
  'x-accel-buffering': text('Tells proxies not to buffer the answer.'),
  'content-encoding': text('Compression of the body; absent: none.'),
  'content-disposition': text('File name of the body.'),
  'last-modified': text("The platform's own."),
  'idempotency-replayed': Type.Literal('true', {
    description: 'The recorded answer of the first call; the platform was not called.',
  }),
  ratelimit: text('Remaining requests of the team (r), and seconds (t) until the limit is reset.'),
  'ratelimit-policy': text("The team's limit: q requests within w seconds."),
  'gateway-budget': text(
    'From 80 % of the daily platform calls on: percent used, and when they are exhausted at this pace (UTC). RFC 9651.',
  ),
  location: text('URL of the created resource.'),
  'set-cookie': text('The session cookie, HttpOnly.'),
  'retry-after': Type.Integer({ minimum: 0, description: 'Seconds to wait before the next attempt.' }),
  'www-authenticate': text('Required authentication scheme.'),
} as const satisfies Record<string, TSchema>;

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** Useful only to browsers and proxies, or readable by pages anyway (Fetch, "CORS-safelisted response-header name"). */
const NOT_EXPOSED = [
  'cache-control',
  'content-encoding',
  'cross-origin-resource-policy',
  'last-modified',
  'set-cookie',
  'vary',
  'www-authenticate',
  'x-accel-buffering',
  'x-content-type-options',
];

/** Response headers that pages of other origins may read. */
export const EXPOSED_HEADERS = Object.keys(RESPONSE_HEADERS)
  .filter((name) => !NOT_EXPOSED.includes(name))
  .sort();

function text(description: string) {
  return Type.String({ description });
}
