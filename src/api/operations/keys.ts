/** Calls about the keys of teams. */
import Type from 'typebox';
import { OF_TEAM, operations } from './operation.js';

const describe = operations('keys');

const time = Type.String({ format: 'date-time' });
const timeOrNull = Type.Union([time, Type.Null()]);
const OF_KEY = { id: "The key's id." };

const Issued = Type.Object(
  {
    id: Type.String({ description: 'Unchanged when the key is rolled.' }),
    key: Type.String({ description: 'The key. It is shown only once.' }),
    prefix: Type.String({ description: 'First characters of the key.' }),
    teamId: Type.String(),
    createdAt: time,
    expiresAt: timeOrNull,
  },
  { title: 'IssuedKey' },
);

const Key = Type.Object(
  {
    id: Type.String(),
    teamId: Type.String(),
    label: Type.String(),
    prefix: Type.String({ description: 'First characters of the key.' }),
    createdAt: time,
    expiresAt: timeOrNull,
    revokedAt: timeOrNull,
    previous: Type.Union([Type.Object({ prefix: Type.String(), validUntil: time }), Type.Null()], {
      description: 'The replaced key, while it is still valid.',
    }),
    lastUsedAt: timeOrNull,
  },
  { title: 'Key' },
);
const Keys = Type.Object({ keys: Type.Array(Key) });

export const issueKey = describe('issueKey', 'operator', 'POST /admin/v1/teams/:id/keys', 'Issue a key', {
  path: OF_TEAM,
  body: Type.Object(
    {
      label: Type.Optional(Type.String({ maxLength: 200, description: 'A name for people.' })),
      expiresAt: Type.Optional(
        Type.Union([Type.String(), Type.Null()], { description: 'ISO date; never by default.' }),
      ),
    },
    { additionalProperties: false },
  ),
  status: 201,
  answer: Issued,
  about: 'Issued.',
  problems: ['not_found', 'conflict'],
});

export const listKeys = describe('listKeys', 'viewer', 'GET /admin/v1/teams/:id/keys', 'Keys of a team', {
  path: OF_TEAM,
  answer: Keys,
  about: 'Keys of the team.',
  problems: ['not_found', 'not_ready'],
});

export const listAllKeys = describe('listAllKeys', 'viewer', 'GET /admin/v1/keys', 'Keys of all teams', {
  answer: Keys,
  about: 'Keys of all teams, oldest first.',
  problems: ['not_ready'],
});

export const revokeKey = describe('revokeKey', 'operator', 'DELETE /admin/v1/keys/:id', 'Revoke a key', {
  path: OF_KEY,
  status: 204,
  problems: ['not_found', 'conflict'],
});

export const rollKey = describe(
  'rollKey',
  'operator',
  'POST /admin/v1/keys/:id/roll',
  'Replace a key; the old one can stay valid for a while',
  {
    path: OF_KEY,
    body: Type.Object(
      {
        overlapSeconds: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: 31_536_000,
            description: 'How long the old key stays valid; 0 by default.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    status: 201,
    answer: Issued,
    about: 'Replaced.',
    problems: ['not_found', 'conflict'],
  },
);
