import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { ConfigError, proxySettings } from '../../src/config/load.js';
import { isIsoDate } from '../../src/config/values.js';
import { BASE, faultsOf, load } from './settings-in.js';

const KEY = Buffer.alloc(32, 1).toString('base64');
const OTHER_KEY = Buffer.alloc(32, 2).toString('base64');
const SHARED = {
  REDIS_URL: 'redis://cache.example',
  GATEWAY_MASTER_KEY: KEY,
  ADMIN_TOKEN: 'opens-the-admin-plane',
};

describe('the base URL', () => {
  it.each(['http://127.0.0.1:9090', 'https://platform.example/', 'https://platform.example/dsp/v2'])(
    'may be %s',
    (url) => {
      expect(load({ PLATFORM_BASE_URL: url }).platform.baseUrl).toBe(url);
    },
  );

  it.each([
    ['platform.example', '"platform.example"'],
    ['ftp://platform.example', '"ftp://platform.example"'],
    ['https://', '"https://"'],
    ['https://me@platform.example', '"https://…@platform.example"'],
    ['https://:pass@platform.example/a', '"https://…@platform.example/a"'],
    ['https://platform.example/?a=1', '"https://platform.example/?…"'],
    ['https://platform.example/#a', '"https://platform.example/#…"'],
  ])('may not be %s', (url, shown) => {
    expect(faultsOf({ PLATFORM_BASE_URL: url })).toEqual([
      `PLATFORM_BASE_URL: was ${shown}; allowed is an http:// or https:// address without user, query or fragment`,
    ]);
  });
});

describe('faults of kind and faults of meaning', () => {
  it('are told in the same start', () => {
    const names = faultsOf(
      { PORT: 'abc', PLATFORM_TIMEZONE: 'Mars/One', GATEWAY_MASTER_KEY: 'short' },
      stringify({ platform: { loginPaths: [7] }, report: { accountPattern: '(' } }),
    ).map((fault) => fault.split(':', 1)[0]);
    expect(names.toSorted()).toEqual([
      'GATEWAY_MASTER_KEY',
      'PLATFORM_BASE_URL',
      'PLATFORM_TIMEZONE',
      'PORT',
      'platform.loginPaths.0',
      'report.accountPattern',
    ]);
  });
});

describe('addresses to listen on', () => {
  it.each([
    { PORT: '8088', ADMIN_PORT: '8088' },
    { PORT: '8088', METRICS_PORT: '8088' },
  ])('may not share a port: %j', (env) => {
    const [name] = Object.keys(env).slice(-1);
    expect(faultsOf({ ...BASE, ...env })).toEqual([
      `${name}: was 8088, the same as PORT; allowed is a different port, or 0 for any free one`,
    ]);
  });

  it('may both be any free port', () => {
    expect(load({ ...BASE, PORT: '0', ADMIN_PORT: '0', METRICS_PORT: '0' }).server.port).toBe(0);
  });

  it.each(['0.0.0.0', '::', '::1', 'localhost', 'gateway-7.internal'])('may be %s', (host) => {
    expect(load({ ...BASE, HOST: host }).server.host).toBe(host);
  });

  it.each(['999.1.1.1', '127.1', 'a b', '1:2'])('may not be %j', (host) => {
    expect(faultsOf({ ...BASE, ADMIN_HOST: host })).toEqual([
      `ADMIN_HOST: was ${JSON.stringify(host)}; allowed is a local address or host name, e.g. 0.0.0.0`,
    ]);
  });
});

describe('a declared route', () => {
  it.each(['/api/v1/campaign/{id}', '/api/v1/a b', '/api/v1/*/x', '/api/v2/x', '/api/v1x'])(
    'may not have the path %s, which could never match',
    (path) => {
      const [fault] = faultsOf(BASE, stringify({ routes: [{ method: 'GET', path }] }));
      expect(fault).toContain(`routes.0.path: was ${JSON.stringify(path)}`);
    },
  );

  it('may end with a segment that stands for any', () => {
    const routes = [{ method: 'GET', path: '/api/v1/creative/*' }];
    expect(load(BASE, stringify({ routes })).routes).toHaveLength(1);
  });
});

describe('time zones', () => {
  it('are names the runtime knows', () => {
    expect(
      faultsOf({ ...BASE, PLATFORM_TIMEZONE: 'Mars/Olympus' }, 'platform: {timezones: {7: Atlantis}}'),
    ).toEqual([
      'PLATFORM_TIMEZONE: was "Mars/Olympus"; allowed is an IANA time zone, e.g. Europe/Berlin',
      'platform.timezones.7: was "Atlantis"; allowed is an IANA time zone, e.g. Europe/Berlin',
    ]);
  });
});

describe('secrets that travel in a header', () => {
  it.each(['PLATFORM_TOKEN', 'ADMIN_TOKEN'])('%s is printable ASCII without spaces', (name) => {
    expect(
      load({ ...BASE, [name]: '!~aZ0-._/+=123456789' })
        .secrets.get(name)
        ?.read(),
    ).toBe('!~aZ0-._/+=123456789');
    for (const bad of ['a b', 'a\r\nb', 'ä', 'a\x7f', ' a']) {
      expect(faultsOf({ ...BASE, [name]: bad })).toEqual([
        `${name}: was a secret of ${bad.length} characters, some not printable ASCII; allowed is the token alone`,
      ]);
    }
  });
});

describe("the token's expiry", () => {
  it('is an ISO date', () => {
    expect(faultsOf({ ...BASE, PLATFORM_TOKEN_EXPIRES_AT: 'tomorrow' })).toEqual([
      'PLATFORM_TOKEN_EXPIRES_AT: was "tomorrow"; allowed is an ISO date, e.g. 2027-11-01 or 2027-11-01T00:00:00Z',
    ]);
  });

  it.each([
    ['2027-11-01', true],
    ['2028-02-29', true],
    ['2027-11-01T10:20Z', true],
    ['2027-11-01T10:20:30.123456789+05:30', true],
    ['2027-02-29', false],
    ['2027-02-30T00:00:00Z', false],
    ['2027-13-01', false],
    ['2027-11-01T25:00:00Z', false],
    ['2027-11-01T10:20', false],
    ['2027-11-01 10:20:00Z', false],
    ['2027-11-1', false],
    ['20271101', false],
    [' 2027-11-01', false],
    ['2027-11-01\n', false],
    ['1793491200000', false],
    ['', false],
  ])('%j: %s', (text, right) => {
    expect(isIsoDate(text)).toBe(right);
  });
});

describe('Redis', () => {
  const sentinels = stringify({ redis: { sentinels: [{ host: 'a' }] } });
  const cluster = stringify({ redis: { cluster: [{ host: 'a', port: 7000 }] } });

  it.each(['redis://cache.example', 'rediss://:secret@cache.example:6380/2'])('is addressed by %s', (url) => {
    expect(
      load({ ...BASE, ...SHARED, REDIS_URL: url })
        .secrets.get('REDIS_URL')
        ?.read(),
    ).toBe(url);
  });

  it.each(['REDIS_URL', 'REDIS_REGISTRY_URL'])('%s is an address of Redis', (name) => {
    for (const bad of ['cache.example:6379', 'http://cache.example', 'redis']) {
      expect(faultsOf({ ...BASE, ...SHARED, [name]: bad })).toEqual([
        `${name}: was a secret of ${bad.length} characters; allowed is a redis:// or rediss:// address`,
      ]);
    }
  });

  it.each([
    ['REDIS_URL', SHARED, ''],
    [
      'sentinels',
      { GATEWAY_MASTER_KEY: KEY, ADMIN_TOKEN: 'opens-the-admin-plane', REDIS_PASSWORD: 'p' },
      sentinels,
    ],
    [
      'a cluster',
      { GATEWAY_MASTER_KEY: KEY, ADMIN_TOKEN: 'opens-the-admin-plane', REDIS_PASSWORD: 'p' },
      cluster,
    ],
  ])('by %s needs a master key and an admin token, for the replicas share them', (_form, env, yaml) => {
    expect(load({ ...BASE, ...env, WORKERS: '2' }, yaml).server.workers).toBe(2);
    const { GATEWAY_MASTER_KEY: _, ADMIN_TOKEN: __, ...without } = env;
    expect(faultsOf({ ...BASE, ...without }, yaml)).toEqual([
      'GATEWAY_MASTER_KEY: was not set; allowed with Redis is a value shared by all replicas (generate one: openssl rand -base64 32)',
      'ADMIN_TOKEN: was not set; allowed with Redis is a value shared by all replicas (generate one: openssl rand -hex 24)',
    ]);
  });

  it('has one form', () => {
    expect(faultsOf({ ...BASE, ...SHARED }, sentinels)).toEqual([
      'redis.sentinels: was set together with REDIS_URL; allowed is one form of Redis',
    ]);
    const both = stringify({ redis: { sentinels: [{ host: 'a' }], cluster: [{ host: 'a' }] } });
    const { REDIS_URL: _, ...others } = SHARED;
    expect(faultsOf({ ...BASE, ...others }, both)).toEqual([
      'redis.cluster: was set together with redis.sentinels; allowed is one form of Redis',
    ]);
  });

  it('is needed for several workers: the embedded store belongs to one process', () => {
    expect(load({ ...BASE, WORKERS: '1' }).server.workers).toBe(1);
    expect(faultsOf({ ...BASE, WORKERS: '2' })).toEqual([
      'WORKERS: was 2; allowed without REDIS_URL is 1: set REDIS_URL to run more than one process.',
    ]);
  });

  it('is what a registry of its own and a password are for', () => {
    expect(faultsOf({ ...BASE, REDIS_REGISTRY_URL: 'redis://r' })).toEqual([
      'REDIS_REGISTRY_URL: was set; allowed is only together with REDIS_URL',
    ]);
    const password =
      'REDIS_PASSWORD: was set; allowed is only with redis.sentinels or redis.cluster (REDIS_URL includes its own)';
    expect(faultsOf({ ...BASE, REDIS_PASSWORD: 'p' })).toEqual([password]);
    expect(faultsOf({ ...BASE, ...SHARED, REDIS_PASSWORD: 'p' })).toEqual([password]);
  });

  it('has ports by default', () => {
    const { REDIS_URL: _, ...others } = SHARED;
    expect(load({ ...BASE, ...others }, sentinels).redis.sentinels).toEqual([{ host: 'a', port: 6379 }]);
  });
});

describe('the master key', () => {
  it.each([KEY, `${KEY},${OTHER_KEY}`, `${KEY}, ${OTHER_KEY}`, Buffer.alloc(32, 255).toString('base64url')])(
    'may be %s',
    (key) => {
      expect(
        load({ ...BASE, GATEWAY_MASTER_KEY: key })
          .secrets.get('GATEWAY_MASTER_KEY')
          ?.read(),
      ).toBe(key);
    },
  );

  it.each([
    [Buffer.alloc(31).toString('base64'), 1, 44],
    [Buffer.alloc(33).toString('base64'), 1, 44],
    ['secret', 1, 6],
    [`${KEY},`, 2, 0],
    [`${KEY},short`, 2, 5],
    [`${'*'.repeat(43)}=`, 1, 44],
    ['0'.repeat(64), 1, 64],
  ])('may not be %s', (key, place, length) => {
    expect(faultsOf({ ...BASE, GATEWAY_MASTER_KEY: key })).toEqual([
      `GATEWAY_MASTER_KEY: was a secret whose key ${place} has ${length} characters; allowed is 32 bytes in base64 (openssl rand -base64 32)`,
    ]);
  });
});

describe('the rest', () => {
  it('trusts proxies by address or range', () => {
    const good = ['10.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8'];
    expect(load(BASE, stringify({ server: { trustedProxies: good } })).server.trustedProxies).toEqual(good);
    const bad = ['10.0.0.1', 'loopback', '127.1', '10.0.0.0/33', 'proxy.example'];
    expect(faultsOf(BASE, stringify({ server: { trustedProxies: bad } }))).toEqual(
      [1, 2, 3, 4].map(
        (index) =>
          `server.trustedProxies.${index}: was "${bad[index]}"; allowed is an IPv4 or IPv6 address, or a range such as 10.0.0.0/8`,
      ),
    );
  });

  it('takes a regular expression for account names', () => {
    expect(faultsOf(BASE, 'report: {accountPattern: "^(a"}')).toEqual([
      'report.accountPattern: was "^(a"; allowed is a regular expression',
    ]);
  });

  it('refuses the test clock in production', () => {
    expect(faultsOf({ ...BASE, GATEWAY_TEST_CLOCK: '1', NODE_ENV: 'production' })).toEqual([
      'GATEWAY_TEST_CLOCK: was 1; allowed is 0 when NODE_ENV is production',
    ]);
    expect(faultsOf({ ...BASE, NODE_ENV: 'production' }, 'testClock: true')).toHaveLength(1);
    expect(load({ ...BASE, GATEWAY_TEST_CLOCK: '0', NODE_ENV: 'production' }).testClock).toBe(false);
    expect(load({ ...BASE, GATEWAY_TEST_CLOCK: '1', NODE_ENV: 'test' }).testClock).toBe(true);
  });
});

describe('the outbound proxy', () => {
  it('has the names every tool has; lower case wins', () => {
    expect(proxySettings({})).toEqual({});
    expect(
      proxySettings({ HTTP_PROXY: 'http://a:1', HTTPS_PROXY: 'https://b:2', NO_PROXY: 'x.example' }),
    ).toEqual({ httpProxy: 'http://a:1', httpsProxy: 'https://b:2', noProxy: 'x.example' });
    expect(proxySettings({ HTTPS_PROXY: 'http://upper', https_proxy: 'http://lower' })).toEqual({
      httpsProxy: 'http://lower',
    });
    expect(proxySettings({ HTTPS_PROXY: '' })).toEqual({});
  });

  it('is refused when it is none, without a word of it', () => {
    expect(() =>
      proxySettings({ HTTPS_PROXY: 'me:secret@proxy', HTTP_PROXY: 'socks5://me:secret@p' }),
    ).toThrow(
      new ConfigError([
        'HTTP_PROXY: was an address of 20 characters; allowed is an http:// or https:// address',
        'HTTPS_PROXY: was an address of 15 characters; allowed is an http:// or https:// address',
      ]),
    );
  });
});
