/** Teams: list, create, read, change, delete, and apply a file of declared teams. Each change is one audited commit. */
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors.js';
import { didYouMean, meantName } from '../../lib/near-name.js';
import type { Services } from '../../server/services.js';
import { commitChange } from '../../store/registry/record-book.js';
import { TEAM_PREFIX } from '../../teams/auth/directory.js';
import { completeTeam, type NewTeam, patchTeam, type Team, type TeamPatch } from '../../teams/auth/team.js';
import { applyTeams, removalOf } from '../../teams/declared/apply-teams.js';
import { addressFaults, listFaults } from '../../teams/declared/team-faults.js';
import { guardFaults } from '../../teams/write-guard/rule.js';
import { type Actor, type AuditEvent, auditLine } from '../../telemetry/audit.js';
import {
  applyTeams as applyOperation,
  changeTeam,
  createTeam,
  deleteTeam,
  getTeam,
  listTeams,
} from '../operations/teams.js';
import { refuseFaults } from './members.js';
import { serve } from './serve.js';

type TeamsOptions = Pick<Services, 'registry' | 'directory' | 'clock'>;

export function registerTeams(app: FastifyInstance, options: TeamsOptions): void {
  serve(app, listTeams, async () => ({ teams: options.directory.teams() }));
  serve(app, getTeam, async ({ params }) => existing(params.id, options).team);
  serve(app, createTeam, ({ body, actor }) => addTeam(body, actor, options));
  serve(app, changeTeam, ({ params, body, actor }) => editTeam(params.id, body, actor, options));
  serve(app, deleteTeam, ({ params, actor }) => removeTeam(params.id, actor, options));
  serve(app, applyOperation, async ({ body, actor }) => {
    const { teams, removed = 'keep', dryRun = false } = body;
    refuseFaults(listFaults(teams));
    return { dryRun, changes: await applyTeams(options, { teams, removed, dryRun }, actor) };
  });
}

export async function addTeam(given: NewTeam, actor: Actor, options: TeamsOptions): Promise<Team> {
  const team = completeTeam(given);
  refuseFaults([...addressFaults(team.ipAllow), ...guardFaults(given.writeGuard)]);
  if (options.directory.team(team.id) !== undefined)
    throw new GatewayError('conflict', {
      detail: `The team ${team.id} already exists.`,
      help: `Change it by PATCH /admin/v1/teams/${team.id}, or choose another id.`,
    });
  const event = { action: 'team.create', subject: team.id, after: team };
  await save({ team, revision: 0 }, event, actor, options);
  return team;
}

export async function editTeam(
  id: string,
  patch: TeamPatch,
  actor: Actor,
  options: TeamsOptions,
): Promise<Team> {
  const { team: before, revision } = managedByHand(id, options);
  const team = patchTeam(before, patch);
  refuseFaults([...addressFaults(team.ipAllow), ...guardFaults(patch.writeGuard)]);
  const event = { action: 'team.update', subject: team.id, before, after: team };
  await save({ team, revision }, event, actor, options);
  return team;
}

/** Revokes the team's keys, too. */
async function removeTeam(id: string, actor: Actor, options: TeamsOptions): Promise<void> {
  const { team, revision } = managedByHand(id, options);
  const event = { action: 'team.delete', subject: id, before: team };
  await commit(removalOf(id, options, options.clock.now()), { id, revision }, event, actor, options);
}

/** A team and the revision of its record; 0: not stored yet. */
interface TeamVersion {
  readonly team: Team;
  readonly revision: number;
}

function existing(id: string, { registry, directory }: TeamsOptions): TeamVersion {
  const team = directory.team(id);
  const revision = registry.get(TEAM_PREFIX + id)?.revision;
  if (team === undefined || revision === undefined) throw noTeam(id, directory);
  return { team, revision };
}

export function noTeam(id: string, directory: Pick<Services['directory'], 'teams'>): GatewayError {
  const near = meantName(
    id,
    directory.teams().map((team) => team.id),
  );
  return new GatewayError('not_found', {
    detail: `There is no team with this id${near === undefined ? '.' : `: ${didYouMean(near)}`}`,
    help: 'GET /admin/v1/teams lists all teams.',
  });
}

/** Refuses declared teams: the next apply of their file would undo the change. */
function managedByHand(id: string, options: TeamsOptions): TeamVersion {
  const found = existing(id, options);
  if (found.team.managedBy === undefined) return found;
  throw new GatewayError('conflict', {
    detail: `The team ${id} is declared in a file and can only be changed there.`,
    help: 'Change the file and apply it; to manage the team by hand, remove it from the file and apply that with --release.',
  });
}

function save(
  { team, revision }: TeamVersion,
  event: AuditEvent,
  actor: Actor,
  options: TeamsOptions,
): Promise<void> {
  const writes = new Map([[TEAM_PREFIX + team.id, JSON.stringify(team)]]);
  return commit(writes, { id: team.id, revision }, event, actor, options);
}

/** @param team whose record must still be at this revision */
function commit(
  writes: ReadonlyMap<string, string | null>,
  team: { readonly id: string; readonly revision: number },
  event: AuditEvent,
  actor: Actor,
  { registry, clock }: TeamsOptions,
): Promise<void> {
  const help = `Read it by GET /admin/v1/teams/${team.id}, and repeat the change if it is still wanted.`;
  return commitChange(registry, { what: 'The team was', help }, () => ({
    writes,
    expect: new Map([[TEAM_PREFIX + team.id, team.revision]]),
    audit: [auditLine(event, actor, clock.now())],
  }));
}
