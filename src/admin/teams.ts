/** Teams: list, create, read, change, delete, and all that a file declares at once. */
import type { FastifyInstance } from 'fastify';
import Type, { type Static } from 'typebox';
import { NewTeam, ShownTeam, TeamPatch } from '../auth/team.js';
import { applyTeams } from '../declared/apply-teams.js';
import { REMOVED } from '../declared/plan-teams.js';
import { listFaults, TeamList } from '../declared/team-list.js';
import { json, type Operation, shownAs } from '../openapi/operation.js';
import { changed, REMOVED_ANSWERS } from './say-unconfirmed.js';
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

const Changes = Type.Object({
  dryRun: Type.Boolean({ description: 'Nothing was written.' }),
  changes: Type.Array(
    Type.Object(
      {
        id: Type.String(),
        action: Type.Enum(['create', 'update', 'none', ...REMOVED]),
        before: Type.Union([ShownTeam, Type.Null()]),
        after: Type.Union([ShownTeam, Type.Null()]),
      },
      { title: 'TeamChange' },
    ),
  ),
});

const path = { id: "The team's id." };

/** In the OpenAPI document. */
const DESCRIBED = {
  list: {
    id: 'listTeams',
    answers: { 200: json(Type.Object({ teams: Type.Array(ShownTeam) }), 'All teams.') },
  },
  read: { id: 'getTeam', path, answers: { 200: json(ShownTeam, 'The team.') }, problems: ['not_found'] },
  create: { id: 'createTeam', answers: { 201: changed(ShownTeam, 'Created.') }, problems: ['conflict'] },
  apply: { id: 'applyTeams', answers: { 200: changed(Changes) }, problems: ['conflict'] },
  change: {
    id: 'changeTeam',
    path,
    answers: { 200: changed(ShownTeam) },
    problems: ['not_found', 'conflict'],
  },
  remove: { id: 'deleteTeam', path, answers: REMOVED_ANSWERS, problems: ['not_found', 'conflict'] },
} as const satisfies Record<string, Operation>;

export function registerTeams(app: FastifyInstance, options: TeamRecordsOptions): void {
  const { directory } = options;
  const records = createTeamRecords(options);

  app.get('/admin/v1/teams', shownAs('teams', 'All teams', DESCRIBED.list), async () => ({
    teams: directory.teams(),
  }));

  app.get('/admin/v1/teams/:id', shownAs('teams', 'One team', DESCRIBED.read), async (request) =>
    records.read((request.params as IdParams).id),
  );

  app.post(
    '/admin/v1/teams',
    shownAs('teams', 'Create a team', DESCRIBED.create, NewTeam),
    async (request, reply) =>
      reply.code(201).send(await records.create(request.body as NewTeam, request.actor)),
  );

  app.post(
    '/admin/v1/teams/apply',
    {
      bodyLimit: MAX_APPLY_BYTES,
      ...shownAs('teams', 'Make the teams what a file declares', DESCRIBED.apply, Apply),
    },
    async (request) => {
      const { teams, removed = 'keep', dryRun = false } = request.body as Static<typeof Apply>;
      refuseFaults(listFaults(teams));
      return { dryRun, changes: await applyTeams(options, { teams, removed, dryRun }, request.actor) };
    },
  );

  app.patch(
    '/admin/v1/teams/:id',
    shownAs('teams', 'Change a team', DESCRIBED.change, TeamPatch),
    async (request) =>
      records.change((request.params as IdParams).id, request.body as TeamPatch, request.actor),
  );

  app.delete(
    '/admin/v1/teams/:id',
    shownAs('teams', 'Delete a team and revoke its keys', DESCRIBED.remove),
    async (request, reply) => {
      await records.remove((request.params as IdParams).id, request.actor);
      return reply.code(204).send();
    },
  );
}
