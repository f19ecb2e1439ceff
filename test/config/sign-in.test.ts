import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { BASE, FAULT_LINE, faultsOf, load } from './settings-in.js';

const OIDC = {
  issuer: 'https://login.company.example/realms/company',
  clientId: 'dsp-gateway',
  publicUrl: 'https://reports.company.example',
  adminPublicUrl: 'https://gateway.company.example',
  people: [
    { when: { groups: 'dsp-admins' }, admin: 'owner', teams: '*' },
    { when: { email_verified: true, hd: 'company.example' }, teams: ['sandbox'], keys: true },
  ],
};

const yamlOf = (oidc: object, auth: object = {}) => stringify({ auth: { ...auth, oidc } });
const faultsWith = (change: object, auth: object = {}) =>
  faultsOf(BASE, yamlOf({ ...OIDC, ...change }, auth));

describe('settings of signing in with a company account', () => {
  it('are taken, with defaults', () => {
    const { oidc, tokenSignIn } = load(BASE, yamlOf(OIDC, { tokenSignIn: false })).auth;
    expect(tokenSignIn).toBe(false);
    expect(oidc).toMatchObject({
      ...OIDC,
      scopes: ['openid', 'profile', 'email'],
      keyScopes: ['report:read'],
      keysPerPerson: 5,
      maxKeyDays: 90,
      keysNeedSignInDays: 30,
    });
  });

  it('are off when none is set', () => {
    const { oidc, tokenSignIn } = load().auth;
    expect([oidc.issuer, tokenSignIn]).toEqual([undefined, true]);
  });

  it('have their secret from the environment', () => {
    const { secrets } = load({ ...BASE, OIDC_CLIENT_SECRET: 'shared with the provider' }, yamlOf(OIDC));
    expect(secrets.get('OIDC_CLIENT_SECRET')?.read()).toBe('shared with the provider');
  });

  it('may name a provider and a gateway of this machine without TLS', () => {
    const here = { issuer: 'http://localhost:3000/a', publicUrl: 'http://127.0.0.1:8080' };
    expect(load(BASE, yamlOf({ ...OIDC, ...here })).auth.oidc).toMatchObject(here);
  });

  it.each([
    ['an issuer without TLS', { issuer: 'http://login.company.example' }, 'auth.oidc.issuer'],
    ['an issuer with a query', { issuer: 'https://login.company.example/?a=1' }, 'auth.oidc.issuer'],
    ['an issuer that is no address', { issuer: 'login' }, 'auth.oidc.issuer'],
    ['no client id', { clientId: undefined }, 'auth.oidc.clientId'],
    ['scopes without openid', { scopes: ['email'] }, 'auth.oidc.scopes'],
    [
      'an address of its own with a path',
      { publicUrl: 'https://company.example/dsp' },
      'auth.oidc.publicUrl',
    ],
    [
      'an address of its own without TLS',
      { adminPublicUrl: 'http://gateway.example' },
      'auth.oidc.adminPublicUrl',
    ],
    ['no address of its own', { publicUrl: undefined, adminPublicUrl: undefined }, 'auth.oidc.publicUrl'],
    ['an empty list of people', { people: [] }, 'auth.oidc.people'],
    ['an unknown scope of keys', { keyScopes: ['admin'] }, 'auth.oidc.keyScopes.0'],
    ['an unknown role', { people: [{ when: { a: 1 }, admin: 'king' }] }, 'auth.oidc.people.0.admin'],
    [
      'a team that is no id',
      { people: [{ when: { a: 1 }, teams: ['No Team'] }] },
      'auth.oidc.people.0.teams.0',
    ],
    ['an empty list of teams', { people: [{ when: { a: 1 }, teams: [] }] }, 'auth.oidc.people.0.teams'],
    ['a rule that fits everybody', { people: [{ when: {}, teams: '*' }] }, 'auth.oidc.people.0.when'],
    ['a rule without when', { people: [{ teams: '*' }] }, 'auth.oidc.people.0.when'],
    ['a claim that is a list', { people: [{ when: { a: ['b'] }, teams: '*' }] }, 'auth.oidc.people.0.when.a'],
    ['a rule that gives nothing', { people: [{ when: { a: 1 } }] }, 'auth.oidc.people.0'],
    ['a misspelt member', { people: [{ when: { a: 1 }, team: ['a'] }] }, 'auth.oidc.people.0.team'],
    ...['email', 'preferred_username', 'upn'].map(
      (claim) =>
        [
          `${claim} alone`,
          { people: [{ when: { [claim]: 'a@company.example', email_verified: false }, teams: '*' }] },
          `auth.oidc.people.0.when.${claim}`,
        ] as const,
    ),
  ] as const)('refuse the start for %s, in one line', (_, change, name) => {
    const faults = faultsWith(change);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(FAULT_LINE);
    expect(faults[0]?.split(':', 1)[0]).toBe(name);
  });

  it.each([{ email_verified: true }, { hd: 'company.example' }, { tid: '5' }])(
    'take an e-mail address beside %j',
    (beside) => {
      const people = [{ when: { email: 'a@company.example', ...beside }, teams: ['a'] }];
      expect(load(BASE, yamlOf({ ...OIDC, people })).auth.oidc.people).toEqual(people);
    },
  );

  it.each([
    ['without a provider', {}],
    ['without an address of the console', { ...OIDC, adminPublicUrl: undefined }],
  ])('keep sign-in by token %s', (_, oidc) => {
    expect(faultsOf(BASE, yamlOf(oidc, { tokenSignIn: false }))).toEqual([
      expect.stringMatching(/^auth\.tokenSignIn: was false; allowed is true without /),
    ]);
  });

  it('refuse the start if they are set without an issuer', () => {
    const names = faultsOf(BASE, yamlOf({ ...OIDC, issuer: undefined })).map(
      (fault) => fault.split(':', 1)[0],
    );
    expect(names).toEqual([
      'auth.oidc.clientId',
      'auth.oidc.publicUrl',
      'auth.oidc.adminPublicUrl',
      'auth.oidc.people',
    ]);
  });
});
