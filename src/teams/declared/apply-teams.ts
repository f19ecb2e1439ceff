/** Applies a file of teams in one commit, with an audit line per team. */
import type { Clock } from '../../lib/clock.js';
import type { RegistryCommit } from '../../store/port.js';
import { commitChange } from '../../store/registry/record-book.js';
import type { Registry } from '../../store/registry/replica.js';
import { type Actor, auditLine } from '../../telemetry/audit.js';
import { type Directory, TEAM_PREFIX } from '../auth/directory.js';
import { endLife, KEY_PREFIX, LIFE_PREFIX } from '../auth/key-record.js';
import type { NewTeam } from '../auth/team.js';
import { isWritten, planTeams, type Removed, type TeamChange } from './plan-teams.js';

export interface ApplyOptions {
  readonly registry: Registry;
  readonly directory: Directory;
  readonly clock: Clock;
}

/** Replicas that start together conflict. */
const MAX_TRIES = 5;

/** @param dryRun only plan. @returns the executed or planned changes. @throws GatewayError `conflict`, StoreUnavailable */
export async function applyTeams(
  options: ApplyOptions,
  declared: { readonly teams: readonly NewTeam[]; readonly removed: Removed; readonly dryRun: boolean },
  actor: Actor,
): Promise<TeamChange[]> {
  const { registry, directory } = options;
  const { teams, removed, dryRun } = declared;
  let changes: TeamChange[] = [];
  await commitChange(registry, { what: 'The teams were', tries: MAX_TRIES }, () => {
    changes = planTeams(teams, directory.teams(), removed);
    return dryRun || !changes.some(isWritten) ? null : commitOf(changes.filter(isWritten), options, actor);
  });
  return changes;
}

function commitOf(changes: readonly TeamChange[], options: ApplyOptions, actor: Actor): RegistryCommit {
  const { registry } = options;
  const nowMs = options.clock.now();
  const writes = new Map<string, string | null>();
  for (const { id, after } of changes) {
    if (after === null) for (const [key, text] of removalOf(id, options, nowMs)) writes.set(key, text);
    else writes.set(TEAM_PREFIX + id, JSON.stringify(after));
  }
  return {
    writes,
    expect: new Map(
      changes.map(({ id }) => [TEAM_PREFIX + id, registry.get(TEAM_PREFIX + id)?.revision ?? 0]),
    ),
    audit: changes.map(({ id, action, before, after }) => {
      const event = { action: `team.${action}`, subject: id };
      return auditLine({ ...event, ...(before && { before }), ...(after && { after }) }, actor, nowMs);
    }),
  };
}

/** @returns records that delete a team: its keys stay, revoked; the end of its life revokes keys unknown here */
export function removalOf(
  id: string,
  { registry, directory }: Omit<ApplyOptions, 'clock'>,
  nowMs: number,
): Map<string, string | null> {
  const life = LIFE_PREFIX + id;
  const revokedAt = new Date(nowMs).toISOString();
  return new Map<string, string | null>([
    [TEAM_PREFIX + id, null],
    [life, endLife(life, registry.get(life)?.value)],
    ...directory
      .keysOf(id)
      .map((key): [string, string] => [
        KEY_PREFIX + key.id,
        JSON.stringify({ ...key, revokedAt: key.revokedAt ?? revokedAt }),
      ]),
  ]);
}
