/** Settings of the platform. */
import Type from 'typebox';
import { count, group, list, optionalCount, optionalText, seconds, secret, text } from './setting-types.js';
import * as values from './values.js';

const ZONE = { is: values.isTimezone, allowed: 'an IANA time zone, e.g. Europe/Berlin' };

const retry = group(
  {
    attempts: count([2, 0, 5], 'Retries of a GET or HEAD after a network error, 502, 503 or 504.'),
    baseMs: count([100, 1, 10_000], 'First backoff; doubles with jitter.'),
  },
  'Retries. Writes are never retried.',
);

const circuit = group(
  {
    failures: count(
      [10, 1, 1000],
      'Consecutive failures (5xx, 408, network, timeout) that open the circuit.',
    ),
    openSeconds: count([10, 1, 3600], 'Time the circuit stays open before one call probes the platform.'),
  },
  'Circuit breaker, per replica.',
);

export const platform = group(
  {
    baseUrl: text('Platform address, e.g. https://platform.example; may include a path prefix.', {
      env: 'PLATFORM_BASE_URL',
      is: values.isBaseUrl,
      show: values.shownAddress,
      allowed: 'an http:// or https:// address without user, query or fragment',
    }),
    account: text("Label of the credential's account; part of every cache key.", {
      env: 'PLATFORM_ACCOUNT',
      default: 'default',
    }),
    token: secret('PLATFORM_TOKEN', 'Way 1: a token copied from the dashboard; initial value, read once.'),
    tokenExpiresAt: optionalText('Expiry of that token (ISO date).', {
      env: 'PLATFORM_TOKEN_EXPIRES_AT',
      shownDefault: 'one year after first seen',
      is: values.isIsoDate,
      allowed: 'an ISO date, e.g. 2027-11-01 or 2027-11-01T00:00:00Z',
    }),
    username: secret('PLATFORM_USERNAME', 'Way 2: user name for the token request.'),
    password: secret('PLATFORM_PASSWORD', 'Way 2: password.'),
    clientId: secret('PLATFORM_CLIENT_ID', 'Way 2: API client id; sent as a number when all digits.'),
    clientSecret: secret('PLATFORM_CLIENT_SECRET', 'Way 2: API client secret.'),
    grantType: text('`grant_type` of the token request.', {
      env: 'PLATFORM_GRANT_TYPE',
      default: 'platform_dsp',
    }),
    tokenPath: text('Path of the token request below the base URL.', {
      env: 'PLATFORM_TOKEN_PATH',
      default: '/oauth/token',
      pattern: '^/',
    }),
    renewBeforeDays: count(
      [30, 0, 300],
      'Way 2: days before expiry at which a token is renewed; 0: at expiry.',
    ),
    probe: optionalText('Path and query of a cheap call that verifies a token.', {
      pattern: '^/',
      env: 'PLATFORM_PROBE',
      shownDefault: 'the cheapest recent successful GET report',
    }),
    timezone: text('IANA time zone of platform days.', {
      env: 'PLATFORM_TIMEZONE',
      default: 'UTC',
      ...ZONE,
    }),
    timezones: Type.Record(
      Type.String({ pattern: '^[1-9][0-9]{0,15}$' }),
      Type.String({ minLength: 1, ...ZONE }),
      {
        default: {},
        description: 'Advertiser id to time zone, where different from `timezone`.',
      },
    ),
    retentionDays: optionalCount(
      [1, 36_500],
      'Age in days beyond which the platform has no rows. Older days that it returns empty or refuses are served from history.',
      { shownDefault: 'learned' },
    ),
    timeoutMs: count([30_000, 100, 600_000], 'Deadline of one report call, retries included.'),
    maxAnswerBytes: count(
      [67_108_864, 1024, 1_073_741_824],
      'Maximum decoded platform response; larger: 502 upstream_too_large.',
    ),
    maxConcurrent: count([8, 1, 1024], 'Maximum concurrent platform calls.'),
    maxQueued: count([1000, 0, 100_000], 'Maximum platform calls waiting for a slot; more: 503 overloaded.'),
    circuit,
    maxPauseSeconds: seconds(900, 'Maximum honored retry-after of the platform.'),
    loginPaths: list('Redirects to these paths mean that the credential was rejected.', { pattern: '^/' }, [
      '/login',
    ]),
    retry,
  },
  'The platform.',
);
