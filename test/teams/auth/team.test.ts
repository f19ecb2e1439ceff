import fc from 'fast-check';
import Value from 'typebox/value';
import { describe, expect, it } from 'vitest';
import {
  completeTeam,
  FORMATS,
  NewTeam,
  patchTeam,
  SCOPES,
  Team,
  TeamPatch,
} from '../../../src/teams/auth/team.js';

const limits = {
  requestsPerMinute: fc.integer({ min: 1, max: 1_000_000 }),
  upstreamCallsPerDay: fc.integer({ min: 1, max: 100_000_000 }),
  maxRangeDays: fc.integer({ min: 1, max: 10_000 }),
  maxConcurrent: fc.integer({ min: 1, max: 10_000 }),
};
const members = {
  name: fc.string({ minLength: 1, maxLength: 200 }),
  scopes: fc.uniqueArray(fc.constantFrom(...SCOPES)),
  advertisers: fc.oneof(
    fc.constant('*' as const),
    fc.uniqueArray(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })),
  ),
  ipAllow: fc.array(fc.ipV4()),
  defaultFormat: fc.constantFrom(...FORMATS),
  disabled: fc.boolean(),
  limits: fc.record(limits, { requiredKeys: [] }),
};
const patch = fc.record(members, { requiredKeys: [] });
const newTeam = fc
  .tuple(
    fc.stringMatching(/^[a-z0-9-]{1,40}$/).filter((id) => id !== 'gateway'),
    patch,
  )
  .map(([id, rest]) => ({ id, ...rest }));

describe('a new team', () => {
  it('needs an id alone; it may read reports of no advertiser until it is told which', () => {
    expect(completeTeam({ id: 'growth' })).toEqual({
      id: 'growth',
      name: 'growth',
      scopes: ['report:read'],
      advertisers: [],
      limits: { requestsPerMinute: 600, upstreamCallsPerDay: 5000, maxRangeDays: 400, maxConcurrent: 32 },
      ipAllow: [],
      defaultFormat: 'json',
      disabled: false,
    });
  });

  it('keeps whatever was said, and is whole', () => {
    fc.assert(
      fc.property(newTeam, (body) => {
        expect(Value.Check(NewTeam, body)).toBe(true);
        const team = completeTeam(body);
        expect(Value.Check(Team, team)).toBe(true);
        const { limits: said = {}, ...rest } = body;
        expect(team).toMatchObject(rest);
        expect(team.limits).toMatchObject(said);
      }),
    );
  });

  it.each([
    [{}],
    [{ id: '' }],
    [{ id: 'Growth' }],
    [{ id: 'gateway' }],
    [{ id: 'a'.repeat(41) }],
    [{ id: 'a/b' }],
    [{ id: 'a', advertisers: [0] }],
    [{ id: 'a', advertisers: [1.5] }],
    [{ id: 'a', advertisers: [2 ** 53] }],
    [{ id: 'a', advertisers: ['1'] }],
    [{ id: 'a', advertisers: [1, 1] }],
    [{ id: 'a', advertisers: 'all' }],
    [{ id: 'a', scopes: ['report:write'] }],
    [{ id: 'a', defaultFormat: 'xml' }],
    [{ id: 'a', limits: { maxRangeDays: 0 } }],
    [{ id: 'a', limits: { maxRange: 1 } }],
    [{ id: 'a', colour: 'red' }],
    [{ id: 'a', name: '' }],
  ])('is not %j', (body) => {
    expect(Value.Check(NewTeam, body)).toBe(false);
  });
});

describe('a change to a team', () => {
  it('replaces what it names, limits one by one, and leaves the rest', () => {
    fc.assert(
      fc.property(newTeam, patch, (body, change) => {
        expect(Value.Check(TeamPatch, change)).toBe(true);
        const before = completeTeam(body);
        const after = patchTeam(before, change);
        expect(Value.Check(Team, after)).toBe(true);
        expect(after).toEqual({ ...before, ...change, limits: { ...before.limits, ...change.limits } });
        expect(patchTeam(after, {})).toEqual(after);
      }),
    );
  });

  it('cannot change the id', () => {
    expect(Value.Check(TeamPatch, { id: 'other' })).toBe(false);
  });
});
