import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { BASE, FAULT_LINE, faultsOf, file, load } from './settings-in.js';

const OPS = 'token-of-the-operators';
const yaml = (adminTokens: unknown) => stringify({ auth: { adminTokens } });

describe('named admin tokens', () => {
  it('are read from files, which may change, and from the environment', () => {
    const path = file(`${OPS}\n`, 'ops.token');
    const config = load(
      { ...BASE, AUDITOR: 'token-of-the-auditor' },
      yaml([
        { name: 'ops@example', role: 'operator', tokenFile: path },
        { name: 'auditor', role: 'viewer', tokenEnv: 'AUDITOR' },
      ]),
    );
    const shown = () => config.admins.map(({ name, role, token }) => [name, role, token.read()]);
    expect(shown()).toEqual([
      ['ops@example', 'operator', OPS],
      ['auditor', 'viewer', 'token-of-the-auditor'],
    ]);
    expect(config.fileSecrets).toHaveLength(1);
    writeFileSync(path, 'another-token-of-theirs');
    for (const secret of config.fileSecrets) secret.refresh();
    expect(shown()[0]?.[2]).toBe('another-token-of-theirs');
  });

  it('are none unless they are set', () => {
    expect(load().admins).toEqual([]);
  });

  const viewer = (token: object, name = 'a') => ({ name, role: 'viewer', ...token });

  it.each<[string, object[], string]>([
    ['a role that does not exist', [{ name: 'a', role: 'root', tokenEnv: 'A' }], 'auth.adminTokens.0.role'],
    ['a name that is none', [viewer({ tokenEnv: 'A' }, ' a')], 'auth.adminTokens.0.name'],
    ['the name of ADMIN_TOKEN', [viewer({ tokenEnv: 'A' }, 'admin')], 'auth.adminTokens.0.name'],
    ["the gateway's name", [viewer({ tokenEnv: 'A' }, 'gateway')], 'auth.adminTokens.0.name'],
    [
      'one name twice',
      [viewer({ tokenEnv: 'A' }), { name: 'a', role: 'owner', tokenEnv: 'B' }],
      'auth.adminTokens.1.name',
    ],
    [
      'one token twice',
      [viewer({ tokenEnv: 'A' }), { name: 'b', role: 'owner', tokenEnv: 'A' }],
      'auth.adminTokens.1',
    ],
    ['the value of ADMIN_TOKEN', [viewer({ tokenEnv: 'ADMIN_TOKEN' })], 'auth.adminTokens.0'],
    ['no token', [viewer({})], 'auth.adminTokens.0'],
    ['two tokens', [viewer({ tokenEnv: 'A', tokenFile: 'b' })], 'auth.adminTokens.0'],
    ['a token in the YAML', [viewer({ token: 'secret-in-the-yaml' })], 'auth.adminTokens.0.token'],
    ['a variable that is not set', [viewer({ tokenEnv: 'NONE' })], 'auth.adminTokens.0.tokenEnv'],
    ['a file that is not there', [viewer({ tokenFile: '/no/such/file' })], 'auth.adminTokens.0.tokenFile'],
    ['a short token', [viewer({ tokenEnv: 'SHORT' })], 'auth.adminTokens.0'],
    ['a token with a space', [viewer({ tokenEnv: 'SPACED' })], 'auth.adminTokens.0'],
  ])('%s stops the start, and no token is shown', (_what, tokens, place) => {
    const values = {
      A: 'token-number-one-of-two',
      B: 'token-number-two-of-two',
      ADMIN_TOKEN: 'the-token-of-the-owner',
      SHORT: 'short-15-chars-',
      SPACED: 'token with a space in it',
    };
    const faults = faultsOf({ ...BASE, ...values }, yaml(tokens));
    expect(faults.some((fault) => fault.startsWith(`${place}: was `))).toBe(true);
    for (const fault of faults) {
      expect(fault).toMatch(FAULT_LINE);
      for (const value of [...Object.values(values), 'secret-in-the-yaml'])
        expect(fault).not.toContain(value);
    }
  });
});
