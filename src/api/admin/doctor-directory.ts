/** Doctor's looks at teams and keys. */

import type { Clock } from '../../lib/clock.js';
import type { Directory } from '../../teams/auth/directory.js';
import type { KeyRecord } from '../../teams/auth/key-record.js';
import type { Look } from '../../telemetry/checks.js';

const DAY_MS = 86_400_000;
const SOON_MS = 14 * DAY_MS;
/** So many are named. */
const MOST_NAMED = 5;

export interface DirectoryLooksOptions {
  readonly directory: Pick<Directory, 'teams' | 'keysOf' | 'isRevoked'>;
  readonly clock: Clock;
}

export function directoryLooks({ directory, clock }: DirectoryLooksOptions): Readonly<Record<string, Look>> {
  const expiresAtMs = ({ expiresAt }: KeyRecord) =>
    expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
  const validKeys = (teamId: string) =>
    directory.keysOf(teamId).filter((key) => !directory.isRevoked(key) && expiresAtMs(key) > clock.now());
  return {
    teams: async () => {
      const teams = directory.teams();
      if (teams.length === 0)
        return {
          level: 'warning',
          says: 'there is no team: nobody can call',
          do: 'dsp-gateway teams create <id>; where there were teams before: dsp-gateway registry import <backup>',
        };
      const blind = teams.filter(
        ({ advertisers, scopes }) => advertisers.length === 0 && scopes.includes('report:read'),
      );
      if (blind.length > 0)
        return {
          level: 'warning',
          says: `${teams.length}, of which these may see no advertiser: ${named(blind.map(({ id }) => id))}`,
          do: `dsp-gateway teams update ${blind[0]?.id} --advertisers <ids>`,
        };
      const disabled = teams.filter((team) => team.disabled).length;
      return disabled === 0 ? `${teams.length}` : `${teams.length}, of which ${disabled} disabled`;
    },
    keys: async () => {
      const teams = directory.teams();
      const keys = teams.flatMap(({ id }) => validKeys(id));
      const without = teams.filter(({ id, disabled }) => !disabled && validKeys(id).length === 0);
      if (without.length > 0)
        return {
          level: 'warning',
          says: `${keys.length} valid; these teams have none: ${named(without.map(({ id }) => id))}`,
          do: `dsp-gateway keys issue ${without[0]?.id}`,
        };
      const ending = keys.filter((key) => expiresAtMs(key) - clock.now() < SOON_MS);
      if (ending.length > 0)
        return {
          level: 'warning',
          says: `${keys.length} valid; within 14 days these expire: ${named(ending.map(({ id, teamId }) => `${id} of ${teamId}`))}`,
          do: `issue another one in time: dsp-gateway keys issue ${ending[0]?.teamId}`,
        };
      return `${keys.length} valid`;
    },
  };
}

function named(ids: readonly string[]): string {
  const rest = ids.length - MOST_NAMED;
  return `${ids.slice(0, MOST_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}
