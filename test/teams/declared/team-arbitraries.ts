import fc from 'fast-check';
import { SCOPES } from '../../../src/config/sign-in-settings.js';
import { FORMATS, type NewTeam } from '../../../src/teams/auth/team.js';

const limits = fc.record(
  {
    requestsPerMinute: fc.integer({ min: 1, max: 1_000_000 }),
    upstreamCallsPerDay: fc.integer({ min: 1, max: 100_000_000 }),
    maxRangeDays: fc.integer({ min: 1, max: 10_000 }),
    maxConcurrent: fc.integer({ min: 1, max: 10_000 }),
  },
  { requiredKeys: [] },
);

const team: fc.Arbitrary<NewTeam> = fc.record(
  {
    id: fc.stringMatching(/^[a-z0-9-]{1,6}$/),
    name: fc.string({ minLength: 1, maxLength: 200, unit: 'binary' }),
    scopes: fc.uniqueArray(fc.constantFrom(...SCOPES)),
    advertisers: fc.oneof(
      fc.constant('*' as const),
      fc.uniqueArray(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
    ),
    ipAllow: fc.array(fc.oneof(fc.ipV4(), fc.constant('2001:db8::/32'))),
    defaultFormat: fc.constantFrom(...FORMATS),
    disabled: fc.boolean(),
    limits,
  },
  { requiredKeys: ['id'] },
);

/** Bodies of new teams, no two with one id. */
export const newTeams: fc.Arbitrary<NewTeam[]> = fc.uniqueArray(team, {
  selector: ({ id }) => id,
  maxLength: 6,
});
