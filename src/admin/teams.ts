/** Teams: list, create, read, change, delete, and all that a file declares at once. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { type Directory, TEAM_PREFIX } from '../auth/directory.js';
import { completeTeam, NewTeam, patchTeam, type Team, TeamPatch } from '../auth/team.js';
import type { Clock } from '../clock.js';
import { addressFaults } from '../declared/address-faults.js';
import { applyTeams, removalOf } from '../declared/apply-teams.js';
import { REMOVED } from '../declared/plan-teams.js';
import { listFaults, TeamList } from '../declared/team-list.js';
import { type FieldFault, GatewayError } from '../errors.js';
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

/** Room for as many teams as a list may hold. */
const MAX_APPLY_BYTES = 33_554_432;

const Apply = Type.Object(
  {
    teams: TeamList,
    removed: Type.Optional(
      Type.Enum([...REMOVED], {
        description:
          'What becomes of teams declared before and not now: keep (as they are), release (managed by hand), delete.',
      }),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'Only say what would change.' })),
  },
  { additionalProperties: false },
);

export function registerTeams(app: FastifyInstance, { registry, directory, clock }: TeamsOptions): void {
  const existing = (id: string): { team: Team; revision: number } => {
    const team = directory.team(id);
    const revision = registry.get(TEAM_PREFIX + id)?.revision;
    if (team === undefined || revision === undefined) {
      throw new GatewayError('not_found', { detail: 'There is no team of this id.' });
    }
    return { team, revision };
  };
  /** A change here would be undone by the next look into the file. */
  const byHand = (id: string): { team: Team; revision: number } => {
    const found = existing(id);
    if (found.team.managedBy === undefined) return found;
    throw new GatewayError('conflict', {
      detail: `The team ${id} is declared in a file. Change it there and apply the file; to manage it by hand, take it out of the file and apply that with --release.`,
    });
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
      refuse(addressFaults(team.ipAllow));
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

  app.post(
    '/admin/v1/teams/apply',
    {
      bodyLimit: MAX_APPLY_BYTES,
      schema: { tags: ['teams'], summary: 'Make the teams what a file declares', body: Apply },
    },
    async (request) => {
      const { teams, removed = 'keep', dryRun = false } = request.body as Static<typeof Apply>;
      refuse(listFaults(teams));
      const declaration = { teams, removed, dryRun };
      const changes = await applyTeams({ registry, directory, clock }, declaration, request.actor);
      return { dryRun, changes };
    },
  );

  app.patch(
    '/admin/v1/teams/:id',
    { schema: { tags: ['teams'], summary: 'Change a team', body: TeamPatch } },
    async (request) => {
      const { team: before, revision } = byHand((request.params as IdParams).id);
      const team = patchTeam(before, request.body as TeamPatch);
      refuse(addressFaults(team.ipAllow));
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
      const { team, revision } = byHand((request.params as IdParams).id);
      const writes = removalOf(team.id, directory, clock.now());
      const event = { action: 'team.delete', subject: team.id, before: team };
      await commit(writes, new Map([[TEAM_PREFIX + team.id, revision]]), event, request.actor);
      return reply.code(204).send();
    },
  );
}

function refuse(errors: readonly FieldFault[]): void {
  if (errors.length > 0) throw new GatewayError('invalid_body', { status: 422, errors });
}
