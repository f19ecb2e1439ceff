/** Every error that a caller may see, as its page and its problem document say it. */

export interface Entry {
  readonly status: number;
  /** On the admin plane, if it differs. */
  readonly adminStatus?: number;
  readonly title: string;
  /** Shown on the error's page, and as `detail` unless the error has its own. */
  readonly meaning: string;
  /** What to do next, with the place of a wait. Read by {@link remedyOf} alone. */
  readonly remedy: string;
}

export const CATALOGUE = {
  invalid_query: {
    status: 400,
    title: 'Invalid query',
    meaning: 'A query parameter is unknown, misspelt, repeated or out of range.',
    remedy: 'Correct the parameters listed in `errors`, then send the request again.',
  },
  invalid_body: {
    status: 400,
    adminStatus: 422,
    title: 'Invalid body',
    meaning: 'The request body is not the JSON this call expects.',
    remedy: 'Send one JSON object without duplicate members, corrected as `detail` says.',
  },
  undeclared_parameter: {
    status: 400,
    title: 'Undeclared parameter',
    meaning:
      'A team with a list of advertisers may send only parameters that the gateway knows, with the values it knows for them.',
    remedy: 'Omit or correct what `errors` lists, or ask your operator to declare it.',
  },
  invalid_path: {
    status: 400,
    title: 'Invalid path',
    meaning: 'The path is not in the one form that the gateway accepts.',
    remedy:
      'Use non-empty segments of A-Z a-z 0-9 . _ ~ - only, no percent-encoding, no trailing slash, /api/v1/report in lower case.',
  },
  invalid_request: {
    status: 400,
    title: 'Invalid request',
    meaning: 'This call does not accept such a request, for instance a GET with a body.',
    remedy: 'Correct or remove what `detail` names, then send the request again.',
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
    meaning: 'The team key is unknown or malformed, or two different keys were sent.',
    remedy:
      'Send one complete key (it starts with dgw_) in `authorization` or `x-api-key`, or ask your operator for a new one.',
  },
  expired_api_key: {
    status: 401,
    title: 'Expired API key',
    meaning: 'The team key has expired, or was replaced by a new one.',
    remedy: 'Send the new key; if there is none yet, ask your operator for one.',
  },
  revoked_api_key: {
    status: 401,
    title: 'Revoked API key',
    meaning: 'The team key was revoked.',
    remedy: 'Ask your operator for a new key.',
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
    meaning: 'The admin token is unknown. Team keys do not open the admin plane.',
    remedy: 'Use ADMIN_TOKEN, one of `auth.adminTokens`, or the token file that the first start logged.',
  },
  invalid_session: {
    status: 401,
    title: 'Invalid session',
    meaning:
      'The cookie holds no valid session: it was ended, idle for an hour or too old, or who signed in is no longer allowed to.',
    remedy: 'Sign in again, or send a key or token in `authorization`.',
  },
  forbidden: {
    status: 403,
    title: 'Forbidden',
    meaning: 'The role of this admin token does not allow this call.',
    remedy: 'Use a token with the role named in `detail`.',
  },
  session_forbidden: {
    status: 403,
    title: 'Not by this session',
    meaning: 'This call accepts no session cookie, or the request is not from the page that signed in.',
    remedy:
      'Call from the page that signed in, with its origin and `x-csrf-token`, or send a key or token in `authorization`.',
  },
  no_access: {
    status: 403,
    title: 'No access',
    meaning: 'The company account has signed in, but no rule of `auth.oidc.people` gives it anything here.',
    remedy:
      'Ask your operator to add you to a group of that list, or a rule to the list; then sign in again.',
  },
  sign_in_failed: {
    status: 400,
    title: 'Sign-in failed',
    meaning: 'The identity provider has not confirmed the sign-in, or this browser has not begun it.',
    remedy: 'Sign in again; if it fails again, report the requestId to your operator.',
  },
  scope_missing: {
    status: 403,
    title: 'Scope missing',
    meaning: 'The team lacks the scope (the permission) that this call needs.',
    remedy: 'Ask your operator for the scope named in `detail`.',
  },
  route_forbidden: {
    status: 403,
    title: 'Route forbidden',
    meaning: 'The team is limited to certain advertisers, and this route is not declared.',
    remedy:
      'Use a route that your team may call, or ask your operator to declare this one in `routes`, with the field that names the advertiser.',
  },
  advertiser_forbidden: {
    status: 403,
    title: 'Advertiser forbidden',
    meaning: 'The team has no access to an advertiser in the request.',
    remedy: 'Choose one of the advertisers of your team, which GET /gateway/v1/me lists.',
  },
  origin_forbidden: {
    status: 403,
    title: 'Origin forbidden',
    meaning: 'The request comes from a web page whose origin is not allowed.',
    remedy: 'Call from a server instead, or ask your operator to allow the origin (`server.corsOrigins`).',
  },
  advertiser_required: {
    status: 403,
    title: 'Advertiser required',
    meaning: 'The team is limited to certain advertisers, and the request names none.',
    remedy:
      'Send one of the advertisers of your team, which GET /gateway/v1/me lists, in the field that `detail` names.',
  },
  ip_forbidden: {
    status: 403,
    title: 'Address forbidden',
    meaning: 'The team may not call from this address.',
    remedy: 'Call from an allowed address, or ask your operator to allow this one (`ipAllow`).',
  },
  team_disabled: {
    status: 403,
    title: 'Team disabled',
    meaning: 'The team is disabled.',
    remedy: 'Ask your operator to enable the team.',
  },
  not_found: {
    status: 404,
    title: 'Not found',
    meaning: 'There is nothing at this address.',
    remedy: 'See /docs for all addresses.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'This address does not support this method.',
    remedy: 'Use a method from the `allow` header.',
  },
  not_acceptable: {
    status: 406,
    title: 'Not acceptable',
    meaning: 'None of the formats in `accept` is available.',
    remedy:
      'Accept application/json, text/csv, application/x-ndjson or application/vnd.dsp.raw, or use `_format`.',
  },
  conflict: {
    status: 409,
    title: 'Conflict',
    meaning: 'The change conflicts with the current state.',
    remedy: 'Check the current state, and send the change again if it is still wanted.',
  },
  verification_failed: {
    status: 409,
    title: 'Verification failed',
    meaning: 'The platform rejected the token, or it could not be verified. The active token stays in use.',
    remedy: 'Use another token, or repeat with "force": true to activate this one without verification.',
  },
  idempotency_in_flight: {
    status: 409,
    title: 'Idempotent request in flight',
    meaning: 'The first request with this key is still running, or its outcome is unknown.',
    remedy:
      'With retry-after, wait and send it again; without it, check on the platform, and use a new key if nothing was done.',
  },
  not_known_then: {
    status: 404,
    title: 'Not known then',
    meaning: 'There is no recorded data for some of these days at that time, or history is off.',
    remedy:
      'Use a time at which all days were known; `detail` names the days, and the first such time if there is one.',
  },
  cursor_expired: {
    status: 410,
    title: 'Cursor expired',
    meaning:
      "The cursor is older than 15 minutes, the rows of its first page can no longer be read, it belongs to another team or tool, or the team's access changed.",
    remedy: 'Repeat the query without a cursor, and start from its first page.',
  },
  cursor_too_old: {
    status: 410,
    title: 'Offset too old',
    meaning:
      'The feed of changes no longer has the place of this offset: it was trimmed, or the end of the feed was lost or restored from a backup.',
    remedy:
      'Take an offset by `offset=now`, read your ranges anew as reports, then follow the feed from that offset.',
  },
  not_final: {
    status: 409,
    title: 'Not final',
    meaning: 'Some of these days are not final: the platform may still change their numbers.',
    remedy: 'Repeat on the dates in `detail`, or end the period before these days.',
  },
  not_divisible: {
    status: 409,
    title: 'Cannot be read day by day',
    meaning:
      'This report cannot be read day by day: the numbers of a day depend on the period that is asked for.',
    remedy: 'Watch another report, or repeat after the time in `detail`, if there is one.',
  },
  body_too_large: {
    status: 413,
    title: 'Body too large',
    meaning: 'The request body is too large.',
    remedy: 'Send a smaller body; `detail` names the limit.',
  },
  uri_too_long: {
    status: 414,
    title: 'URI too long',
    meaning: 'The URL is too long.',
    remedy: 'Send long lists by POST where the endpoint allows it.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'This call does not accept the media type of the body.',
    remedy: 'Send uncompressed JSON with `content-type: application/json`.',
  },
  idempotency_mismatch: {
    status: 422,
    title: 'Idempotency mismatch',
    meaning: 'This idempotency key was already used with a different request.',
    remedy: 'Use a new `idempotency-key` for a new request.',
  },
  write_guard_refused: {
    status: 422,
    title: 'Write refused by its guard',
    meaning: "The team's write guard refuses this request. Nothing was sent to the platform.",
    remedy: 'Change the request by the rules listed in `errors`, or ask your operator to change the guard.',
  },
  rate_limited: {
    status: 429,
    title: 'Rate limited',
    meaning: 'The team has used up its requests per minute or its concurrent requests.',
    remedy: 'Wait for {wait}, then repeat.',
  },
  upstream_budget_exhausted: {
    status: 429,
    title: 'Daily platform share used up',
    meaning: 'The team has used up its platform calls for today. Cached reports are still served.',
    remedy: 'Wait for {wait}, or ask your operator to raise `upstreamCallsPerDay`.',
  },
  headers_too_large: {
    status: 431,
    title: 'Headers too large',
    meaning: 'The request headers are too large.',
    remedy: 'Send smaller headers.',
  },
  internal_error: {
    status: 500,
    title: 'Internal error',
    meaning: 'The gateway failed; the request is not at fault.',
    remedy: 'Report the `requestId` to your operator.',
  },
  upstream_rejected: {
    status: 400,
    title: 'The platform refused the request',
    meaning: 'The platform refused the request. The status is its own; its message is in `upstream`.',
    remedy: "Change the request as the platform's message in `upstream` says.",
  },
  upstream_error: {
    status: 502,
    title: 'Platform error',
    meaning: 'The platform failed or could not be reached, and there is no cached answer to serve instead.',
    remedy: '{again}; if it persists, report the `requestId` to your operator.',
  },
  upstream_invalid_response: {
    status: 502,
    title: 'Invalid platform answer',
    meaning: "The platform's response is not a valid report.",
    remedy:
      'Repeat once after a minute; if it persists, report the `requestId` to your operator, who finds the reason in the log.',
  },
  upstream_too_large: {
    status: 502,
    title: 'Platform answer too large',
    meaning: "The platform's response is too large.",
    remedy: 'Request a shorter period, or fewer splits.',
  },
  credential_unavailable: {
    status: 503,
    title: 'Platform credential unavailable',
    meaning: 'There is no working platform token.',
    remedy: '{again}, and ask your operator to run `dsp-gateway doctor`.',
  },
  upstream_rate_limited: {
    status: 503,
    title: 'The platform limits the gateway',
    meaning: 'The platform rate-limits the gateway, and there is no cached answer to serve instead.',
    remedy: 'Wait for {wait}, then repeat.',
  },
  upstream_circuit_open: {
    status: 503,
    title: 'Platform calls suspended',
    meaning:
      'The platform failed repeatedly, so for a while the gateway makes no platform call. Cached reports are still served.',
    remedy: 'Wait for {wait}, then repeat.',
  },
  overloaded: {
    status: 503,
    title: 'Overloaded',
    meaning: 'Too many requests are already waiting.',
    remedy: 'Wait for {wait}, and send fewer requests at once.',
  },
  not_ready: {
    status: 503,
    title: 'Not ready',
    meaning: 'The gateway is starting or stopping, or its store has been unavailable for too long.',
    remedy: '{again}.',
  },
  writes_stopped: {
    status: 503,
    title: 'Writes are stopped',
    meaning: 'An operator stopped the writes of this team or of all teams. Nothing was sent to the platform.',
    remedy: 'Repeat once writes are resumed, and ask your operator when that is.',
  },
  write_guard_unavailable: {
    status: 503,
    title: 'Write guard unavailable',
    meaning: 'The write guard cannot read or record its state. Nothing was sent to the platform.',
    remedy: '{again}; if it persists, tell your operator.',
  },
  upstream_timeout: {
    status: 504,
    title: 'Platform timeout',
    meaning: 'The platform did not respond in time, and there is no cached answer to serve instead.',
    remedy: '{again}, or request a shorter period.',
  },
  not_cached: {
    status: 504,
    title: 'Not cached',
    meaning: 'The request has only-if-cached, and the answer is not cached.',
    remedy: 'Repeat without `only-if-cached`.',
  },
} as const satisfies Record<string, Entry>;

/**
 * Shown on the error's page, and as `help` unless the error has its own.
 * @param wait such as `10 s`; absent: not known
 */
export function remedyOf({ remedy }: Pick<Entry, 'remedy'>, wait?: string): string {
  return remedy
    .replace('{wait}', wait ?? 'the seconds in `retry-after`')
    .replace('{again}', wait === undefined ? 'Try again later' : `Repeat after ${wait}`);
}
