/** Teams: list, create, read, change, delete. */
import type { FastifyInstance } from 'fastify';
import { type Directory, KEY_PREFIX, TEAM_PREFIX } from '../auth/directory.js';
import { completeTeam, NewTeam, patchTeam, type Team, TeamPatch } from '../auth/team.js';
import type { Clock } from '../clock.js';
import { type FieldFault, GatewayError } from '../errors.js';
import { isAddressRange } from '../policy/check-address.js';
import type { Registry } from '../registry/mirror.js';
import { RegistryConflict } from '../store/port.js';
import { type Actor, type AuditEvent, auditLine } from '../telemetry/audit.js';

export interface TeamsOptions {
  readonly registry: Registry;
  readonly directory: Directory;
  readonly clock: Clock;
}

interface IdParams {
  readonly id: string;
}

export function registerTeams(app: FastifyInstance, { registry, directory, clock }: TeamsOptions): void {
  const existing = (id: string): { team: Team; revision: number } => {
    const team = directory.team(id);
    const revision = registry.get(TEAM_PREFIX + id)?.revision;
    if (team === undefined || revision === undefined) {
      throw new GatewayError('not_found', { detail: 'There is no team of this id.' });
    }
    return { team, revision };
  };
  const commit = (
    writes: Map<string, string | null>,
    expect: Map<string, number>,
    event: AuditEvent,
    actor: Actor,
  ) =>
    registry
      .commit({ writes, expect, audit: [auditLine(event, actor, clock.now())] })
      .catch((error: unknown) => {
        if (!(error instanceof RegistryConflict)) throw error;
        throw new GatewayError('conflict', {
          detail: 'The team was changed in between; read it and try again.',
        });
      });

  app.get('/admin/v1/teams', { schema: { tags: ['teams'], summary: 'All teams' } }, async () => ({
    teams: directory.teams(),
  }));

  app.get('/admin/v1/teams/:id', { schema: { tags: ['teams'], summary: 'One team' } }, async (request) => {
    return existing((request.params as IdParams).id).team;
  });

  app.post(
    '/admin/v1/teams',
    { schema: { tags: ['teams'], summary: 'Create a team', body: NewTeam } },
    async (request, reply) => {
      const team = completeTeam(request.body as NewTeam);
      checkAddresses(team);
      if (directory.team(team.id) !== undefined)
        throw new GatewayError('conflict', { detail: `The team ${team.id} exists already.` });
      await commit(
        new Map([[TEAM_PREFIX + team.id, JSON.stringify(team)]]),
        new Map([[TEAM_PREFIX + team.id, 0]]),
        { action: 'team.create', subject: team.id, after: team },
        request.actor,
      );
      return reply.code(201).send(team);
    },
  );

  app.patch(
    '/admin/v1/teams/:id',
    { schema: { tags: ['teams'], summary: 'Change a team', body: TeamPatch } },
    async (request) => {
      const { team: before, revision } = existing((request.params as IdParams).id);
      const team = patchTeam(before, request.body as TeamPatch);
      checkAddresses(team);
      await commit(
        new Map([[TEAM_PREFIX + team.id, JSON.stringify(team)]]),
        new Map([[TEAM_PREFIX + team.id, revision]]),
        { action: 'team.update', subject: team.id, before, after: team },
        request.actor,
      );
      return team;
    },
  );

  app.delete(
    '/admin/v1/teams/:id',
    { schema: { tags: ['teams'], summary: 'Delete a team and revoke its keys' } },
    async (request, reply) => {
      const { team, revision } = existing((request.params as IdParams).id);
      const revokedAt = new Date(clock.now()).toISOString();
      const writes = new Map<string, string | null>([[TEAM_PREFIX + team.id, null]]);
      for (const key of directory.keysOf(team.id)) {
        writes.set(KEY_PREFIX + key.id, JSON.stringify({ ...key, revokedAt: key.revokedAt ?? revokedAt }));
      }
      const event = { action: 'team.delete', subject: team.id, before: team };
      await commit(writes, new Map([[TEAM_PREFIX + team.id, revision]]), event, request.actor);
      return reply.code(204).send();
    },
  );
}

function checkAddresses({ ipAllow }: Team): void {
  const errors = ipAllow.flatMap((range, index): FieldFault[] =>
    isAddressRange(range)
      ? []
      : [
          {
            param: `ipAllow.${index}`,
            message: 'must be an IPv4 or IPv6 address, or a range such as 10.0.0.0/8',
          },
        ],
  );
  if (errors.length > 0) throw new GatewayError('invalid_body', { status: 422, errors });
}
