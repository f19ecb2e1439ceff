/** Teams: list, create, read, change, delete, and all that a file declares at once. */
import type { FastifyInstance } from 'fastify';
import { applyTeams } from '../../teams/declared/apply-teams.js';
import { listFaults } from '../../teams/declared/team-faults.js';
import {
  applyTeams as applyOperation,
  changeTeam,
  createTeam,
  deleteTeam,
  getTeam,
  listTeams,
} from '../operations/teams.js';
import { serve } from './serve.js';
import { createTeamRecords, refuseFaults, type TeamRecordsOptions } from './team-records.js';

export function registerTeams(app: FastifyInstance, options: TeamRecordsOptions): void {
  const records = createTeamRecords(options);
  serve(app, listTeams, async () => ({ teams: options.directory.teams() }));
  serve(app, getTeam, async ({ params }) => records.read(params.id));
  serve(app, createTeam, async ({ body, actor }) => records.create(body, actor));
  serve(app, changeTeam, async ({ params, body, actor }) => records.change(params.id, body, actor));
  serve(app, deleteTeam, async ({ params, actor }) => records.remove(params.id, actor));
  serve(app, applyOperation, async ({ body, actor }) => {
    const { teams, removed = 'keep', dryRun = false } = body;
    refuseFaults(listFaults(teams));
    return { dryRun, changes: await applyTeams(options, { teams, removed, dryRun }, actor) };
  });
}
