/** What is counted is in the store exactly once, and all readers show it alike. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { classify, type Outcome } from '../../../src/outcome.js';
import { type Counters, StoreUnavailable } from '../../../src/store/port.js';
import { createLastUse } from '../../../src/teams/auth/last-use.js';
import { createSeries } from '../../../src/teams/series/create-series.js';
import { keptMsOf } from '../../../src/teams/tally/groups.js';
import { createUsage } from '../../../src/teams/usage/usage.js';
import { endedRequest } from '../../support/ended-request.js';
import { openInMemory } from '../../support/shared-registry.js';
import { createTestClock, DAY, HOUR, MINUTE, SECOND, type TestClock } from '../../support/test-clock.js';
import { openTally } from './open-tally.js';

/** What becomes of a write: it is answered, is not made, or is made and not answered. */
type Fate = 'made' | 'away' | 'unanswered';

/** A store that all processes share. Writes have the next fates, and are then made. */
async function openStore(clock: TestClock) {
  const { counters: real } = await openInMemory(clock);
  const state: { fates: Fate[]; lifetimes: Map<string, number> } = { fates: [], lifetimes: new Map() };
  const counters: Counters = {
    async add(id, adds, raises, ttlMs) {
      const fate = state.fates.shift() ?? 'made';
      if (fate === 'away') throw new StoreUnavailable('away');
      for (const { group } of [...adds, ...raises])
        state.lifetimes.set(group, typeof ttlMs === 'number' ? ttlMs : ttlMs(group));
      await real.add(id, adds, raises, ttlMs);
      if (fate === 'unanswered') throw new StoreUnavailable('no answer');
    },
    read: real.read,
  };
  const start = () => {
    const lastUse = createLastUse(counters, clock);
    return { ...openTally({ counters, clock, notes: lastUse.notes }), lastUse };
  };
  return { state, counters, start };
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
const TEAMS = ['growth', 'media'] as const;

const request = fc.record({
  team: fc.constantFrom(...TEAMS),
  outcome: fc.constantFrom<Outcome>('hit', 'stale', 'miss', 'forced', 'collapsed', 'failed', 'pass', 'error'),
  rows: fc.nat({ max: 99 }),
  bytesOut: fc.nat({ max: 9999 }),
  plainCalls: fc.nat({ max: 2 }),
  platformCalls: fc.nat({ max: 2 }),
  via: fc.constantFrom('mcp' as const, null),
});
const step = fc.record({
  who: fc.nat({ max: 1 }),
  requests: fc.array(request, { maxLength: 4 }),
  fates: fc.array(fc.constantFrom<Fate>('made', 'away', 'unanswered'), { maxLength: 4 }),
  passMs: fc.constantFrom(0, SECOND, MINUTE, 4 * HOUR, DAY),
  isRestarted: fc.boolean(),
});

/** Members of usage that requests add to. */
const MEMBERS = ['requests', 'hits', 'misses', 'errors', 'rows', 'bytesOut', 'upstreamCallsSaved'] as const;
type Sums = Record<(typeof MEMBERS)[number] | 'upstreamCalls', number>;

it('two processes that start again count each request once, whatever becomes of their writes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const clock = createTestClock();
      const { state, counters, start } = await openStore(clock);
      const processes = [start(), start()];
      const expected = new Map<string, Sums>();
      const used = new Map<string, number>();
      for (const { who, requests, fates, passMs, isRestarted } of steps) {
        const tally = processes[who] as (typeof processes)[number];
        for (const one of requests) {
          const counted = classify(endedRequest(one), 200, '/api/');
          tally.add(counted, 5);
          tally.addCall(one.team);
          tally.lastUse.note(one.team);
          used.set(one.team, clock.now());
          const before = expected.get(one.team) ?? ({ upstreamCalls: 0 } as Sums);
          const { outcome } = one;
          const news: Sums = {
            requests: 1,
            rows: counted.rows,
            bytesOut: one.bytesOut,
            upstreamCalls: 1,
            hits: outcome === 'hit' ? 1 : 0,
            misses: ['miss', 'forced', 'collapsed', 'failed'].includes(outcome) ? 1 : 0,
            errors: ['failed', 'error'].includes(outcome) ? 1 : 0,
            upstreamCallsSaved: counted.saved,
          };
          for (const name of [...MEMBERS, 'upstreamCalls'] as const)
            before[name] = (before[name] ?? 0) + news[name];
          expected.set(one.team, before);
        }
        state.fates = [...fates];
        await Promise.all(processes.map((process) => process.flush()));
        if (isRestarted) {
          state.fates = [];
          tally.lastUse.end();
          await tally.close();
          processes[who] = start();
        }
        clock.advance(passMs);
      }
      state.fates = [];
      for (const process of processes) process.lastUse.end();
      for (const process of processes) expect(await process.flush()).toBe(true);
      const reader = openTally({ counters, clock });
      const [usage, series] = [createUsage(reader, clock), createSeries(reader, clock)];
      const { from, to } = usage.daysBack(29);
      const days = await usage.read(from, to);
      const { teams } = await series.ledger('30d', () => undefined);
      const all = (await series.read('30d', null)).series;
      expect(new Set(days.map(({ team }) => team))).toEqual(new Set(expected.keys()));
      expect(teams.map(({ id }) => id).sort()).toEqual([...expected.keys()].sort());
      for (const team of expected.keys()) {
        const own = days.filter((day) => day.team === team);
        const found = [...MEMBERS, 'upstreamCalls' as const].map((name) => [
          name,
          sum(own.map((day) => day[name])),
        ]);
        expect(Object.fromEntries(found)).toEqual(expected.get(team));
        const { series: hours } = await series.read('30d', { id: team, callsPerDay: null, lives: 'all' });
        const row = teams.find(({ id }) => id === team);
        const { requests, errors, upstreamCalls } = expected.get(team) as Sums;
        expect([sum(hours.requests), sum(hours.errors), sum(hours.platformCalls)]).toEqual([
          requests,
          errors,
          upstreamCalls,
        ]);
        expect(row).toMatchObject({ requests, errors, platformCalls: upstreamCalls });
      }
      expect(sum(all.requests)).toBe(sum([...expected.values()].map(({ requests }) => requests)));
      expect(await createLastUse(counters, clock).read()).toEqual(used);
    }),
    { numRuns: 60 },
  );
});

it('a process that is killed loses what it counted since its last batch, and nothing else', async () => {
  const clock = createTestClock();
  const { state, counters, start } = await openStore(clock);
  const killed = start();
  const hit = classify(endedRequest(), 200, '/api/');
  killed.add(hit, 1);
  state.fates = ['unanswered'];
  expect(await killed.flush()).toBe(false);
  killed.add(hit, 1);
  const usage = createUsage(openTally({ counters, clock }), clock);
  expect((await usage.recent('growth'))?.map(({ hits }) => hits)).toEqual([1]);
});

it('keeps minutes for the hours that are shown, hours for 92 days, and days for 800', async () => {
  const clock = createTestClock();
  const { state, start } = await openStore(clock);
  const tally = start();
  tally.add(classify(endedRequest(), 200, '/api/'), 1);
  tally.lastUse.note('key_a');
  await tally.flush();
  expect(state.lifetimes.size).toBe(7);
  expect([...state.lifetimes].every(([group, ms]) => ms === keptMsOf(group))).toBe(true);
  const ofGroup = (start: string) => [...state.lifetimes].find(([group]) => group.startsWith(start))?.[1];
  expect(['series:minutes', 'series:team-minutes', 'series:hours', 'usage:', 'keys/'].map(ofGroup)).toEqual([
    26 * HOUR,
    3 * HOUR,
    92 * DAY,
    800 * DAY,
    800 * DAY,
  ]);
});

it('minutes pile up no longer than they are shown while the store is away, and hours stay exact', async () => {
  const clock = createTestClock();
  const { state, counters, start } = await openStore(clock);
  const tally = start();
  for (let minute = 0; minute < 30 * 60; minute += 7) {
    tally.add(classify(endedRequest(), 200, '/api/'), 1);
    clock.advance(7 * MINUTE);
  }
  await tally.flush();
  const minutes = [...state.lifetimes.keys()].filter((group) => group.startsWith('series:team-minutes:'));
  expect(minutes.length).toBeLessThanOrEqual(4);
  const series = createSeries(openTally({ counters, clock }), clock);
  const { series: hours } = await series.read('30d', { id: 'growth', callsPerDay: null, lives: 'all' });
  expect(sum(hours.requests)).toBe(Math.ceil((30 * 60) / 7));
  expect(Math.max(...hours.requests)).toBeLessThanOrEqual(9);
});
