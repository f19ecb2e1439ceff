/** Team keys: issue, list, roll, revoke. The key itself is shown once, in the answer that made it. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { type Directory, KEY_PREFIX, type KeyRecord, newKeyId, TEAM_PREFIX } from '../auth/directory.js';
import type { LastUse } from '../auth/last-use.js';
import type { Clock } from '../clock.js';
import { GatewayError } from '../errors.js';
import type { Registry } from '../registry/mirror.js';
import { RegistryConflict } from '../store/port.js';
import { type Actor, auditLine } from '../telemetry/audit.js';
import { readFutureDate } from './future-date.js';

export interface KeysOptions {
  readonly registry: Registry;
  readonly directory: Directory;
  readonly lastUse: Pick<LastUse, 'read'>;
  readonly clock: Clock;
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

/** A team that is edited meanwhile is no reason to refuse its key. */
const MAX_TRIES = 5;

interface IdParams {
  readonly id: string;
}

export function registerKeys(app: FastifyInstance, options: KeysOptions): void {
  const { registry, directory, lastUse, clock } = options;
  const team = (id: string): string => {
    if (directory.team(id) === undefined)
      throw new GatewayError('not_found', { detail: 'There is no team of this id.' });
    return id;
  };
  const live = (id: string): KeyRecord => {
    const key = directory.key(id);
    if (key === undefined) throw new GatewayError('not_found', { detail: 'There is no key of this id.' });
    return key;
  };
  /** @param expect further records that must be as they were */
  const save = async (
    action: string,
    key: KeyRecord,
    actor: Actor,
    expect: ReadonlyMap<string, number> = new Map(),
  ): Promise<void> => {
    const id = KEY_PREFIX + key.id;
    const before = directory.key(key.id);
    const shown = before === undefined ? {} : { before: showKey(before) };
    const event = { action, subject: key.id, ...shown, after: showKey(key) };
    try {
      await registry.commit({
        writes: new Map([[id, JSON.stringify(key)]]),
        expect: new Map([...expect, [id, registry.get(id)?.revision ?? 0]]),
        audit: [auditLine(event, actor, clock.now())],
      });
    } catch (error) {
      if (!(error instanceof RegistryConflict)) throw error;
      throw new GatewayError('conflict', {
        detail: 'The key or its team was changed in between; try again.',
      });
    }
  };

  /** For the team as it is: one that is being deleted gets no key that would outlive it. */
  async function issue(draft: KeyRecord, actor: Actor): Promise<KeyRecord> {
    for (let tries = 1; ; tries++) {
      const teamRecord = TEAM_PREFIX + team(draft.teamId);
      const life = directory.life(draft.teamId);
      const key: KeyRecord = life === 0 ? draft : { ...draft, life };
      try {
        await save('key.issue', key, actor, new Map([[teamRecord, registry.get(teamRecord)?.revision ?? 0]]));
        return key;
      } catch (error) {
        if (!(error instanceof GatewayError) || error.code !== 'conflict' || tries === MAX_TRIES) throw error;
        await registry.refresh();
      }
    }
  }

  app.post(
    '/admin/v1/teams/:id/keys',
    { schema: { tags: ['keys'], summary: 'Issue a key', body: NewKey } },
    async (request, reply) => {
      const { label = '', expiresAt = null } = request.body as Static<typeof NewKey>;
      const { text, secret } = directory.createSecret();
      const { id } = request.params as IdParams;
      const draft = {
        id: newKeyId(),
        teamId: id,
        label,
        createdAt: new Date(clock.now()).toISOString(),
        expiresAt: readFutureDate('expiresAt', expiresAt, clock.now()),
        revokedAt: null,
        secrets: [secret],
      };
      const key = await issue(draft, request.actor);
      return reply.code(201).send(issued(key, text));
    },
  );

  app.get(
    '/admin/v1/teams/:id/keys',
    { schema: { tags: ['keys'], summary: 'Keys of a team' } },
    async (request) => {
      const keys = directory.keysOf(team((request.params as IdParams).id));
      const used = await lastUse.read();
      return { keys: keys.map((key) => ({ ...showKey(key), lastUsedAt: isoOf(used.get(key.id)) })) };
    },
  );

  app.delete(
    '/admin/v1/keys/:id',
    { schema: { tags: ['keys'], summary: 'Revoke a key' } },
    async (request, reply) => {
      const key = live((request.params as IdParams).id);
      if (key.revokedAt === null) {
        await save('key.revoke', { ...key, revokedAt: new Date(clock.now()).toISOString() }, request.actor);
      }
      return reply.code(204).send();
    },
  );

  app.post(
    '/admin/v1/keys/:id/roll',
    {
      schema: { tags: ['keys'], summary: 'Replace a key, the old one staying valid for a while', body: Roll },
    },
    async (request, reply) => {
      const { overlapSeconds = 0 } = request.body as Static<typeof Roll>;
      const key = live((request.params as IdParams).id);
      if (directory.isRevoked(key)) throw new GatewayError('conflict', { detail: 'The key is revoked.' });
      if (key.expiresAt !== null && Date.parse(key.expiresAt) <= clock.now())
        throw new GatewayError('conflict', {
          detail: `The key has expired (${key.expiresAt}), and so would a new secret of it; issue another key.`,
        });
      const { text, secret } = directory.createSecret();
      const validUntil = new Date(clock.now() + overlapSeconds * 1000).toISOString();
      const [current] = key.secrets;
      // Only the secret that was current overlaps: one rolled away before keeps no second life.
      const old = current === undefined ? [] : [{ ...current, validUntil }];
      const rolled = { ...key, rolls: (key.rolls ?? 0) + 1, secrets: [secret, ...old] };
      await save('key.roll', rolled, request.actor);
      return reply.code(201).send(issued(rolled, text));
    },
  );
}

function isoOf(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

function issued(key: KeyRecord, text: string): object {
  const { id, teamId, createdAt, expiresAt } = key;
  return { id, key: text, prefix: key.secrets[0]?.prefix, teamId, createdAt, expiresAt };
}

function showKey({ id, teamId, label, createdAt, expiresAt, revokedAt, secrets }: KeyRecord): object {
  const [current, old] = secrets;
  return {
    id,
    teamId,
    label,
    prefix: current?.prefix,
    createdAt,
    expiresAt,
    revokedAt,
    previous: old === undefined ? null : { prefix: old.prefix, validUntil: old.validUntil },
  };
}
