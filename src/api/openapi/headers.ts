/** The headers that requests and answers may have, described once for all operations. */
import Type, { type TSchema } from 'typebox';

/** Without `accept`, `content-type` and `authorization`, which OpenAPI has places of their own for. */
export const REQUEST_HEADERS = {
  'cache-control': text(
    'no-cache and max-age=N ask for fresher (scope cache:refresh, ignored without); max-stale=N takes older; only-if-cached makes no platform call.',
  ),
  'if-none-match': text('An ETag, or several: an answer that is the same is a 304.'),
  'accept-encoding': text('br, gzip, or zstd where the runtime has it.'),
  'idempotency-key': Type.String({
    pattern: '^[\\x20-\\x7e]{1,255}$',
    description: 'The call reaches the platform once; a repeat with the same key gets the first answer.',
  }),
  'x-write-checksum': text(
    'The checksum of a dry run (_dryRun=1): another method, path, query or body is refused (422).',
  ),
  'x-csrf-token': text('The csrf of the session, where the call is made by cookie.'),
  'if-match': text("The platform's own; passed on."),
  'if-modified-since': text("The platform's own; passed on."),
} as const satisfies Record<string, TSchema>;

export type RequestHeader = keyof typeof REQUEST_HEADERS;

/** Of every report, and of a 304: `headersOf` (`reports/cache/reply.ts`) gives them their values. */
const OF_REPORTS = {
  'cache-status': text(
    'RFC 9211: hit, or fwd with its reason; ttl, stored, and a detail such as l1 or days=2/7.',
  ),
  age: Type.Integer({ minimum: 0, description: 'Seconds since the oldest part was fetched.' }),
  'cache-control': text('How long a cache of the caller may keep the answer.'),
  etag: text('Strong, for if-none-match.'),
  vary: text('Request headers that the answer depends on.'),
  'report-revision': text('Names the rows of a report that is split by day.'),
  'report-warnings': text(
    'Of CSV, NDJSON and raw: the codes that meta.warnings has in JSON, with commas between them.',
  ),
};
export const REPORT_HEADERS = Object.keys(OF_REPORTS) as (keyof typeof OF_REPORTS)[];

export const RESPONSE_HEADERS = {
  'x-request-id': text('Of this request; it is in the log, too.'),
  ...OF_REPORTS,
  'x-accel-buffering': text('Asks a proxy to pass the answer on as it comes.'),
  'content-encoding': text('How the body is compressed; absent: not at all.'),
  'content-disposition': text('How to save the body.'),
  'last-modified': text("The platform's own."),
  'idempotency-replayed': Type.Literal('true', {
    description: 'Answered from the record of the first call; the platform was not asked.',
  }),
  ratelimit: text("What is left of the team's requests: r, and t seconds until they are whole again."),
  'ratelimit-policy': text("The team's requests: q within w seconds."),
  location: text('Where what was made can be read.'),
  'set-cookie': text('The session, for the browser alone.'),
  'retry-after': Type.Integer({ minimum: 0, description: 'Seconds to wait before the next try.' }),
  'www-authenticate': text('How to show who calls.'),
} as const satisfies Record<string, TSchema>;

export type ResponseHeader = keyof typeof RESPONSE_HEADERS;

/** Of use to the browser or a proxy alone, or readable for every page anyway (Fetch, "CORS-safelisted response-header name"). */
const NOT_EXPOSED = [
  'cache-control',
  'content-encoding',
  'last-modified',
  'set-cookie',
  'vary',
  'www-authenticate',
  'x-accel-buffering',
];

/** What an app in a browser may read of an answer's headers. */
export const EXPOSED_HEADERS = Object.keys(RESPONSE_HEADERS)
  .filter((name) => !NOT_EXPOSED.includes(name))
  .sort();

function text(description: string) {
  return Type.String({ description });
}
