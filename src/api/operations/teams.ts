/** Calls about teams. */
import Type from 'typebox';
import { NewTeam, ShownTeam, TeamPatch } from '../../teams/auth/team.js';
import { REMOVED } from '../../teams/declared/plan-teams.js';
import { TeamList } from '../../teams/declared/team-faults.js';
import { closed, nullable, titled } from '../openapi/schemas.js';
import { OF_TEAM, operations } from './operation.js';

const describe = operations('teams');

export const listTeams = describe('listTeams', 'viewer', 'GET /admin/v1/teams', {
  summary: 'All teams',
  answer: Type.Object({ teams: Type.Array(ShownTeam) }),
  about: 'All teams.',
});

export const getTeam = describe('getTeam', 'viewer', 'GET /admin/v1/teams/:id', {
  summary: 'One team',
  path: OF_TEAM,
  answer: ShownTeam,
  about: 'The team.',
  problems: ['not_found'],
});

export const createTeam = describe('createTeam', 'operator', 'POST /admin/v1/teams', {
  summary: 'Create a team',
  body: NewTeam,
  status: 201,
  answer: ShownTeam,
  about: 'Created.',
  problems: ['conflict'],
});

export const changeTeam = describe('changeTeam', 'operator', 'PATCH /admin/v1/teams/:id', {
  summary: 'Change a team',
  path: OF_TEAM,
  body: TeamPatch,
  answer: ShownTeam,
  problems: ['not_found', 'conflict'],
});

export const deleteTeam = describe('deleteTeam', 'operator', 'DELETE /admin/v1/teams/:id', {
  summary: 'Delete a team and revoke its keys',
  path: OF_TEAM,
  status: 204,
  problems: ['not_found', 'conflict'],
});

export const applyTeams = describe('applyTeams', 'operator', 'POST /admin/v1/teams/apply', {
  summary: 'Apply a file of declared teams',
  body: closed({
    teams: TeamList,
    removed: Type.Optional(
      Type.Enum([...REMOVED], {
        description:
          'What to do with teams that are no longer declared: keep (unchanged), release (managed by hand), delete.',
      }),
    ),
    dryRun: Type.Optional(Type.Boolean({ description: 'Only report what would change.' })),
  }),
  // Room for as many teams as a list may hold.
  bodyLimit: 33_554_432,
  answer: Type.Object({
    dryRun: Type.Boolean({ description: 'Nothing was written.' }),
    changes: Type.Array(
      titled('TeamChange', {
        id: Type.String(),
        action: Type.Enum(['create', 'update', 'none', ...REMOVED]),
        before: nullable(ShownTeam),
        after: nullable(ShownTeam),
      }),
    ),
  }),
  problems: ['conflict'],
});
