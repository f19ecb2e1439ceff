import { describe, expect, it } from 'vitest';
import { listSettings } from '../../src/config/settings.js';
import { at, BASE, faultsOf, load } from './settings-in.js';

/** Environment name, place in the YAML, default, and a text that means another value. */
const VALUES: readonly [env: string, path: string, initial: unknown, text: string, value: unknown][] = [
  ['HOST', 'server.host', '0.0.0.0', '::1', '::1'],
  ['PORT', 'server.port', 8080, '0', 0],
  ['ADMIN_HOST', 'server.adminHost', '127.0.0.1', '0.0.0.0', '0.0.0.0'],
  ['ADMIN_PORT', 'server.adminPort', 8081, '65535', 65_535],
  ['METRICS_PORT', 'server.metricsPort', undefined, '9100', 9100],
  [
    'PLATFORM_BASE_URL',
    'platform.baseUrl',
    undefined,
    'http://other.example/dsp',
    'http://other.example/dsp',
  ],
  ['PLATFORM_ACCOUNT', 'platform.account', 'default', 'agency', 'agency'],
  ['PLATFORM_TOKEN_EXPIRES_AT', 'platform.tokenExpiresAt', undefined, '2027-02-28', '2027-02-28'],
  ['PLATFORM_GRANT_TYPE', 'platform.grantType', 'platform_dsp', 'brand_dsp', 'brand_dsp'],
  ['PLATFORM_TOKEN_PATH', 'platform.tokenPath', '/oauth/token', '/token', '/token'],
  ['PLATFORM_PROBE', 'platform.probe', undefined, '/api/v1/me?a=1', '/api/v1/me?a=1'],
  ['PLATFORM_TIMEZONE', 'platform.timezone', 'UTC', 'America/New_York', 'America/New_York'],
  ['GATEWAY_DATA_DIR', 'store.dataDir', './data', '/var/lib/gateway', '/var/lib/gateway'],
  ['GATEWAY_TEAMS_FILE', 'teamsFile', undefined, 'config/teams.yaml', 'config/teams.yaml'],
  ['LOG_LEVEL', 'logLevel', 'info', 'debug', 'debug'],
  ['GATEWAY_TEST_CLOCK', 'testClock', false, '1', true],
  ['WORKERS', 'server.workers', 1, '4', 4],
  ['SERVER_TIMING', 'server.serverTiming', false, '1', true],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'tracing.endpoint', undefined, 'http://c:4318', 'http://c:4318'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'tracing.tracesEndpoint', undefined, 'https://c/x', 'https://c/x'],
  ['OTEL_SERVICE_NAME', 'tracing.serviceName', 'dsp-gateway', 'reports', 'reports'],
  ['OTEL_RESOURCE_ATTRIBUTES', 'tracing.resourceAttributes', undefined, 'a=b', 'a=b'],
  ['OTEL_TRACES_SAMPLER', 'tracing.sampler', 'parentbased_always_on', 'traceidratio', 'traceidratio'],
  ['OTEL_TRACES_SAMPLER_ARG', 'tracing.samplerArg', '1', '0.25', '0.25'],
  ['OTEL_SDK_DISABLED', 'tracing.disabled', false, 'true', true],
];

/** Secrets by their names; none has a default. */
const SECRETS = [
  'PLATFORM_TOKEN',
  'PLATFORM_USERNAME',
  'PLATFORM_PASSWORD',
  'PLATFORM_CLIENT_ID',
  'PLATFORM_CLIENT_SECRET',
  'REDIS_URL',
  'REDIS_REGISTRY_URL',
  'REDIS_PASSWORD',
  'GATEWAY_MASTER_KEY',
  'ADMIN_TOKEN',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'OIDC_CLIENT_SECRET',
];

/** What more than one worker needs. */
const SHARED = {
  REDIS_URL: 'redis://cache.example',
  GATEWAY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  ADMIN_TOKEN: 'opens-the-admin-plane',
};

describe('settings of the environment', () => {
  it('are these, and no others', () => {
    const names = [...VALUES.map(([env]) => env), ...SECRETS];
    const known = listSettings().flatMap(({ env }) => (env === undefined ? [] : [env]));
    expect(known.toSorted()).toEqual(names.toSorted());
    const secret = listSettings().filter((setting) => setting.secret);
    expect(secret.map(({ env }) => env).toSorted()).toEqual(SECRETS.toSorted());
  });

  it.each(VALUES)('%s sets %s', (env, path, initial, text, value) => {
    if (env !== 'PLATFORM_BASE_URL') expect(at(load(), path)).toEqual(initial);
    expect(at(load({ ...BASE, ...(env === 'WORKERS' ? SHARED : {}), [env]: text }), path)).toEqual(value);
  });

  it('count as absent when they are empty, as a compose file or chart passes what it was not given', () => {
    const empty = Object.fromEntries([...VALUES.map(([env]) => env), ...SECRETS].map((name) => [name, '']));
    const config = load({ ...empty, ...BASE });
    expect(config.server.port).toBe(8080);
    expect(config.secrets.size).toBe(0);
    for (const env of [{}, { PLATFORM_BASE_URL: '' }])
      expect(faultsOf(env)).toEqual([
        'PLATFORM_BASE_URL: was not set; allowed is an http:// or https:// address without user, query or fragment',
      ]);
  });
});

describe('a setting of the environment that cannot be', () => {
  it.each([
    ['PORT', '65536', 'was 65536; allowed is a whole number from 0 to 65535'],
    ['PORT', '８０', 'was "８０"; allowed is a whole number from 0 to 65535'],
    ['WORKERS', '257', 'was 257; allowed is a whole number from 1 to 256'],
    ['PLATFORM_TOKEN_PATH', 'oauth', 'was "oauth"; allowed is text that matches ^/'],
    ['LOG_LEVEL', 'loud', 'was "loud"; allowed is one of trace, debug, info, warn, error, fatal, silent'],
    ['GATEWAY_TEST_CLOCK', 'yes', 'was "yes"; allowed is 1, true, 0 or false'],
  ])('is one line: %s=%s', (env, text, line) => {
    expect(faultsOf({ ...BASE, [env]: text })).toEqual([`${env}: ${line}`]);
  });
});
