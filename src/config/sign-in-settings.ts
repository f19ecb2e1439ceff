/** Settings of signing in with a company account (`auth.oidc`), and the rules between them. */
import Type, { type Static } from 'typebox';
import { count, group, list, optionalText, secret } from './setting-types.js';
import * as values from './values.js';

export const ROLES = ['viewer', 'operator', 'owner'] as const;
export type AdminRole = (typeof ROLES)[number];

/** What a team, or a key of its own, may do. */
export const SCOPES = [
  'report:read',
  'report:pin',
  'report:watch',
  'platform:read',
  'platform:write',
  'cache:refresh',
  'mcp',
] as const;
export type Scope = (typeof SCOPES)[number];

const personRule = Type.Object(
  {
    when: Type.Record(
      Type.String({ pattern: '^.+$' }),
      Type.Union([Type.String({ minLength: 1 }), Type.Number(), Type.Boolean()]),
      {
        minProperties: 1,
        allowed: 'a mapping of claims to texts, numbers, true or false, with one or more',
        description: 'Claims that must all match: the same value, or a list that holds it.',
      },
    ),
    admin: Type.Optional(Type.Enum([...ROLES], { description: 'Role in the console and the admin API.' })),
    teams: Type.Optional(
      Type.Union(
        [Type.Array(Type.String({ pattern: '^[a-z0-9-]{1,40}$' }), { minItems: 1 }), Type.Literal('*')],
        {
          allowed: "a list of ids of teams that is not empty, or '*'",
          description: "Teams as which the person may open the explorer; '*': all.",
        },
      ),
    ),
    keys: Type.Optional(Type.Boolean({ description: 'Whether the person may make keys of these teams.' })),
  },
  { additionalProperties: false },
);

/** One entry of `auth.oidc.people`. */
export type PersonRule = Static<typeof personRule>;

const SECURE = 'an https:// address; http:// only for this machine';
const ORIGIN = { is: isOwnAddress, allowed: `${SECURE}, without a path` };

export const oidc = group(
  {
    issuer: optionalText('Address of the identity provider, as in its id tokens. Off when unset.', {
      is: (text: string) => values.isBaseUrl(text) && isSecure(text),
      allowed: SECURE,
    }),
    clientId: optionalText('The id of this gateway at the provider.', { minLength: 1 }),
    clientSecret: secret('OIDC_CLIENT_SECRET', 'Secret of the client. Unset: a public client.'),
    scopes: list('Requested scopes; groups where the provider knows it.', {}, ['openid', 'profile', 'email']),
    publicUrl: optionalText(
      'Address of the data plane in browsers. Unset: no sign-in to the explorer.',
      ORIGIN,
    ),
    adminPublicUrl: optionalText(
      'Address of the admin plane in browsers. Unset: no sign-in to the console.',
      ORIGIN,
    ),
    people: Type.Array(personRule, {
      default: [],
      description:
        'Who may what: {when, admin, teams, keys}. Each of admin, teams and keys is taken from the first matching rule that has it.',
    }),
    keyScopes: list(
      'Scopes of keys that people make, within those of the team.',
      {
        is: (text: string) => SCOPES.some((scope) => scope === text),
        allowed: `one of ${SCOPES.join(', ')}`,
      },
      ['report:read'],
    ),
    keysPerPerson: count([5, 1, 100], 'Valid keys that a person may have.'),
    maxKeyDays: count([90, 1, 3650], 'Longest lifetime of a key that a person makes, in days.'),
    keysNeedSignInDays: count(
      [30, 1, 365],
      'Days since the last sign-in of its maker after which a key is refused.',
    ),
  },
  'People sign in with their company account (OpenID Connect).',
);

const LOOPBACK = /^(?:localhost|[a-z0-9.-]+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** Whether an address is one of this machine, where http:// is safe. */
export function isLoopback(address: string): boolean {
  return LOOPBACK.test(new URL(address).hostname);
}

function isSecure(address: string): boolean {
  return new URL(address).protocol === 'https:' || isLoopback(address);
}

function isOwnAddress(text: string): boolean {
  return values.isBaseUrl(text) && isSecure(text) && new URL(text).pathname === '/';
}

/** Set by users themselves at some providers. */
const CHOSEN_BY_USERS = ['email', 'preferred_username', 'upn'];

interface AuthValues {
  readonly tokenSignIn: boolean;
  readonly oidc: Static<typeof oidc>;
}

/** @returns one line per fault, in the form `NAME: was …; allowed is …` */
export function signInFaults({ tokenSignIn, oidc: settings }: AuthValues): string[] {
  const { issuer, clientId, scopes, publicUrl, adminPublicUrl, people } = settings;
  const faults: string[] = [];
  const need = (isMet: boolean, name: string, was: string, allowed: string) =>
    void (isMet || faults.push(`auth.${name}: was ${was}; allowed is ${allowed}`));
  if (!tokenSignIn)
    need(
      issuer !== undefined && adminPublicUrl !== undefined,
      'tokenSignIn',
      'false',
      'true without auth.oidc.issuer and auth.oidc.adminPublicUrl: nobody could open the console',
    );
  if (issuer === undefined) {
    const given = { clientId, publicUrl, adminPublicUrl, people: people[0] };
    for (const [name, value] of Object.entries(given))
      need(value === undefined, `oidc.${name}`, 'set', 'a value together with auth.oidc.issuer');
    return faults;
  }
  need(clientId !== undefined, 'oidc.clientId', 'not set', 'the id of this gateway at the provider');
  need(scopes.includes('openid'), 'oidc.scopes', 'a list without openid', 'a list with openid');
  const isOpen = publicUrl !== undefined || adminPublicUrl !== undefined;
  need(isOpen, 'oidc.publicUrl', 'not set', `${ORIGIN.allowed}; or set adminPublicUrl`);
  need(people.length > 0, 'oidc.people', 'an empty list', 'a list with one rule or more');
  people.forEach((rule, at) => {
    const isEmpty = rule.admin === undefined && rule.teams === undefined && rule.keys === undefined;
    need(!isEmpty, `oidc.people.${at}`, 'a rule that gives nothing', 'admin, teams or keys beside when');
    for (const claim of CHOSEN_BY_USERS.filter((name) => Object.hasOwn(rule.when, name)))
      need(
        rule.when.email_verified === true || 'hd' in rule.when || 'tid' in rule.when,
        `oidc.people.${at}.when.${claim}`,
        'set alone',
        `${claim} beside email_verified: true, hd or tid, as users of some providers set it themselves`,
      );
  });
  return faults;
}
