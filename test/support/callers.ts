/** Callers as `authenticate` makes them, for checks that need nothing else of a request. */
import type { Caller } from '../../src/teams/auth/authenticate.js';
import { completeTeam, type NewTeam } from '../../src/teams/auth/team.js';

/** A caller of a team that may see no advertiser, unless told otherwise. */
export function callerOf(team: Partial<NewTeam> = {}): Caller {
  return {
    team: completeTeam({ id: 'team', ...team }),
    key: {
      id: 'key_1',
      teamId: 'team',
      label: '',
      createdAt: '2026-01-01T00:00:00.000Z',
      expiresAt: null,
      revokedAt: null,
      secrets: [],
    },
  };
}
