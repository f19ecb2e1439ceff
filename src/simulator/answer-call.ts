import { type Answer, htmlAnswer, invalidAnswer, jsonAnswer } from './answer.js';
import { createCampaign, deleteCampaign, listCampaigns, showCampaign } from './answer-campaign.js';
import { answerReport, type ReportName } from './answer-report.js';
import { isJson, parseObject } from './php-input.js';
import { bearerOf, type Platform, type PlatformCall } from './platform.js';

type Handler = (platform: Platform, call: PlatformCall) => Answer;
interface Route {
  readonly methods: Readonly<Partial<Record<string, Handler>>>;
  /** Answers without a token. */
  readonly open?: boolean;
}

const report =
  (name: ReportName): Handler =>
  (platform, call) =>
    answerReport(name, platform, call);
const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/login', { methods: { GET: () => htmlAnswer(200, 'Log in') }, open: true }],
  ['/api/v1/report/campaigns/get', { methods: { GET: report('campaigns'), POST: report('campaigns') } }],
  ['/api/v1/report/creatives/get', { methods: { GET: report('creatives') } }],
  ['/api/v1/report/export/get', { methods: { GET: report('export') } }],
  ['/api/v1/campaign/create', { methods: { POST: createCampaign } }],
  ['/api/v1/campaign/get', { methods: { POST: listCampaigns } }],
]);
const ONE_CAMPAIGN: Route = { methods: { GET: showCampaign, DELETE: deleteCampaign } };
const TOKEN_REQUEST: Route = { methods: { POST: answerTokenRequest }, open: true };

/** Checks route, method, token and rate limit, then calls the route's handler. */
export function answerCall(platform: Platform, call: PlatformCall): Answer {
  const answer = answerRoute(platform, call);
  const echo = platform.switches.echoToken ? bearerOf(call.headers) : undefined;
  return echo === undefined ? answer : showToken(answer, echo);
}

function answerRoute(platform: Platform, call: PlatformCall): Answer {
  const route = findRoute(platform, call.path);
  if (!route) return jsonAnswer(404, { message: `The route ${call.path.slice(1)} could not be found.` });
  const handler = route.methods[call.method === 'HEAD' ? 'GET' : call.method];
  if (!handler) return refuseMethod(route, call);
  if (route.open) return handler(platform, call);
  const token = bearerOf(call.headers);
  const now = platform.now();
  if (token === undefined || !platform.tokens.accepts(token, now)) return refuseToken(platform, call);
  const limit = platform.switches.rateLimitPerMinute;
  if (limit === 0) return handler(platform, call);
  const allowance = platform.rateLimit.take(token, now, limit);
  const shown = { 'x-ratelimit-limit': String(limit), 'x-ratelimit-remaining': String(allowance.remaining) };
  if (!allowance.granted) {
    const headers = { ...shown, 'retry-after': String(allowance.retryAfterS) };
    return jsonAnswer(429, { message: 'Too Many Attempts.' }, headers);
  }
  const answer = handler(platform, call);
  return { ...answer, headers: { ...answer.headers, ...shown } };
}

function findRoute({ switches }: Platform, path: string): Route | undefined {
  if (path === switches.tokenPath) return TOKEN_REQUEST;
  return ROUTES.get(path) ?? (/^\/api\/v1\/campaign\/\d{1,15}$/.test(path) ? ONE_CAMPAIGN : undefined);
}

function refuseMethod(route: Route, { method, path }: PlatformCall): Answer {
  const supported = Object.keys(route.methods).flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
  const message = `The ${method} method is not supported for route ${path.slice(1)}. Supported methods: ${supported.join(', ')}.`;
  return jsonAnswer(405, { message }, { allow: supported.join(', ') });
}

/** The framework redirects callers to its login page unless they accept JSON first. */
function refuseToken({ switches }: Platform, { headers, origin }: PlatformCall): Answer {
  const [first = ''] = (headers.accept ?? '').split(',');
  const wantsJson = first.includes('/json') || first.includes('+json');
  const { unauthenticated } = switches;
  if (unauthenticated === 'html') return htmlAnswer(401, 'Unauthorized');
  if (unauthenticated === 'redirect' || (unauthenticated === 'auto' && !wantsJson)) {
    return htmlAnswer(302, 'Redirecting', { location: `${origin}/login` });
  }
  return jsonAnswer(401, { message: 'Unauthenticated.' });
}

function showToken(answer: Answer, token: string): Answer {
  const headers = { ...answer.headers, 'x-debug-token': token };
  const isError = answer.status >= 400 && answer.body.startsWith('{"message":"');
  const body = isError ? answer.body.replace('{"message":"', `{"message":"[token ${token}] `) : answer.body;
  return { ...answer, headers, body };
}

/** The documented grant type. */
const GRANT_TYPE = 'platform_dsp';

/** A token request with the documented JSON fields: 422 for invalid fields, 401 for wrong credentials. */
function answerTokenRequest(platform: Platform, { headers, body }: PlatformCall): Answer {
  const sent = isJson(String(headers['content-type'] ?? '').toLowerCase()) ? parseObject(body) : {};
  const errors: Record<string, string[]> = {};
  for (const field of ['grant_type', 'username', 'password', 'client_secret']) {
    const value = sent[field];
    if (value === undefined || value === null || value === '')
      errors[field] = [`The ${field} field is required.`];
    else if (typeof value !== 'string') errors[field] = [`The ${field} field must be a string.`];
  }
  if (!errors.grant_type && sent.grant_type !== GRANT_TYPE)
    errors.grant_type = ['The selected grant_type is invalid.'];
  const clientIdError = checkClientId(sent.client_id, platform.switches.clientId);
  if (clientIdError) errors.client_id = [clientIdError];
  if (Object.keys(errors).length > 0) return invalidAnswer(errors);
  const { username, password, clientId, clientSecret } = platform.account;
  const known =
    sent.username === username &&
    sent.password === password &&
    sent.client_secret === clientSecret &&
    String(sent.client_id) === String(clientId);
  return known ? grant(platform) : jsonAnswer(401, { message: 'Client authentication failed.' });
}

function checkClientId(value: unknown, accepted: 'either' | 'number' | 'string'): string | undefined {
  if (value === undefined || value === null || value === '') return 'The client_id field is required.';
  if (typeof value === 'number' && Number.isInteger(value)) {
    return accepted === 'string' ? 'The client_id field must be a string.' : undefined;
  }
  if (typeof value === 'string' && /^\d+$/.test(value)) {
    return accepted === 'number' ? 'The client_id field must be a number.' : undefined;
  }
  return 'The client_id field must be an integer.';
}

function grant(platform: Platform): Answer {
  const { tokenAnswer, tokenTtlSeconds } = platform.switches;
  if (tokenAnswer === 'nonsense') return jsonAnswer(200, { status: 'ok', result: [] });
  const token = platform.tokens.issue(platform.now(), tokenTtlSeconds);
  const common = {
    token_type: 'Bearer',
    ...(tokenAnswer === 'no-expiry' ? {} : { expires_in: tokenTtlSeconds }),
  };
  return tokenAnswer === 'token'
    ? jsonAnswer(200, { ...common, token })
    : // No documented call uses the refresh token.
      jsonAnswer(200, { ...common, access_token: token, refresh_token: `refresh-${platform.tokens.count}` });
}
