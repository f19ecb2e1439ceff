/** The outlook on a team's daily calls: how often it reads the store. */
import { pino } from 'pino';
import { expect, it } from 'vitest';
import type { Team } from '../../../src/teams/auth/team.js';
import { createBudgetOutlook } from '../../../src/teams/limits/budget-outlook.js';

it('reads the store once for calls that arrive together, and misses no threshold', async () => {
  const team = { id: 'spender', limits: { upstreamCallsPerDay: 100 } } as Team;
  const told: number[] = [];
  let reads = 0;
  const budgets = createBudgetOutlook({
    documents: { create: async () => null },
    async hoursOf() {
      reads += 1;
      return { usual: Array(24).fill(4), today: Array(12).fill(7) };
    },
    nameOf: (id) => id,
    clock: { now: () => Date.parse('2026-11-21T12:00:00Z') },
    logger: pino({ enabled: false }),
    onThreshold: (percent) => told.push(percent),
  });
  for (let left = 20; left >= 5; left -= 1) budgets.charged(team, left);
  await expect.poll(() => told).toEqual([80, 95]);
  expect(reads).toBe(2);
  expect(budgets.header('spender')).toMatch(/^used=95, exhausted-at="\d\d:\d\dZ"$/);
});
