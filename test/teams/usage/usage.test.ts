import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createEmbeddedStore } from '../../../src/store/embedded/embedded-store.js';
import { type Counters, StoreUnavailable } from '../../../src/store/port.js';
import { createUsage, type UsageOptions } from '../../../src/teams/usage/usage.js';
import type { UsageField } from '../../../src/teams/usage/usage-day.js';
import { createTestClock, DAY, MINUTE } from '../../support/test-clock.js';

const logger = pino({ level: 'silent' });
const counts = (changes: Partial<Record<UsageField, number>>) =>
  new Map(Object.entries(changes) as [UsageField, number][]);

/** Real counters in a folder, which can be made to fail: before the change, or after it was made. */
async function open(options: Partial<UsageOptions> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-usage-'));
  const clock = createTestClock();
  const store = await createEmbeddedStore({ dataDir: folder, cacheMaxBytes: 1_048_576, clock, logger });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
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

  it('is not written where nothing was counted', async () => {
    const { usage, state } = await open();
    expect(await usage.flush()).toBe(true);
    expect(state.batches).toEqual([]);
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
