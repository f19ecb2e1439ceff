/** The demo's past, as console and explorer show it. */
import { expect, it, onTestFinished } from 'vitest';
import {
  getSeries,
  getSeriesOfTeams,
  getStatus,
  getUsage,
  listAudit,
} from '../../../src/api/operations/overview.js';
import { getTokens } from '../../../src/api/operations/token.js';
import { getWriteBudgets, getWrites } from '../../../src/api/operations/writes.js';
import { startDemo } from '../../../src/cli/demo/start-demo.js';
import { createStoryClock, playStory } from '../../../src/cli/demo/story.js';
import { ask } from '../../support/ask.js';
import { DAY } from '../../support/test-clock.js';

it('shows five weeks of five teams that end now, in a gateway that is well', async () => {
  const clock = createStoryClock();
  const demo = await startDemo({ PORT: '0', ADMIN_PORT: '0' }, clock);
  onTestFinished(() => demo.stop());
  const { admin, gatewayUrl, key, simulator } = demo;
  const lines: string[] = [];
  const goOn = await playStory(demo, clock, (line) => void lines.push(line));
  expect(lines.at(-1)).toMatch(/^ {2}\d+ requests, \d+ platform calls, in [\d.]+ s$/);
  // A fetch costs time: the story must stay short.
  expect(simulator.callCount).toBeLessThan(300);
  expect([clock.offsetMs, simulator.faults, simulator.switches.latencyMs]).toEqual([0, [], 40]);
  expect((await admin.ask(getStatus, {})).verdict).toEqual({ level: 'well', findings: [] });
  const nowMs = clock.now();

  const { entries } = await admin.ask(listAudit, { query: { limit: 1000 } });
  const actions = new Set(entries.map(({ action }) => action));
  for (const action of ['team.create', 'token.activate', 'cache.purge', 'writes.stop', 'writes.resume'])
    expect(actions).toContain(action);
  const times = entries.map(({ at }) => Date.parse(at));
  expect(Math.max(...times)).toBeLessThanOrEqual(nowMs);
  expect(nowMs - Math.min(...times)).toBeGreaterThan(34 * DAY);
  expect(await admin.ask(getTokens, {})).toMatchObject({
    active: { source: 'staged' },
    previous: { source: 'seed' },
  });

  // Counts are written within ten seconds, those of the last hour last.
  const filled = async (range: '1h' | '24h' | '30d') => {
    const { series } = await admin.ask(getSeries, { query: { range } });
    return [series.requests, series.platformCalls].map(
      (all) => all.filter((count) => (count ?? 0) > 0).length,
    );
  };
  await expect.poll(async () => (await filled('1h'))[0], { timeout: 15_000 }).toBeGreaterThanOrEqual(15);
  for (const range of ['1h', '24h', '30d'] as const) {
    const [requests, calls] = await filled(range);
    expect([range, (requests ?? 0) >= 10, (calls ?? 0) > 0]).toEqual([range, true, true]);
  }
  // The gateway compares joins for itself.
  const teams = ['assistants', 'bidding', 'finance', 'gateway', 'growth', 'warehouse'];
  const ledger = await admin.ask(getSeriesOfTeams, { query: { range: '30d' } });
  expect(ledger.teams.map(({ id }) => id).sort()).toEqual(teams);
  const { usage } = await admin.ask(getUsage, {});
  const sum = (of: (day: (typeof usage)[number]) => number) => usage.reduce((all, day) => all + of(day), 0);
  expect(sum(({ rateLimited }) => rateLimited)).toBeGreaterThan(0);
  expect(sum(({ upstreamCallsSaved }) => upstreamCallsSaved)).toBeGreaterThan(
    sum(({ upstreamCalls }) => upstreamCalls),
  );
  expect((await admin.ask(getWriteBudgets, { id: 'bidding' })).budgets[0]?.left).toBe(2600);
  const { refused } = await admin.ask(getWrites, {});
  expect(refused.map(({ code, rule }) => rule ?? code)).toEqual([
    ...['budget.maxPerCall', 'writes_stopped', 'budget.maxPerDay', 'budget.maxPerDay'],
  ]);

  const own = async (path: string) => (await ask(gatewayUrl + path, { key })).json<Record<string, never[]>>();
  expect((await own('/gateway/v1/pins')).data).toHaveLength(1);
  const query = encodeURIComponent('advertiserId=2&byDate=1&_period=last_30_days');
  const { data } = await own(`/gateway/v1/diff?endpoint=campaigns/get&from=first&to=latest&query=${query}`);
  expect(data?.length).toBeGreaterThan(0);

  const before = simulator.callCount;
  const live = goOn();
  await live.stop();
  expect(simulator.callCount).toBeGreaterThanOrEqual(before);
});
