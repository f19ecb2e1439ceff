import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.js';
import { fixedSecret, TOKEN_REQUEST, tokenRequestOf } from '../../src/config/secret.js';
import { listSettings } from '../../src/config/settings.js';
import { missingCredential } from '../../src/config/warnings.js';

const secretsOf = (names: readonly string[]) => new Map(names.map((name) => [name, fixedSecret(name, name)]));

describe('the settings of the token request', () => {
  it('are all secrets of the platform but its token', () => {
    const secrets = listSettings().filter(({ path, secret }) => secret && path.startsWith('platform.'));
    expect(secrets.map(({ env }) => env)).toEqual(['PLATFORM_TOKEN', ...TOKEN_REQUEST]);
  });

  it.each(TOKEN_REQUEST)(
    'are incomplete without %s, for the start, the warning and the request',
    (missing) => {
      const others = TOKEN_REQUEST.filter((name) => name !== missing);
      expect(tokenRequestOf(secretsOf(others))).toBeNull();
      expect(missingCredential(secretsOf(others))).toContain(missing);
      const base = { GATEWAY_CONFIG: '', PLATFORM_BASE_URL: 'https://platform.example' };
      const env = { ...base, ...Object.fromEntries(others.map((name) => [name, '1'])) };
      expect(() => loadConfig(env)).toThrow(`${missing}: was not set`);
    },
  );

  it('are complete with all of them', () => {
    const found = tokenRequestOf(secretsOf(TOKEN_REQUEST));
    expect(Object.values(found ?? {}).map(({ name }) => name)).toEqual(TOKEN_REQUEST);
    expect(missingCredential(secretsOf(TOKEN_REQUEST))).toBeNull();
  });
});
