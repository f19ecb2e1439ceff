/**
 * Every error a caller can be shown: its code, status, title, and what it means.
 *
 * The shape is problem+json (RFC 9457). What is shown (`detail`) and what is only logged (`internal`, `cause`)
 * are separate members, so that an internal message can never reach a caller by accident.
 */

interface Entry {
  readonly status: number;
  /** On the admin plane, where it has another one there. */
  readonly adminStatus?: number;
  readonly title: string;
  /** Shown on the error's page in the docs, and as `detail` when the thrower says nothing better. */
  readonly meaning: string;
  /** What to do next, in one sentence; shown on the error's page, and as `help` where the thrower names nothing more exact. */
  readonly remedy: string;
}

export const CATALOGUE = {
  invalid_query: {
    status: 400,
    title: 'Invalid query',
    meaning: 'A query parameter is unknown to the gateway, misspelt, given twice, or out of range.',
    remedy: 'Read `errors`, which names each parameter and what is allowed, correct those and repeat.',
  },
  invalid_body: {
    status: 400,
    adminStatus: 422,
    title: 'Invalid body',
    meaning: 'The request body is not the JSON that this call takes.',
    remedy: 'Send one JSON object without duplicate members; `errors` names each member and what is allowed.',
  },
  invalid_path: {
    status: 400,
    title: 'Invalid path',
    meaning: 'The path is not in its plain form.',
    remedy:
      'Use segments of A-Z a-z 0-9 . _ ~ - only, none empty, no percent-encoding, no trailing slash, /api/v1/report in lower case.',
  },
  invalid_request: {
    status: 400,
    title: 'Invalid request',
    meaning: 'The request is not one this call can take, for instance a GET with a body.',
    remedy: 'Repeat without what this call cannot take; `detail` names it.',
  },
  missing_api_key: {
    status: 401,
    title: 'Missing API key',
    meaning: 'The request carries no team key.',
    remedy: 'Send `authorization: Bearer <key>` or `x-api-key: <key>`, with a key that your operator issued.',
  },
  invalid_api_key: {
    status: 401,
    title: 'Invalid API key',
    meaning: 'The team key is not known, is malformed, or two different keys were sent.',
    remedy:
      'Check that the key in `authorization` or `x-api-key` was copied whole (it starts with dgw_), or ask your operator for a new one.',
  },
  expired_api_key: {
    status: 401,
    title: 'Expired API key',
    meaning: 'The team key was valid once; its time is over.',
    remedy: 'Ask your operator to roll the key, and send the new one.',
  },
  revoked_api_key: {
    status: 401,
    title: 'Revoked API key',
    meaning: 'The team key was withdrawn.',
    remedy: 'Ask your operator for a new key, and send that.',
  },
  missing_admin_token: {
    status: 401,
    title: 'Missing admin token',
    meaning: 'The admin call carries no admin token.',
    remedy: 'Send `authorization: Bearer <admin token>`.',
  },
  invalid_admin_token: {
    status: 401,
    title: 'Invalid admin token',
    meaning: 'The admin token is not known. Team keys do not open the admin plane.',
    remedy:
      'Use the token in ADMIN_TOKEN, one of `auth.adminTokens`, or the one in the file named in the log at the first start.',
  },
  invalid_session: {
    status: 401,
    title: 'Invalid session',
    meaning:
      'The cookie shows no session that goes on: it was signed out, was idle for an hour, is 12 hours old, or the key or token that signed in is no longer valid.',
    remedy: 'Sign in again, or send a key or token in `authorization`.',
  },
  forbidden: {
    status: 403,
    title: 'Forbidden',
    meaning: 'The admin token is valid, and its role does not allow this call.',
    remedy: 'Use a token of the role named in `detail`, or ask somebody who holds one.',
  },
  session_forbidden: {
    status: 403,
    title: 'Not by this session',
    meaning:
      'The call cannot be made by cookie, or the request does not show that it comes from the page that signed in.',
    remedy:
      'Make the call from the page that signed in, with its origin and `x-csrf-token`, or send a key or token in `authorization`.',
  },
  scope_missing: {
    status: 403,
    title: 'Scope missing',
    meaning: 'The team does not hold the scope this call needs.',
    remedy: 'Ask your operator for the scope named in `detail`.',
  },
  route_forbidden: {
    status: 403,
    title: 'Route forbidden',
    meaning:
      'The team is limited to certain advertisers, and no rule says where this route names its account.',
    remedy:
      'Ask your operator to declare the route (`routes` in the configuration) with the place of its account.',
  },
  advertiser_forbidden: {
    status: 403,
    title: 'Advertiser forbidden',
    meaning: 'The request names an advertiser this team may not see.',
    remedy: 'Use an advertiser of your team (GET /gateway/v1/me lists them).',
  },
  origin_forbidden: {
    status: 403,
    title: 'Origin forbidden',
    meaning: 'The request was made by a page of another origin, and that origin is not allowed here.',
    remedy:
      'Connect with a client that is no web page, or ask your operator to list the origin (`server.corsOrigins`).',
  },
  advertiser_required: {
    status: 403,
    title: 'Advertiser required',
    meaning: 'The team is limited to certain advertisers and the request names none.',
    remedy:
      'Name an advertiser of your team (GET /gateway/v1/me lists them) in the field that `detail` names.',
  },
  ip_forbidden: {
    status: 403,
    title: 'Address forbidden',
    meaning: 'The team may not call from this address.',
    remedy: "Call from an address of the team's list, or ask your operator to extend it (`ipAllow`).",
  },
  team_disabled: {
    status: 403,
    title: 'Team disabled',
    meaning: 'An operator switched this team off.',
    remedy: 'Ask your operator to enable the team.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning: 'There is nothing at this address.',
    remedy: 'Read /docs, which lists what there is.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'This address does not take this method.',
    remedy: 'Use a method from the `allow` header.',
  },
  not_acceptable: {
    status: 406,
    title: 'Not acceptable',
    meaning: 'None of the formats in `accept` can be given.',
    remedy:
      'Accept application/json, text/csv, application/x-ndjson or application/vnd.dsp.raw, or use `_format`.',
  },
  conflict: {
    status: 409,
    title: 'Conflict',
    meaning: 'The change does not fit the present state.',
    remedy: 'Look at the present state, and repeat if the change is still wanted.',
  },
  verification_failed: {
    status: 409,
    title: 'Verification failed',
    meaning: 'The platform did not accept the token, or nothing could prove it; the active token stays.',
    remedy:
      'Give another token, or repeat with "force": true to activate this one although nothing proved it.',
  },
  idempotency_in_flight: {
    status: 409,
    title: 'Idempotent request in flight',
    meaning:
      'The first request with this idempotency key is still under way, or how it ended is not known; it is not sent again.',
    remedy:
      'With `retry-after` wait, then repeat; without it look on the platform whether it was done, and if it was not, send it with a new key.',
  },
  not_known_then: {
    status: 404,
    title: 'Not known then',
    meaning: 'Of some of the days nothing was known at that moment, or history is not kept.',
    remedy: 'Read `detail`, which names the days, and from when on all of them are known.',
  },
  cursor_expired: {
    status: 410,
    title: 'Cursor expired',
    meaning:
      'The cursor names no rows that are still kept: 15 minutes are over, newer results took their room, the access of the team was changed, or the cursor is of another team or tool.',
    remedy: 'Ask again without a cursor, and go on from the first rows of that result.',
  },
  not_final: {
    status: 409,
    title: 'Not final',
    meaning: 'Some of the days asked for are not final: the platform may still change their numbers.',
    remedy:
      'Read `detail`, which names the days and when each is expected to be final; ask again then, or for a period that ends earlier.',
  },
  body_too_large: {
    status: 413,
    title: 'Body too large',
    meaning: 'The request body is larger than this call takes.',
    remedy: 'Send less; the limit is in `detail`.',
  },
  uri_too_long: {
    status: 414,
    title: 'URI too long',
    meaning: 'The request target is longer than the gateway reads.',
    remedy: 'Send long lists by POST where the endpoint allows it.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'The body is not of a type this call takes.',
    remedy: 'Send the body as JSON, not compressed, with `content-type: application/json`.',
  },
  idempotency_mismatch: {
    status: 422,
    title: 'Idempotency mismatch',
    meaning: 'This idempotency key was used before with another request.',
    remedy: 'Use a new `idempotency-key` for a new request.',
  },
  write_guard_refused: {
    status: 422,
    title: 'Write refused by its guard',
    meaning: "The team's write guard does not let this request pass; nothing was sent to the platform.",
    remedy:
      'Read `errors`, which names each rule with the value and the limit, and change the request, or ask your operator to change the guard.',
  },
  rate_limited: {
    status: 429,
    title: 'Rate limited',
    meaning: "The team's requests per minute, or its concurrent requests, are used up.",
    remedy: 'Wait for as many seconds as `retry-after` says, then repeat.',
  },
  upstream_budget_exhausted: {
    status: 429,
    title: 'Daily platform share used up',
    meaning: "The team's share of platform calls for today is used up; cached reports go on being served.",
    remedy:
      'Wait for as many seconds as `retry-after` says, or ask your operator for a larger share (`upstreamCallsPerDay`).',
  },
  headers_too_large: {
    status: 431,
    title: 'Headers too large',
    meaning: 'The request headers are larger than the gateway reads.',
    remedy: 'Send smaller headers.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    meaning: 'The gateway failed. It is not your fault.',
    remedy: 'Tell your operator the `requestId`.',
  },
  upstream_rejected: {
    status: 400,
    title: 'The platform refused the request',
    meaning:
      'The platform answered with a 4xx of its own; its status is kept and its message is in `upstream`.',
    remedy: "Read `upstream`, which holds the platform's own words, and change the request.",
  },
  upstream_error: {
    status: 502,
    title: 'Platform error',
    meaning: 'The platform failed or could not be reached, and there is no cached answer to fall back to.',
    remedy: 'Try again later, and tell your operator the `requestId` if it stays so.',
  },
  upstream_invalid_response: {
    status: 502,
    title: 'Invalid platform answer',
    meaning: 'The platform answered with something that is not a report the gateway can vouch for.',
    remedy:
      'Tell your operator the `requestId`; the reason is in the log, and where the platform renamed its columns, `report.endpoints.*.knownColumns` takes a new one.',
  },
  upstream_too_large: {
    status: 502,
    title: 'Platform answer too large',
    meaning: "The platform's answer is larger than the gateway reads.",
    remedy: 'Ask for a shorter range, or fewer splits.',
  },
  credential_unavailable: {
    status: 503,
    title: 'Platform credential unavailable',
    meaning: 'There is no platform token that works right now.',
    remedy: 'Try again later, and tell your operator, who finds the reason by `dsp-gateway doctor`.',
  },
  upstream_rate_limited: {
    status: 503,
    title: 'The platform limits the gateway',
    meaning: 'The platform asked the gateway to wait, and there is no cached answer to fall back to.',
    remedy: 'Wait for as many seconds as `retry-after` says, then repeat.',
  },
  upstream_circuit_open: {
    status: 503,
    title: 'Platform calls suspended',
    meaning: 'The platform failed repeatedly; the gateway gives it a rest before asking again.',
    remedy: 'Wait for as many seconds as `retry-after` says, then repeat.',
  },
  overloaded: {
    status: 503,
    title: 'Overloaded',
    meaning: 'Too many requests are waiting already.',
    remedy: 'Wait for as many seconds as `retry-after` says, and send fewer at once.',
  },
  not_ready: {
    status: 503,
    title: 'Not ready',
    meaning: 'The gateway is starting or stopping, or its store has been away for too long.',
    remedy: 'Try again in a few seconds.',
  },
  writes_stopped: {
    status: 503,
    title: 'Writes are stopped',
    meaning: 'An operator stopped writes, of this team or of all; nothing was sent to the platform.',
    remedy: 'Ask your operator why writes are stopped, and repeat when they are resumed.',
  },
  write_guard_unavailable: {
    status: 503,
    title: 'Write guard unavailable',
    meaning:
      'What the write guard has to know cannot be read or written down now; nothing was sent to the platform.',
    remedy: 'Repeat in a few seconds, and tell your operator if it stays so.',
  },
  upstream_timeout: {
    status: 504,
    title: 'Platform timeout',
    meaning: 'The platform did not answer in time, and there is no cached answer to fall back to.',
    remedy: 'Try again later, or ask for a shorter range.',
  },
  not_cached: {
    status: 504,
    title: 'Not cached',
    meaning: 'The request said only-if-cached, and the answer is not in the cache.',
    remedy: 'Repeat without `only-if-cached`.',
  },
} as const satisfies Record<string, Entry>;

export type ErrorCode = keyof typeof CATALOGUE;

/** The status of a code on a plane. That of `upstream_rejected` is the platform's own. */
export function statusOf(code: ErrorCode, admin: boolean): number {
  const { status, adminStatus = status }: Entry = CATALOGUE[code];
  return admin ? adminStatus : status;
}

/** One fault of a query or body. */
export interface FieldFault {
  /** The parameter's name or JSON path; empty for the whole query or body. */
  readonly param: string;
  /** What is wrong with it, as the rest of a sentence that begins with `param`. */
  readonly message: string;
  /** What to do, in one sentence, where that is more than to correct it. Not sent by itself: the first fault's is the problem's `help`. */
  readonly help?: string;
}

export interface GatewayErrorOptions {
  /** Shown to the caller instead of the catalogue's meaning. Must hold nothing secret. */
  readonly detail?: string;
  /**
   * What to do next, instead of the catalogue's remedy. To a caller with a valid key it may give names, of the team's own
   * alone; to any other nothing but what the request itself says.
   */
  readonly help?: string;
  /** For the log only. */
  readonly internal?: string;
  readonly cause?: unknown;
  /** Replaces the catalogue's status: `upstream_rejected` keeps the platform's, the admin plane uses 422. */
  readonly status?: number;
  readonly errors?: readonly FieldFault[];
  /** Whole seconds, sent as `retry-after`. */
  readonly retryAfterS?: number;
  /** The platform's own words, already scrubbed. */
  readonly upstream?: unknown;
  /** Account ids in the platform's answer: not every team may be shown its words. Never shown themselves. */
  readonly upstreamAccounts?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** The one error that is meant to reach a caller. Anything else thrown becomes `internal_error`. */
export class GatewayError extends Error {
  override readonly name = 'GatewayError';
  readonly code: ErrorCode;
  readonly status: number;
  readonly options: GatewayErrorOptions;

  constructor(code: ErrorCode, options: GatewayErrorOptions = {}) {
    super(options.internal ?? options.detail ?? CATALOGUE[code].meaning, { cause: options.cause });
    this.code = code;
    this.status = options.status ?? CATALOGUE[code].status;
    this.options = options;
  }
}

/** What is wrong with a query, parameter by parameter. */
export function invalidQuery(...errors: readonly FieldFault[]): GatewayError {
  return new GatewayError('invalid_query', { errors });
}

/** A problem document (RFC 9457), member for member as the contract has it. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** What to do next, in one sentence. */
  readonly help: string;
  readonly code: ErrorCode;
  readonly requestId: string;
  /** At most 20 of them. */
  readonly errors?: readonly FieldFault[];
  /** How many there are, where they are not all listed. */
  readonly errorCount?: number;
  readonly upstream?: unknown;
}

/** Faults that are listed: whoever made more of them reads no further. */
const MOST_FAULTS = 20;
/** A name or message may be as long as the body it came in. */
const LONGEST_TEXT = 300;
/** A sentence may hold such a name. */
const LONGEST_SENTENCE = 1500;

function clip(text: string, most = LONGEST_TEXT): string {
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

function listed(faults: readonly FieldFault[]): Pick<Problem, 'errors' | 'errorCount'> {
  const errors = faults
    .slice(0, MOST_FAULTS)
    .map(({ param, message }) => ({ param: clip(param), message: clip(message) }));
  return faults.length > MOST_FAULTS ? { errors, errorCount: faults.length } : { errors };
}

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8';

/** Names that a sentence may hold before nobody reads it. */
const MOST_NAMES = 5;
/** Characters of a sentence that is made of a fault. */
const FAULT_SENTENCE = 200;

/** A problem's `detail` and `help` where it lists faults: the first of them, and how many more there are. */
export function wordsOfFaults([first, ...others]: readonly [FieldFault, ...FieldFault[]]): {
  readonly detail: string;
  readonly help: string;
} {
  const more = others.length === 0 ? '' : ` (1 of ${others.length + 1} faults)`;
  const subject = first.param === '' ? 'The request' : clip(first.param, 60);
  const fault = shortened(`${subject} ${withoutMarks(first.message)}`, FAULT_SENTENCE - more.length - 1);
  const names = [...new Set([first, ...others].map(({ param }) => clip(param, 60)))].filter(Boolean);
  const named = names.slice(0, MOST_NAMES).join(', ') + (names.length > MOST_NAMES ? ' and others' : '');
  return {
    detail: `${fault}${/[.?!…]$/.test(fault) ? '' : '.'}${more}`,
    help: first.help ?? `Correct ${named === '' ? 'it' : named} and repeat.`,
  };
}

/** Cut between words. */
function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, text.lastIndexOf(' ', most - 1)).replace(/,$/, '')} …` : text;
}

function wordsOf({ code, options: { errors = [], ...options } }: GatewayError): {
  readonly detail: string;
  readonly help: string;
} {
  const [first, ...others] = errors;
  // Only these two codes name fields to a caller whose key or admin token is valid.
  const said =
    first !== undefined && /^invalid_(query|body)$/.test(code) ? wordsOfFaults([first, ...others]) : {};
  const { meaning, remedy } = CATALOGUE[code];
  return { detail: withoutMarks(meaning), help: withoutMarks(remedy), ...said, ...defined(options) };
}

const defined = ({ detail, help }: GatewayErrorOptions) => ({
  ...(detail === undefined ? {} : { detail }),
  ...(help === undefined ? {} : { help }),
});

/** Without the backticks that mark code on the error's page. */
function withoutMarks(text: string): string {
  return text.replaceAll('`', '');
}

/** @returns the problem document for an error, its `type` being a page below `/docs/errors/`. */
export function toProblem(error: GatewayError, requestId: string): Problem {
  const { detail, help } = wordsOf(error);
  return {
    type: `/docs/errors/${error.code}`,
    title: CATALOGUE[error.code].title,
    status: error.status,
    detail: clip(detail, LONGEST_SENTENCE),
    help: clip(help, LONGEST_SENTENCE),
    code: error.code,
    requestId,
    ...(error.options.errors ? listed(error.options.errors) : {}),
    ...(error.options.upstream === undefined ? {} : { upstream: error.options.upstream }),
  };
}

/** Turns whatever was thrown into an error that may be shown; the original stays as the cause, for the log. */
export function asGatewayError(thrown: unknown): GatewayError {
  return thrown instanceof GatewayError ? thrown : new GatewayError('internal_error', { cause: thrown });
}
