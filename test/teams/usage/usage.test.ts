/** Usage of teams: what a request counts as, and how days of it are kept. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { classify, type Ended, type Outcome } from '../../../src/outcome.js';
import { type Counters, StoreUnavailable } from '../../../src/store/port.js';
import { AT, addRequest, type Cell, emptyCell } from '../../../src/teams/tally/cell.js';
import { fieldOf } from '../../../src/teams/tally/groups.js';
import type { Tally } from '../../../src/teams/tally/tally.js';
import { createUsage } from '../../../src/teams/usage/usage.js';
import { usageOf } from '../../../src/teams/usage/usage-day.js';
import { endedRequest } from '../../support/ended-request.js';
import { openInMemory } from '../../support/shared-registry.js';
import { createTestClock, DAY, MINUTE } from '../../support/test-clock.js';
import { openTally } from '../tally/open-tally.js';

type Answered = Ended & { readonly status: number };

const fieldsOf = (cell: Cell) => new Map([...cell].map((count, at) => [fieldOf(0, at), count]));

/** What a request counts as; members without any are left out. */
function counted(changes: Partial<Answered>): Readonly<Record<string, number>> {
  const { status, ...ended } = { status: 200, ...endedRequest(), ...changes };
  const cell = emptyCell();
  addRequest(cell, classify(ended, status, '/api/'), 1, 1);
  const { day: _, team: __, ...counts } = usageOf('2026-11-21', 'a', fieldsOf(cell));
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

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

describe('a day', () => {
  it('shows every field, those nobody counted as 0, and no others', () => {
    const group = new Map([
      // As earlier releases counted.
      ['requests', 3],
      ['viaMcp', 2],
      ['from-another-release', 9],
      [fieldOf(0, AT.other), 1],
    ]);
    expect(usageOf('2026-11-21', 'a', group)).toEqual({
      day: '2026-11-21',
      team: 'a',
      requests: 4,
      viaMcp: 2,
      hits: 0,
      stale: 0,
      misses: 0,
      upstreamCalls: 0,
      upstreamCallsSaved: 0,
      rows: 0,
      bytesOut: 0,
      errors: 0,
      rateLimited: 0,
    });
  });
});

/** Counters that can be made to fail: before the change, or after it was made. */
async function open(options: { readonly everyMs?: number } = {}) {
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
  const tally = openTally({ counters, clock, ...options });
  onTestFinished(() => {
    state.fails = 'no';
  });
  const usage = { ...tally, ...createUsage(tally, clock) };
  const requests = async (day = '2026-11-21') =>
    (await usage.read(day, day)).map(({ team, requests: count }) => [team, count]);
  return { usage, clock, state, counters: store.counters, requests };
}

/** Requests that nobody else counts as anything, unless they are changed. */
function ask(tally: Pick<Tally, 'add'>, team: string, times: number, changes: Partial<Ended> = {}): void {
  const one = endedRequest({ team, outcome: 'pass', plainCalls: 0, ...changes });
  for (let at = 0; at < times; at += 1) tally.add(classify(one, 200, '/api/'), 1);
}

describe('usage', () => {
  it('adds up by team and day, over batches and over processes', async () => {
    const { usage, clock, counters } = await open();
    const other = openTally({ counters, clock });
    ask(usage, 'a', 1, { bytesOut: 10 });
    ask(usage, 'a', 1, { outcome: 'hit' });
    ask(usage, 'b', 1);
    expect(await usage.flush()).toBe(true);
    ask(usage, 'a', 1);
    ask(other, 'a', 5);
    clock.advance(DAY);
    ask(usage, 'a', 1, { outcome: 'error' });
    await Promise.all([usage.flush(), other.flush()]);
    const all = await usage.read('2026-11-01', '2026-11-30');
    expect(all.map(({ day, team, requests, errors }) => [day, team, requests, errors])).toEqual([
      ['2026-11-21', 'a', 8, 0],
      ['2026-11-21', 'b', 1, 0],
      ['2026-11-22', 'a', 1, 1],
    ]);
    expect(all[0]).toMatchObject({ bytesOut: 10, hits: 1 });
    expect(await usage.read('2026-11-21', '2026-11-22', 'b')).toEqual([all[1]]);
    expect(await usage.read('2026-11-01', '2026-11-20')).toEqual([]);
  });

  it('is read whole, however many teams there are', async () => {
    const { usage, requests } = await open();
    const teams = Array.from({ length: 1203 }, (_, at) => `t${String(at).padStart(4, '0')}`);
    for (const team of teams) ask(usage, team, 1);
    await usage.flush();
    expect(await requests()).toEqual(teams.map((team) => [team, 1]));
  });

  it('is written by itself', async () => {
    const { usage, requests } = await open({ everyMs: 5 });
    ask(usage, 'a', 1);
    await expect.poll(() => requests()).toEqual([['a', 1]]);
  });

  it.each(['before', 'after'] as const)(
    'counts once when the store goes away %s a batch was written, and nothing is lost meanwhile',
    async (fails) => {
      const { usage, state, requests } = await open();
      ask(usage, 'a', 1);
      state.fails = fails;
      for (let at = 0; at < 3; at++) {
        expect(await usage.flush()).toBe(false);
        ask(usage, 'a', 10);
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
    ask(usage, 'a', 1);
    state.fails = 'after';
    await usage.flush();
    ask(usage, 'a', 10);
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
    ask(usage, 'a', 1);
    const under = usage.flush();
    ask(usage, 'a', 1);
    await usage.close();
    await under;
    expect(await requests()).toEqual([['a', 2]]);
  });

  it('is shown for the last 30 days', async () => {
    const { usage, clock } = await open();
    expect(usage.daysBack(29)).toEqual({ from: '2026-10-23', to: '2026-11-21' });
    ask(usage, 'a', 1);
    ask(usage, 'b', 7);
    clock.advance(29 * DAY);
    ask(usage, 'a', 2);
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
