/** Usage of teams: what a request counts as, and how days of it are kept. */

import fc from 'fast-check';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { classify, type Ended, type Outcome } from '../../../src/outcome.js';
import { type Counters, StoreUnavailable } from '../../../src/store/port.js';
import { createUsage, type UsageOptions } from '../../../src/teams/usage/usage.js';
import {
  dayGroup,
  readDay,
  teamGroup,
  toBatch,
  USAGE_FIELDS,
  type UsageField,
} from '../../../src/teams/usage/usage-day.js';
import { countRequest } from '../../../src/teams/usage/usage-tally.js';
import { endedRequest } from '../../support/ended-request.js';
import { openInMemory } from '../../support/shared-registry.js';
import { createTestClock, DAY, MINUTE } from '../../support/test-clock.js';

type Answered = Ended & { readonly status: number };

function countOf({ status, ...ended }: Answered): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  countRequest(classify(ended, status), (field, by) => by > 0 && counts.set(field, by));
  return counts;
}
const counted = (changes: Partial<Answered>) =>
  Object.fromEntries(countOf({ status: 200, ...endedRequest(), ...changes }));

describe('a request counts as', () => {
  it.each<[Outcome, string | null]>([
    ['hit', 'hits'],
    ['stale', 'stale'],
    ['stale-if-error', 'stale'],
    ['miss', 'misses'],
    ['collapsed', 'misses'],
    ['pass', null],
    ['replay', null],
  ])('%s: %s', (outcome, field) => {
    const found = counted({ outcome, platformCalls: 1 });
    expect(found).toEqual({ requests: 1, ...(field === null ? {} : { [field]: 1 }) });
  });

  it('an error, and a failed report as a miss, too, whatever its status', () => {
    for (const status of [200, 502]) {
      expect(counted({ outcome: 'failed', status })).toEqual({ requests: 1, misses: 1, errors: 1 });
      expect(counted({ outcome: 'error', status })).toEqual({ requests: 1, errors: 1 });
    }
  });

  it('one of those by MCP, beside whatever else it is', () => {
    expect(counted({ outcome: 'hit', via: 'mcp' })).toMatchObject({ requests: 1, viaMcp: 1, hits: 1 });
    expect(counted({ outcome: 'hit' })).not.toHaveProperty('viaMcp');
    expect(counted({ outcome: 'error', via: 'mcp' })).toEqual({ requests: 1, viaMcp: 1, errors: 1 });
  });

  it('the platform calls it saved: what the answer is worth, less what it cost, never less than none', () => {
    expect(counted({ outcome: 'hit' }).upstreamCallsSaved).toBe(1);
    expect(counted({ outcome: 'hit', plainCalls: 2 }).upstreamCallsSaved).toBe(2);
    expect(counted({ outcome: 'miss', plainCalls: 2, platformCalls: 1 }).upstreamCallsSaved).toBe(1);
    expect(counted({ outcome: 'collapsed' }).upstreamCallsSaved).toBe(1);
    expect(counted({ outcome: 'miss', platformCalls: 3 }).upstreamCallsSaved).toBeUndefined();
    expect(counted({ outcome: 'pass', plainCalls: 0 }).upstreamCallsSaved).toBeUndefined();
  });

  it('an error from 400 on, but as limited when the gateway said so', () => {
    expect(counted({ status: 399, outcome: 'pass' }).errors).toBeUndefined();
    expect(counted({ status: 400, outcome: 'error', code: 'invalid_query' })).toEqual({
      requests: 1,
      errors: 1,
    });
    expect(counted({ status: 404, outcome: 'pass' })).toEqual({ requests: 1, errors: 1 });
    expect(counted({ status: 503, outcome: 'error', code: 'upstream_rate_limited' }).errors).toBe(1);
    for (const code of ['rate_limited', 'upstream_budget_exhausted'])
      expect(counted({ status: 429, outcome: 'error', code })).toEqual({ requests: 1, rateLimited: 1 });
  });

  it('its bytes whatever it is, its rows when it is a report', () => {
    expect(counted({ rows: 7, bytesOut: 99 })).toMatchObject({ rows: 7, bytesOut: 99 });
    expect(counted({ outcome: 'error', status: 500, rows: 7, bytesOut: 99 })).toEqual({
      requests: 1,
      errors: 1,
      bytesOut: 99,
    });
  });
});

const field = fc.constantFrom(...USAGE_FIELDS);
const pending = fc
  .uniqueArray(
    fc.record({
      day: fc.constantFrom('2026-11-20', '2026-11-21'),
      team: fc.stringMatching(/^[a-z0-9-]{1,5}$/),
      counts: fc.uniqueArray(fc.tuple(field, fc.nat()), { selector: ([name]) => name, minLength: 1 }),
    }),
    { selector: ({ day, team }) => `${day}/${team}` },
  )
  .map((entries) => {
    const days = new Map<string, Map<string, Map<(typeof USAGE_FIELDS)[number], number>>>();
    for (const { day, team, counts } of entries) {
      const teams = days.get(day) ?? new Map();
      days.set(day, teams.set(team, new Map(counts)));
    }
    return { entries, days };
  });

describe('a batch', () => {
  it('holds every count once, and names every team in the group of its day', () => {
    fc.assert(
      fc.property(pending, ({ entries, days }) => {
        const { adds, raises } = toBatch(days);
        const expected = entries.flatMap(({ day, team, counts }) =>
          counts.map(([name, by]) => ({ group: teamGroup(day, team), field: name, by })),
        );
        const sorted = (list: object[]) => list.map((one) => JSON.stringify(one)).sort();
        expect(sorted(adds)).toEqual(sorted(expected));
        expect(sorted(raises)).toEqual(
          sorted(entries.map(({ day, team }) => ({ group: dayGroup(day), field: team, to: 1 }))),
        );
      }),
    );
  });
});

describe('a day', () => {
  it('shows every field, those nobody counted as 0, and no others', () => {
    const group = new Map([
      ['requests', 3],
      ['viaMcp', 2],
      ['from-another-release', 9],
    ]);
    expect(readDay('2026-11-21', 'a', group)).toEqual({
      ...{ day: '2026-11-21', team: 'a', requests: 3, viaMcp: 2, hits: 0, stale: 0, misses: 0 },
      ...{ upstreamCalls: 0, upstreamCallsSaved: 0, rows: 0, bytesOut: 0, errors: 0, rateLimited: 0 },
    });
  });
});

const logger = pino({ level: 'silent' });
const counts = (changes: Partial<Record<UsageField, number>>) =>
  new Map(Object.entries(changes) as [UsageField, number][]);

/** Counters that can be made to fail: before the change, or after it was made. */
async function open(options: Partial<UsageOptions> = {}) {
  const clock = createTestClock();
  const store = await openInMemory(clock);
  const state: { fails: 'no' | 'before' | 'after'; batches: string[] } = { fails: 'no', batches: [] };
  const counters: Counters = {
    async add(id, ...rest) {
      state.batches.push(id);
      if (state.fails !== 'before') await store.counters.add(id, ...rest);
      if (state.fails !== 'no') throw new StoreUnavailable('away');
    },
    async read(groups) {
      if (state.fails !== 'no') throw new StoreUnavailable('away');
      return store.counters.read(groups);
    },
  };
  const usage = createUsage({ counters, clock, logger, everyMs: 3_600_000, ...options });
  onTestFinished(() => {
    state.fails = 'no';
    return usage.close();
  });
  const requests = async (day = '2026-11-21') =>
    (await usage.read(day, day)).map(({ team, requests: count }) => [team, count]);
  return { usage, clock, state, counters: store.counters, requests };
}

describe('usage', () => {
  it('adds up by team and day, over batches and over processes', async () => {
    const { usage, clock, counters } = await open();
    const other = createUsage({ counters, clock, logger });
    onTestFinished(() => other.close());
    usage.add('a', counts({ requests: 1, bytesOut: 10 }));
    usage.add('a', counts({ requests: 1, hits: 1 }));
    usage.add('b', counts({ requests: 1 }));
    expect(await usage.flush()).toBe(true);
    usage.add('a', counts({ requests: 1 }));
    other.add('a', counts({ requests: 5 }));
    clock.advance(DAY);
    usage.add('a', counts({ errors: 1 }));
    await Promise.all([usage.flush(), other.flush()]);
    const all = await usage.read('2026-11-01', '2026-11-30');
    expect(all.map(({ day, team, requests, errors }) => [day, team, requests, errors])).toEqual([
      ['2026-11-21', 'a', 8, 0],
      ['2026-11-21', 'b', 1, 0],
      ['2026-11-22', 'a', 0, 1],
    ]);
    expect(all[0]).toMatchObject({ bytesOut: 10, hits: 1 });
    expect(await usage.read('2026-11-21', '2026-11-22', 'b')).toEqual([all[1]]);
    expect(await usage.read('2026-11-01', '2026-11-20')).toEqual([]);
  });

  it('is read whole, however many teams there are', async () => {
    const { usage, requests } = await open();
    const teams = Array.from({ length: 1203 }, (_, at) => `t${String(at).padStart(4, '0')}`);
    for (const team of teams) usage.add(team, counts({ requests: 1 }));
    await usage.flush();
    expect(await requests()).toEqual(teams.map((team) => [team, 1]));
  });

  it('is written by itself', async () => {
    const { usage, requests } = await open({ everyMs: 5 });
    usage.add('a', counts({ requests: 1 }));
    await expect.poll(() => requests()).toEqual([['a', 1]]);
  });

  it.each(['before', 'after'] as const)(
    'counts once when the store goes away %s a batch was written, and nothing is lost meanwhile',
    async (fails) => {
      const { usage, state, requests } = await open();
      usage.add('a', counts({ requests: 1 }));
      state.fails = fails;
      for (let at = 0; at < 3; at++) {
        expect(await usage.flush()).toBe(false);
        usage.add('a', counts({ requests: 10 }));
      }
      expect(await usage.recent('a')).toBeNull();
      await expect(usage.read('2026-11-21', '2026-11-21')).rejects.toThrow(StoreUnavailable);
      state.fails = 'no';
      expect(await usage.flush()).toBe(true);
      expect(await requests()).toEqual([['a', 31]]);
      // One id for what was in doubt, another for what came later.
      expect(new Set(state.batches).size).toBe(2);
    },
  );

  it('never counts twice, not even when the store is away for longer than it knows a batch', async () => {
    const { usage, state, clock, requests } = await open();
    usage.add('a', counts({ requests: 1 }));
    state.fails = 'after';
    await usage.flush();
    usage.add('a', counts({ requests: 10 }));
    clock.advanceMonotonic(9 * MINUTE + 1);
    await usage.flush();
    clock.advanceMonotonic(60 * MINUTE);
    await usage.flush();
    state.fails = 'no';
    expect(await usage.flush()).toBe(true);
    expect(await requests()).toEqual([['a', 11]]);
    expect(state.batches).toHaveLength(2);
  });

  it('is exact after a clean stop', async () => {
    const { usage, requests } = await open();
    usage.add('a', counts({ requests: 1 }));
    const under = usage.flush();
    usage.add('a', counts({ requests: 1 }));
    await usage.close();
    await under;
    expect(await requests()).toEqual([['a', 2]]);
  });

  it('is shown for the last 30 days', async () => {
    const { usage, clock } = await open();
    expect(usage.daysBack(29)).toEqual({ from: '2026-10-23', to: '2026-11-21' });
    usage.add('a', counts({ requests: 1 }));
    usage.add('b', counts({ requests: 7 }));
    clock.advance(29 * DAY);
    usage.add('a', counts({ requests: 2 }));
    await usage.flush();
    const days = async () => (await usage.recent('a'))?.map(({ day, requests }) => [day, requests]);
    expect(await days()).toEqual([
      ['2026-11-21', 1],
      ['2026-12-20', 2],
    ]);
    expect((await usage.recent('a'))?.[0]).not.toHaveProperty('team');
    clock.advance(DAY);
    expect(await days()).toEqual([['2026-12-20', 2]]);
  });
});
