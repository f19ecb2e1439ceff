import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { effectiveSettings } from '../../src/config/describe.js';
import { loadConfig } from '../../src/config/load.js';
import { nearMisses, openAdminPlane } from '../../src/config/warnings.js';
import { nearName } from '../../src/lib/near-name.js';

const BASE = { GATEWAY_CONFIG: '', PLATFORM_BASE_URL: 'https://platform.example' };

describe('an admin plane', () => {
  it.each(['127.0.0.1', '127.8.9.1', '::1', 'localhost', '::ffff:127.0.0.1'])(
    'on %s is its machine’s own',
    (host) => {
      expect(openAdminPlane(host)).toEqual([]);
    },
  );

  it.each(['0.0.0.0', '::', '10.0.0.7', 'gateway.internal', '127.evil.example'])('on %s is told', (host) => {
    expect(openAdminPlane(host)).toEqual([expect.stringContaining(`listens on ${host} (ADMIN_HOST)`)]);
  });
});

describe('a name that is one letter off', () => {
  it.each([
    ['PLATFORM_TOKN', 'PLATFORM_TOKEN'],
    ['PLATFROM_TOKEN', 'PLATFORM_TOKEN'],
    ['PLATFORM_TOKENS', 'PLATFORM_TOKEN'],
    ['PLATFORM_TOKEN_FLE', 'PLATFORM_TOKEN_FILE'],
    ['REDIS_URI', 'REDIS_URL'],
  ])('%s is told with the name that was probably meant, %s', (name, meant) => {
    expect(nearMisses({ [name]: 'x' })).toEqual([
      `${name} is not a setting and has no effect; did you mean ${meant}?`,
    ]);
    expect(loadConfig({ ...BASE, [name]: 'x' }).warnings).toHaveLength(1);
  });

  it('is not seen in names that are settings, are empty, short, or others', () => {
    const env = {
      PLATFORM_TOKEN: 'x',
      HTTP_PROXY: 'x',
      HTTPS_PROXY: 'x',
      PLATFORM_TOKN: '',
      POR: '1',
      DSP_GATEWAY_PORT: 'tcp://x',
    };
    expect(nearMisses(env)).toEqual([]);
  });

  it('is found after any one edit of a long name, and never for the name itself', () => {
    const name = fc.stringMatching(/^[A-Z]{8,20}$/);
    fc.assert(
      fc.property(
        name,
        fc.nat(),
        fc.constantFrom('drop', 'double', 'swap', 'change'),
        (known, seed, edit) => {
          const at = seed % (known.length - 1);
          const [a = '', b = ''] = [known[at], known[at + 1]];
          const middle = { drop: b, double: a + a + b, swap: b + a, change: `_${b}` }[edit];
          const edited = known.slice(0, at) + middle + known.slice(at + 2);
          expect(nearName(edited, [known])).toBe(edited === known ? undefined : known);
          expect(nearName(known, [known])).toBeUndefined();
        },
      ),
    );
  });
});

it('effective settings say where each is from, and of a secret only that it is set', () => {
  const yaml = new URL('shown.yaml', import.meta.url).pathname;
  const all = effectiveSettings({
    ...BASE,
    GATEWAY_CONFIG: yaml,
    PORT: '9000',
    PLATFORM_TOKEN: 'secret-of-the-test',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://ops:secret-of-the-test@collector.example/v1',
  });
  const of = (path: string) => all.find((setting) => setting.path === path);
  expect(of('server.port')).toEqual({ path: 'server.port', env: 'PORT', value: 9000, from: 'environment' });
  expect(of('server.drainSeconds')).toMatchObject({ value: 12, from: yaml });
  expect(of('server.workers')).toMatchObject({ value: 1, from: 'default' });
  expect(of('platform.token')).toMatchObject({ value: 'set, not shown', from: 'environment' });
  expect(of('platform.password')).toMatchObject({ value: undefined });
  expect(of('tracing.endpoint')).toMatchObject({ value: 'https://…@collector.example/v1' });
  expect(JSON.stringify(all)).not.toContain('secret-of-the-test');
});
