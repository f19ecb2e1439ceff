/** Teams: list, create, read, change, delete, and all that a file declares at once. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { NewTeam, TeamPatch } from '../auth/team.js';
import { applyTeams } from '../declared/apply-teams.js';
import { REMOVED } from '../declared/plan-teams.js';
import { listFaults, TeamList } from '../declared/team-list.js';
import { createTeamRecords, refuseFaults, type TeamRecordsOptions } from './team-records.js';

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

export function registerTeams(app: FastifyInstance, options: TeamRecordsOptions): void {
  const { directory } = options;
  const records = createTeamRecords(options);

  app.get('/admin/v1/teams', { schema: { tags: ['teams'], summary: 'All teams' } }, async () => ({
    teams: directory.teams(),
  }));

  app.get('/admin/v1/teams/:id', { schema: { tags: ['teams'], summary: 'One team' } }, async (request) =>
    records.read((request.params as IdParams).id),
  );

  app.post(
    '/admin/v1/teams',
    { schema: { tags: ['teams'], summary: 'Create a team', body: NewTeam } },
    async (request, reply) =>
      reply.code(201).send(await records.create(request.body as NewTeam, request.actor)),
  );

  app.post(
    '/admin/v1/teams/apply',
    {
      bodyLimit: MAX_APPLY_BYTES,
      schema: { tags: ['teams'], summary: 'Make the teams what a file declares', body: Apply },
    },
    async (request) => {
      const { teams, removed = 'keep', dryRun = false } = request.body as Static<typeof Apply>;
      refuseFaults(listFaults(teams));
      return { dryRun, changes: await applyTeams(options, { teams, removed, dryRun }, request.actor) };
    },
  );

  app.patch(
    '/admin/v1/teams/:id',
    { schema: { tags: ['teams'], summary: 'Change a team', body: TeamPatch } },
    async (request) =>
      records.change((request.params as IdParams).id, request.body as TeamPatch, request.actor),
  );

  app.delete(
    '/admin/v1/teams/:id',
    { schema: { tags: ['teams'], summary: 'Delete a team and revoke its keys' } },
    async (request, reply) => {
      await records.remove((request.params as IdParams).id, request.actor);
      return reply.code(204).send();
    },
  );
}
