/** The outlook on a team's daily calls, on two replicas: what it says, how often it reads the store, and what is told. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Team } from '../../../src/teams/auth/team.js';
import { createBudgetOutlook } from '../../../src/teams/limits/budget-outlook.js';
import { createMemoryServer } from '../../support/memory/memory-store.js';
import { createTestClock, DAY, HOUR, MINUTE } from '../../support/test-clock.js';

const teamOf = (upstreamCallsPerDay: number) => ({ id: 'spender', limits: { upstreamCallsPerDay } }) as Team;
const SPENDER = teamOf(100);

/** At noon. Usual are 4 calls an hour; today there were 7. */
function setUp() {
  const clock = createTestClock();
  const logger = pino({ enabled: false });
  const server = createMemoryServer({ clock, logger });
  const seen = { told: [] as number[], reads: 0, isAway: false };
  const open = () =>
    createBudgetOutlook({
      ...{ store: server.handle(), clock, logger },
      async hoursOf() {
        seen.reads += 1;
        if (seen.isAway) throw new Error('away');
        return [...Array(7 * 24).fill(4), ...Array(24).fill(7, 0, 12).fill(0, 12)];
      },
      onThreshold: (percent) => seen.told.push(percent),
    });
  const settled = async () => {
    for (let turn = 0; turn < 20; turn++) await turnOfTheLoop();
  };
  return { clock, seen, open, settled, here: open(), there: open() };
}

it('reads the store once for calls that arrive together, and misses no threshold', async () => {
  const { here, seen, settled } = setUp();
  for (let left = 21; left >= 5; left -= 1) here.charged(SPENDER, left);
  await settled();
  expect(seen).toMatchObject({ told: [80, 95], reads: 2 });
  expect(here.header(SPENDER)).toMatch(/^used=95, exhausted-at="12:\d\dZ"$/);
});

it('is known to all replicas by one reading, and renewed once a minute while there are answers', async () => {
  const { here, there, clock, seen, settled } = setUp();
  here.charged(SPENDER, 20);
  await settled();
  const first = there.header(SPENDER);
  expect(first).toMatch(/^used=80, exhausted-at="1[45]:\d\dZ"$/);
  for (const isAway of [true, false]) {
    clock.advance(isAway ? MINUTE : 6 * HOUR);
    Object.assign(seen, { isAway, reads: 0 });
    for (let answer = 0; answer < 5; answer++) expect(there.header(SPENDER)).toBe(first);
    await settled();
    expect(seen.reads).toBe(1);
  }
  expect(here.header(SPENDER)).toMatch(/^used=80/);
  expect(here.header(SPENDER)).not.toBe(first);
});

it('is told once a day, whatever limits, clocks and restarts do', async () => {
  const { here, there, open, clock, seen, settled } = setUp();
  const charge = async (team: Team, left: number, told: number[], replica = here) => {
    replica.charged(team, left);
    await settled();
    expect(seen.told.splice(0)).toEqual(told);
  };
  await charge(SPENDER, 15, [80]);
  await charge(SPENDER, 15, [], open());
  await charge(SPENDER, 0, [95], there);
  await charge(teamOf(200), 100, []);
  expect([here.header(SPENDER), here.header(teamOf(200))]).toEqual(['used=100', undefined]);
  await charge(teamOf(105), 5, []);
  expect(here.header(teamOf(105))).toMatch(/^used=95/);
  clock.advance(-HOUR);
  await charge(SPENDER, 10, []);
  expect(here.header(SPENDER)).toMatch(/^used=90/);
  clock.advance(-DAY);
  expect(here.header(SPENDER)).toBeUndefined();
  clock.advance(2 * DAY);
  expect(here.header(SPENDER)).toBeUndefined();
  await charge(teamOf(1), 0, [80, 95]);
  expect(await here.forecast(teamOf(1), 1)).toBeNull();
  expect(await here.forecast(teamOf(1), 0)).toEqual({ used: 100, exhaustedAt: null });
});
