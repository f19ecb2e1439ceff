/** Team keys: issue, list, roll, revoke. The key itself is shown once, in the answer that made it. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import type { KeyRecord } from '../auth/key-record.js';
import type { LastUse } from '../auth/last-use.js';
import { json, type Operation, shownAs } from '../openapi/operation.js';
import { readFutureDate } from './future-date.js';
import { changed, REMOVED_ANSWERS } from './say-unconfirmed.js';
import { createTeamKeys, type IssuedKey, showKey, type TeamKeysOptions } from './team-keys.js';

export interface KeysOptions extends TeamKeysOptions {
  readonly lastUse: Pick<LastUse, 'read'>;
}

const NewKey = Type.Object(
  {
    label: Type.Optional(Type.String({ maxLength: 200, description: 'For people.' })),
    expiresAt: Type.Optional(
      Type.Union([Type.String(), Type.Null()], { description: 'ISO date; absent: never.' }),
    ),
  },
  { additionalProperties: false },
);

const Roll = Type.Object(
  {
    overlapSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: 31_536_000,
        description: 'How long the old key stays valid; 0 when absent.',
      }),
    ),
  },
  { additionalProperties: false },
);

const time = Type.String({ format: 'date-time' });
const timeOrNull = Type.Union([time, Type.Null()]);

const Issued = Type.Object(
  {
    id: Type.String({ description: 'Stays when the key is rolled.' }),
    key: Type.String({ description: 'The key itself, shown this once.' }),
    prefix: Type.String({ description: 'How it begins.' }),
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
    prefix: Type.String({ description: 'How it begins.' }),
    createdAt: time,
    expiresAt: timeOrNull,
    revokedAt: timeOrNull,
    previous: Type.Union([Type.Object({ prefix: Type.String(), validUntil: timeOrNull }), Type.Null()], {
      description: 'The one it replaced, while that is valid.',
    }),
    lastUsedAt: timeOrNull,
  },
  { title: 'Key' },
);

const ofTeam = { id: "The team's id." };
const ofKey = { id: "The key's id." };

/** In the OpenAPI document. */
const DESCRIBED = {
  issue: {
    id: 'issueKey',
    path: ofTeam,
    answers: { 201: changed(Issued, 'Issued.') },
    problems: ['not_found', 'conflict'],
  },
  list: {
    id: 'listKeys',
    path: ofTeam,
    answers: { 200: json(Type.Object({ keys: Type.Array(Key) }), 'Keys of the team.') },
    problems: ['not_found', 'not_ready'],
  },
  listAll: {
    id: 'listAllKeys',
    answers: { 200: json(Type.Object({ keys: Type.Array(Key) }), 'Keys of all teams, the oldest first.') },
    problems: ['not_ready'],
  },
  revoke: { id: 'revokeKey', path: ofKey, answers: REMOVED_ANSWERS, problems: ['not_found', 'conflict'] },
  roll: {
    id: 'rollKey',
    path: ofKey,
    answers: { 201: changed(Issued, 'Replaced.') },
    problems: ['not_found', 'conflict'],
  },
} as const satisfies Record<string, Operation>;

interface IdParams {
  readonly id: string;
}

export function registerKeys(app: FastifyInstance, options: KeysOptions): void {
  const { lastUse, clock } = options;
  const keys = createTeamKeys(options);
  const listed = async (found: readonly KeyRecord[]) => {
    const used = await lastUse.read();
    return { keys: found.map((key) => ({ ...showKey(key), lastUsedAt: isoOf(used.get(key.id)) })) };
  };

  app.post(
    '/admin/v1/teams/:id/keys',
    shownAs('keys', 'Issue a key', DESCRIBED.issue, NewKey),
    async (request, reply) => {
      const { label = '', expiresAt: given = null } = request.body as Static<typeof NewKey>;
      const { id: teamId } = request.params as IdParams;
      const expiresAt = readFutureDate('expiresAt', given, clock.now());
      return reply.code(201).send(showIssued(await keys.issue({ teamId, label, expiresAt }, request.actor)));
    },
  );

  app.get('/admin/v1/teams/:id/keys', shownAs('keys', 'Keys of a team', DESCRIBED.list), async (request) =>
    listed(keys.of((request.params as IdParams).id)),
  );

  app.get('/admin/v1/keys', shownAs('keys', 'Keys of all teams', DESCRIBED.listAll), async () =>
    listed(keys.all()),
  );

  app.delete(
    '/admin/v1/keys/:id',
    shownAs('keys', 'Revoke a key', DESCRIBED.revoke),
    async (request, reply) => {
      await keys.revoke((request.params as IdParams).id, request.actor);
      return reply.code(204).send();
    },
  );

  app.post(
    '/admin/v1/keys/:id/roll',
    shownAs('keys', 'Replace a key, the old one staying valid for a while', DESCRIBED.roll, Roll),
    async (request, reply) => {
      const { overlapSeconds = 0 } = request.body as Static<typeof Roll>;
      const { id } = request.params as IdParams;
      return reply.code(201).send(showIssued(await keys.roll(id, overlapSeconds, request.actor)));
    },
  );
}

function isoOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

function showIssued({ key, text }: IssuedKey): object {
  const { id, teamId, createdAt, expiresAt } = key;
  return { id, key: text, prefix: key.secrets[0]?.prefix, teamId, createdAt, expiresAt };
}
