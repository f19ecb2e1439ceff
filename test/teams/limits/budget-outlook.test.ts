/** The outlook on a team's daily calls, on two replicas: header, reads of the store, and reported thresholds. */
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
  const seen = { told: [] as number[], reads: 0, isAway: false, left: 0 };
  const open = () =>
    createBudgetOutlook({
      store: server.handle(),
      clock,
      logger,
      leftOf: async () => seen.left,
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
  const [here, there] = [open(), open()];
  const charge = async (left: number, team = SPENDER, replica = here) => {
    seen.left = left;
    replica.charged(team, left);
    await settled();
  };
  return { clock, seen, open, settled, charge, here, there };
}

it('reads the store once for calls that arrive together, and misses no threshold', async () => {
  const { here, seen, settled } = setUp();
  for (seen.left = 21; seen.left > 5; ) here.charged(SPENDER, --seen.left);
  await settled();
  expect(seen).toMatchObject({ told: [80, 95], reads: 2 });
  expect(here.header(SPENDER)).toMatch(/^used=95, exhausted-at="12:\d\dZ"$/);
});

it('is read from the store by one replica for all, and renewed once a minute while there are answers', async () => {
  const { here, there, clock, seen, settled, charge } = setUp();
  await charge(20);
  const first = there.header(SPENDER);
  expect(first).toMatch(/^used=80, exhausted-at="1[45]:\d\dZ"$/);
  await charge(12);
  for (const isAway of [true, false]) {
    clock.advance(isAway ? MINUTE : 6 * HOUR);
    Object.assign(seen, { isAway, reads: 0 });
    for (let answer = 0; answer < 5; answer++) expect(there.header(SPENDER)).toBe(first);
    await settled();
    expect(seen.reads).toBe(1);
  }
  expect([here, there].map((one) => one.header(SPENDER))).toEqual(
    Array(2).fill(expect.stringMatching(/^used=88/)),
  );
});

it('is known after a start and under another limit, also if nothing is left to charge, by one reading', async () => {
  const { here, open, seen, settled } = setUp();
  for (const [left, header] of [
    [30, undefined],
    [20, expect.stringMatching(/^used=8\d, /)],
    [0, 'used=100'],
  ] as const) {
    for (const [replica, team] of [
      [open(), SPENDER],
      [here, teamOf(101 + left)],
    ] as const) {
      Object.assign(seen, { left, reads: 0 });
      expect(replica.header(team)).toBeUndefined();
      await settled();
      for (let answer = 0; answer < 3; answer++) expect(replica.header(team)).toEqual(header);
      expect(seen.reads).toBe(left === 20 ? 1 : 0);
    }
  }
  expect(seen.told).toEqual([80, 95]);
});

it('reports a threshold once a day, although limits, clocks and replicas change', async () => {
  const { here, there, open, clock, seen, charge } = setUp();
  await charge(15);
  await charge(15, SPENDER, open());
  expect(seen.told).toEqual([80]);
  await charge(0, SPENDER, there);
  await charge(100, teamOf(200));
  expect([here.header(SPENDER), here.header(teamOf(200))]).toEqual(['used=100', undefined]);
  await charge(5, teamOf(105));
  expect(here.header(teamOf(105))).toMatch(/^used=95/);
  clock.advance(-HOUR);
  await charge(10);
  expect(here.header(SPENDER)).toMatch(/^used=90/);
  seen.left = 100;
  for (const days of [-1, 2]) {
    clock.advance(days * DAY);
    expect(here.header(SPENDER)).toBeUndefined();
  }
  expect(seen.told).toEqual([80, 95]);
  await charge(0, teamOf(1));
  expect(seen.told).toEqual([80, 95, 80, 95]);
  expect(await here.forecast(teamOf(1), 1)).toBeNull();
});
