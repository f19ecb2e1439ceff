/** Calls about the keys of teams. */
import Type from 'typebox';
import { closed, integer, nullable, text, time, titled } from '../openapi/schemas.js';
import { OF_TEAM, operations } from './operation.js';

const describe = operations('keys');

const timeOrNull = nullable(time);
export const OF_KEY = { id: "The key's id." };
/** Of a key, when one is made or rolled, by operators and by people for themselves. */
export const LABEL = Type.Optional(Type.String({ maxLength: 200, description: 'A name for people.' }));
export const OVERLAP = Type.Optional(
  integer(0, 31_536_000, 'How long the old key stays valid; 0 by default.'),
);

export const Issued = titled('IssuedKey', {
  id: text('Unchanged when the key is rolled.'),
  key: text('The key. It is shown only once.'),
  prefix: text('First characters of the key.'),
  teamId: Type.String(),
  createdAt: time,
  expiresAt: timeOrNull,
});

const Key = titled('Key', {
  id: Type.String(),
  teamId: Type.String(),
  label: Type.String(),
  maker: Type.Optional(text('Id of the person who made it; absent: an operator.')),
  makerName: Type.Optional(nullable(Type.String(), 'Null: the person is forgotten.')),
  scopes: Type.Optional(
    Type.Array(Type.String(), { description: "Limits it to some of the team's scopes." }),
  ),
  prefix: text('First characters of the key.'),
  createdAt: time,
  expiresAt: timeOrNull,
  revokedAt: timeOrNull,
  previous: nullable(
    Type.Object({ prefix: Type.String(), validUntil: time }),
    'The replaced key, while it is still valid.',
  ),
  lastUsedAt: timeOrNull,
  refused: nullable(
    Type.Enum(['team-disabled', 'long-ago', 'not-allowed']),
    'Why calls with it are refused although it is neither revoked nor expired: its team is disabled; its maker has not signed in for auth.oidc.keysNeedSignInDays; its maker may have no keys of the team any more. Null: they are not.',
  ),
  refusedCalls: Type.Optional(
    nullable(
      Type.Object({ calls: integer(1, 1_000_000_000, 'How many.'), lastAt: time, address: Type.String() }),
      'Calls of the last hour that were refused as the key, or its replaced secret, is not valid any more; null: none. For operators only.',
    ),
  ),
});
export const Keys = Type.Object({ keys: Type.Array(Key) });

export const issueKey = describe('issueKey', 'operator', 'POST /admin/v1/teams/:id/keys', {
  summary: 'Issue a key',
  path: OF_TEAM,
  body: closed({
    label: LABEL,
    expiresAt: Type.Optional(nullable(Type.String(), 'ISO date; never by default.')),
  }),
  status: 201,
  answer: Issued,
  about: 'Issued.',
  problems: ['not_found', 'conflict'],
});

export const listKeys = describe('listKeys', 'viewer', 'GET /admin/v1/teams/:id/keys', {
  summary: 'Keys of a team',
  path: OF_TEAM,
  answer: Keys,
  about: 'Keys of the team.',
  problems: ['not_found', 'not_ready'],
});

export const listAllKeys = describe('listAllKeys', 'viewer', 'GET /admin/v1/keys', {
  summary: 'Keys of all teams',
  answer: Keys,
  about: 'Keys of all teams, oldest first.',
  problems: ['not_ready'],
});

export const revokeKey = describe('revokeKey', 'operator', 'DELETE /admin/v1/keys/:id', {
  summary: 'Revoke a key',
  path: OF_KEY,
  status: 204,
  problems: ['not_found', 'conflict'],
});

export const revokeKeysOfPerson = describe(
  'revokeKeysOfPerson',
  'operator',
  'POST /admin/v1/persons/:id/revoke-keys',
  {
    summary: 'Revoke all keys that a person made',
    path: { id: "The person's id, the maker of a key." },
    answer: titled('RevokedKeys', { revoked: integer(0, 1_000_000, 'How many were valid.') }),
    about: 'Revoked.',
    problems: ['conflict'],
  },
);

export const rollKey = describe('rollKey', 'operator', 'POST /admin/v1/keys/:id/roll', {
  summary: 'Replace a key; the old one can stay valid for a while',
  path: OF_KEY,
  body: closed({ overlapSeconds: OVERLAP }),
  status: 201,
  answer: Issued,
  about: 'Replaced.',
  problems: ['not_found', 'conflict'],
});
