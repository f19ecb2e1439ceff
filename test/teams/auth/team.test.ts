/** What a team is, and when its keys were last used. */

import fc from 'fast-check';
import Value from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { SCOPES } from '../../../src/config/sign-in-settings.js';
import { type CounterRaise, type Counters, StoreUnavailable } from '../../../src/store/port.js';
import { createLastUse } from '../../../src/teams/auth/last-use.js';
import { completeTeam, FORMATS, NewTeam, patchTeam, Team, TeamPatch } from '../../../src/teams/auth/team.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { openInMemory } from '../../support/shared-registry.js';
import { createTestClock, MINUTE, NOON } from '../../support/test-clock.js';
import { openTally } from '../tally/open-tally.js';

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
    [{ id: 'Growth' }],
    [{ id: 'gateway' }],
    [{ id: 'a'.repeat(41) }],
    [{ id: 'a', advertisers: [0] }],
    [{ id: 'a', advertisers: [2 ** 53] }],
    [{ id: 'a', advertisers: [1, 1] }],
    [{ id: 'a', advertisers: 'all' }],
    [{ id: 'a', scopes: ['report:write'] }],
    [{ id: 'a', limits: { maxRangeDays: 0 } }],
    [{ id: 'a', colour: 'red' }],
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

async function open(clock = createTestClock(), given?: Counters) {
  const real = given ?? (await openInMemory(clock)).counters;
  const batches: (readonly CounterRaise[])[] = [];
  let away = false;
  const counters: Counters = {
    async add(id, adds, raises, ttlMs) {
      if (away) throw new StoreUnavailable('away');
      batches.push(raises);
      await real.add(id, adds, raises, ttlMs);
    },
    read: (groups) => (away ? Promise.reject(new StoreUnavailable('away')) : real.read(groups)),
  };
  const log = createRecordedLog();
  const { end, notes, ...use } = createLastUse(counters, clock);
  const { flush, close } = openTally({ counters, clock, logger: log.logger, notes });
  const uses = {
    ...use,
    flush,
    close() {
      end();
      return close();
    },
  };
  const setAway = (is: boolean) => {
    away = is;
  };
  return { uses, clock, log, real, batches, setAway };
}

describe('the last use of keys', () => {
  it('is written in one batch, and survives a restart', async () => {
    const { uses, clock, batches, real } = await open();
    uses.note('key_a');
    uses.note('key_b');
    clock.advance(1500);
    uses.note('key_a');
    await uses.flush();
    expect(batches).toHaveLength(1);
    const restarted = await open(clock, real);
    expect([...(await restarted.uses.read())]).toEqual([
      ['key_a', NOON + 1500],
      ['key_b', NOON],
    ]);
  });

  it('is written at most once a minute for each key, and known to the millisecond here', async () => {
    const { uses, clock, batches } = await open();
    for (let second = 0; second <= 180; second += 5) {
      uses.note('key_a');
      await uses.flush();
      expect((await uses.read()).get('key_a')).toBe(clock.now());
      clock.advance(5000);
    }
    expect(batches.map(([raise]) => (raise?.to ?? 0) - NOON)).toEqual([0, MINUTE, 2 * MINUTE, 3 * MINUTE]);
  });

  it('is written once more when the process ends, and not when there is nothing new', async () => {
    const { uses, clock, batches, real } = await open();
    uses.note('key_a');
    await uses.flush();
    clock.advance(1000);
    uses.note('key_a');
    await uses.close();
    await uses.close();
    expect(batches).toHaveLength(2);
    const later = await open(clock, real);
    expect((await later.uses.read()).get('key_a')).toBe(NOON + 1000);
  });

  it('waits in memory while the store is away, and says so once', async () => {
    const { uses, log, setAway, batches } = await open();
    setAway(true);
    uses.note('key_a');
    expect([await uses.flush(), await uses.flush()]).toEqual([false, false]);
    await expect(uses.read()).rejects.toThrow(StoreUnavailable);
    expect(log.messages('warn')).toHaveLength(1);
    setAway(false);
    expect(await uses.flush()).toBe(true);
    expect(batches).toEqual([[{ group: 'keys/last-used', field: 'key_a', to: NOON }]]);
  });
});
