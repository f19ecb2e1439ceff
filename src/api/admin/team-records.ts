/** What an operator may do with teams by hand: each change is one commit, audited. */

import { type FieldFault, GatewayError } from '../../errors.js';
import type { Clock } from '../../lib/clock.js';
import { commitChange } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { type Directory, TEAM_PREFIX } from '../../teams/auth/directory.js';
import { completeTeam, type NewTeam, patchTeam, type Team, type TeamPatch } from '../../teams/auth/team.js';
import { removalOf } from '../../teams/declared/apply-teams.js';
import { addressFaults } from '../../teams/declared/team-faults.js';
import { guardFaults } from '../../teams/write-guard/rule.js';
import { type Actor, type AuditEvent, auditLine } from '../../telemetry/audit.js';

export interface TeamRecordsOptions {
  readonly registry: Registry;
  readonly directory: Directory;
  readonly clock: Clock;
}

/** Changes throw GatewayError `conflict` for a team that a file declares, or that was changed in between. */
export interface TeamRecords {
  /** @throws GatewayError `not_found`, here and below */
  read(id: string): Team;
  /** @throws GatewayError `conflict` when there is one of this id, `invalid_body` */
  create(team: NewTeam, actor: Actor): Promise<Team>;
  /** @throws GatewayError `invalid_body` */
  change(id: string, patch: TeamPatch, actor: Actor): Promise<Team>;
  /** Revokes the team's keys, too. */
  remove(id: string, actor: Actor): Promise<void>;
}

export function createTeamRecords(options: TeamRecordsOptions): TeamRecords {
  const { directory, clock } = options;
  return {
    read: (id) => existing(id, options).team,
    async create(given, actor) {
      const team = completeTeam(given);
      refuseFaults([...addressFaults(team.ipAllow), ...guardFaults(given.writeGuard)]);
      if (directory.team(team.id) !== undefined)
        throw new GatewayError('conflict', {
          detail: `The team ${team.id} exists already.`,
          help: `Change it by PATCH /admin/v1/teams/${team.id}, or choose another id.`,
        });
      const event = { action: 'team.create', subject: team.id, after: team };
      await save({ team, revision: 0 }, event, actor, options);
      return team;
    },
    async change(id, patch, actor) {
      const { team: before, revision } = managedByHand(id, options);
      const team = patchTeam(before, patch);
      refuseFaults([...addressFaults(team.ipAllow), ...guardFaults(patch.writeGuard)]);
      const event = { action: 'team.update', subject: team.id, before, after: team };
      await save({ team, revision }, event, actor, options);
      return team;
    },
    async remove(id, actor) {
      const { team, revision } = managedByHand(id, options);
      const event = { action: 'team.delete', subject: id, before: team };
      await commit(removalOf(id, options, clock.now()), { id, revision }, event, actor, options);
    },
  };
}

/** A team, and which version of its record that is; 0: there is none yet. */
interface TeamVersion {
  readonly team: Team;
  readonly revision: number;
}

function existing(id: string, { registry, directory }: TeamRecordsOptions): TeamVersion {
  const team = directory.team(id);
  const revision = registry.get(TEAM_PREFIX + id)?.revision;
  if (team === undefined || revision === undefined) throw noTeam();
  return { team, revision };
}

export function noTeam(): GatewayError {
  return new GatewayError('not_found', {
    detail: 'There is no team of this id.',
    help: 'GET /admin/v1/teams shows which there are.',
  });
}

/** A change here of one that a file declares would be undone by the next look into the file. */
function managedByHand(id: string, options: TeamRecordsOptions): TeamVersion {
  const found = existing(id, options);
  if (found.team.managedBy === undefined) return found;
  throw new GatewayError('conflict', {
    detail: `The team ${id} is declared in a file, which alone may change it.`,
    help: 'Change it there and apply the file; to manage it by hand, take it out of the file and apply that with --release.',
  });
}

function save(
  { team, revision }: TeamVersion,
  event: AuditEvent,
  actor: Actor,
  options: TeamRecordsOptions,
): Promise<void> {
  const writes = new Map([[TEAM_PREFIX + team.id, JSON.stringify(team)]]);
  return commit(writes, { id: team.id, revision }, event, actor, options);
}

/** @param team whose record must be at this version still */
function commit(
  writes: ReadonlyMap<string, string | null>,
  team: { readonly id: string; readonly revision: number },
  event: AuditEvent,
  actor: Actor,
  { registry, clock }: TeamRecordsOptions,
): Promise<void> {
  const help = `Read it by GET /admin/v1/teams/${team.id}, and repeat the change if it is still wanted.`;
  return commitChange(registry, { what: 'The team was', help }, () => ({
    writes,
    expect: new Map([[TEAM_PREFIX + team.id, team.revision]]),
    audit: [auditLine(event, actor, clock.now())],
  }));
}

export function refuseFaults(errors: readonly FieldFault[]): void {
  if (errors.length > 0) throw new GatewayError('invalid_body', { status: 422, errors });
}
