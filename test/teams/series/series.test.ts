/** The series of a process, on counters in memory: time by a clock, faults by a store that breaks off. */
import fc from 'fast-check';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { classify, type Ended } from '../../../src/outcome.js';
import { type Counters, StoreUnavailable } from '../../../src/store/port.js';
import { createSeries } from '../../../src/teams/series/create-series.js';
import { endedRequest } from '../../support/ended-request.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { createStandingClock, DAY, HOUR, MINUTE, SECOND } from '../../support/test-clock.js';
import { NO_TRAFFIC, openTally } from '../tally/open-tally.js';

/** What becomes of a write: it is answered, is not made, or is made and not answered. */
type Fate = 'made' | 'away' | 'unanswered';

function createCounters() {
  const groups = new Map<string, Map<string, number>>();
  const batches = new Set<string>();
  let fates: Fate[] = [];
  const groupOf = (name: string) => {
    const found = groups.get(name) ?? new Map<string, number>();
    groups.set(name, found);
    return found;
  };
  const counters: Counters = {
    async add(batchId, adds, raises) {
      const fate = fates.shift() ?? 'made';
      if (fate === 'away') throw new StoreUnavailable('away');
      if (!batches.has(batchId)) {
        batches.add(batchId);
        for (const { group, field, by } of adds) {
          const fields = groupOf(group);
          fields.set(field, (fields.get(field) ?? 0) + by);
        }
        for (const { group, field, to } of raises) {
          const fields = groupOf(group);
          fields.set(field, Math.max(fields.get(field) ?? to, to));
        }
      }
      if (fate === 'unanswered') throw new StoreUnavailable('no answer');
    },
    async read(names) {
      if (fates[0] === 'away') throw new StoreUnavailable('away');
      return names.map((name) => groups.get(name) ?? new Map());
    },
  };
  return {
    counters,
    groups,
    willBe: (next: readonly Fate[]) => {
      fates = [...next];
    },
  };
}

function open(
  traffic: { budget: { queued: number }; pace: { status(): { remaining: number } | null } } = NO_TRAFFIC,
) {
  const clock = createStandingClock('2026-11-21T12:00:30.000Z');
  const store = createCounters();
  const log = createRecordedLog();
  const another = () => {
    const { logger } = log;
    const tally = openTally({ counters: store.counters, clock, logger, traffic, everyMs: SECOND });
    return { ...createSeries(tally, clock), add: tally.add, addCall: tally.addCall, flush: tally.flush };
  };
  return { clock, ...store, log, another, series: another() };
}

const MISS = endedRequest({
  team: 'growth',
  outcome: 'miss',
  tier: 'store',
  plainCalls: 2,
  platformCalls: 1,
});
type Series = ReturnType<typeof open>['series'];
function add(series: Series, request: Ended, status: number, ms: number): void {
  series.add(classify(request, status, '/api/'), ms);
}
function addHit(series: Series, team: string, tier: 'l1' | 'store', plainCalls: number, ms: number): void {
  add(series, endedRequest({ team, tier, plainCalls }), 200, ms);
}

const sum = (numbers: readonly (number | null)[]) =>
  numbers.reduce<number>((all, one) => all + (one ?? 0), 0);

describe('counts after a quiet time', () => {
  it('are shown by other processes within a second, as later ones', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { series, another } = open();
    const seen = async () =>
      sum((await another().read('30d', { id: 'growth', callsPerDay: 1, lives: 'all' })).series.requests);
    await vi.advanceTimersByTimeAsync(MINUTE);
    addHit(series, 'growth', 'l1', 1, 1);
    await vi.advanceTimersByTimeAsync(SECOND);
    expect(await seen()).toBe(1);
    addHit(series, 'growth', 'l1', 1, 1);
    await vi.advanceTimersByTimeAsync(SECOND);
    expect(await seen()).toBe(2);
  });
});

describe('the series of all', () => {
  it('has the last hour by the minute, the one under way included, whoever counted', async () => {
    const { series, another, clock } = open();
    addHit(series, 'growth', 'l1', 1, 0.3);
    clock.advance(MINUTE);
    addHit(series, 'growth', 'store', 2, 4);
    await series.flush();
    add(series, { ...MISS, outcome: 'error', code: 'rate_limited', plainCalls: 0 }, 429, 1);
    add(series, { ...MISS, team: null, outcome: 'error', code: 'invalid_api_key', plainCalls: 0 }, 401, 1);
    const shown = await series.read('1h', null);
    expect(shown).toMatchObject({
      range: '1h',
      from: '2026-11-21T11:02:00.000Z',
      to: '2026-11-21T12:02:00.000Z',
      stepSeconds: 60,
      points: 60,
    });
    const { requests, outcomes, hitTiers, errors, rateLimited, platformCallsSaved, latency } = shown.series;
    expect([requests.length, requests.slice(-2)]).toEqual([60, [1, 3]]);
    expect([outcomes.hit.slice(-2), outcomes.other.slice(-2)]).toEqual([
      [1, 1],
      [0, 2],
    ]);
    expect([hitTiers.memory.slice(-2), hitTiers.store.slice(-2)]).toEqual([
      [1, 0],
      [0, 1],
    ]);
    expect([errors.slice(-1), rateLimited.slice(-1), platformCallsSaved.slice(-2)]).toEqual([
      [1],
      [1],
      [1, 2],
    ]);
    expect([latency.binsMs[0], latency.binsMs.at(-1), latency.counts.length]).toEqual([0.5, 60_000, 60]);
    expect(latency.counts.at(-1)).toEqual([0, 2, 0, 1, ...Array(12).fill(0)]);
    // What is shown is written first, so that others show it, too.
    expect(sum((await another().read('1h', null)).series.requests)).toBe(4);
    expect(sum((await series.read('24h', null)).series.requests)).toBe(4);
    expect(sum((await series.read('30d', null)).series.requests)).toBe(4);
  });

  it('has a day in steps of five minutes, and thirty by the hour', async () => {
    const { series, clock } = open();
    addHit(series, 'growth', 'l1', 1, 1);
    clock.advance(DAY - 5 * MINUTE);
    const day = await series.read('24h', null);
    expect([day.stepSeconds, day.points, day.series.requests[0], sum(day.series.requests)]).toEqual([
      300, 288, 1, 1,
    ]);
    clock.advance(28 * DAY);
    const month = await series.read('30d', null);
    expect([month.stepSeconds, month.points, sum(month.series.requests)]).toEqual([3600, 720, 1]);
    clock.advance(2 * DAY);
    expect(sum((await series.read('30d', null)).series.requests)).toBe(0);
  });

  it('has the longest queue of each minute, and the least that the platform said to be left', async () => {
    const traffic = { budget: { queued: 3 }, pace: { status: () => ({ remaining: left }) } };
    let left = 40;
    const { series } = open(traffic);
    series.addCall('growth');
    [traffic.budget.queued, left] = [7, 12];
    series.addCall('growth');
    [traffic.budget.queued, left] = [0, 30];
    series.addCall('gateway');
    const { queue, budgetLeft, platformCalls } = (await series.read('1h', null)).series;
    expect([queue.at(-1), budgetLeft.slice(-2), platformCalls.at(-1)]).toEqual([7, [null, 12], 3]);
  });
});

it('a queue is shown of a minute in which nothing else was counted', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { series } = open({ ...NO_TRAFFIC, budget: { queued: 4 } });
  await vi.advanceTimersByTimeAsync(SECOND);
  expect((await series.read('1h', null)).series.queue.at(-1)).toBe(4);
  expect((await series.read('30d', null)).series.queue.at(-1)).toBe(4);
});

describe('the series of a team', () => {
  it('is by the hour, and knows what was left of the share after each', async () => {
    const { series, clock } = open();
    clock.set('2026-11-20T22:10:00.000Z');
    for (let calls = 0; calls < 3; calls += 1) series.addCall('growth');
    clock.advance(3 * HOUR);
    series.addCall('growth');
    add(series, MISS, 200, 30);
    const shown = await series.read('24h', { id: 'growth', callsPerDay: 10, lives: 'all' });
    expect([shown.stepSeconds, shown.points, shown.to]).toEqual([3600, 24, '2026-11-21T02:00:00.000Z']);
    expect(shown.series.budgetLeft.slice(-4)).toEqual([7, 7, 10, 9]);
    expect([shown.series.requests.at(-1), shown.series.platformCallsSaved.at(-1)]).toEqual([1, 1]);
    expect(
      (await series.read('1h', { id: 'growth', callsPerDay: null, lives: 'all' })).series.budgetLeft,
    ).toEqual([null, null]);
    expect(
      sum((await series.read('30d', { id: 'other', callsPerDay: 1, lives: 'all' })).series.requests),
    ).toBe(0);
  });

  it('stands in the ledger with its ratio, its latency and when it was last seen', async () => {
    const { series, clock } = open();
    addHit(series, 'growth', 'l1', 1, 0.4);
    clock.advance(5 * SECOND);
    add(series, MISS, 200, 150);
    clock.advance(5 * SECOND);
    series.addCall('gateway');
    await series.flush();
    const name = (id: string) => (id === 'growth' ? 'Growth' : undefined);
    const growth = (await series.ledger('1h', name)).teams[1];
    const own = (await series.ledger('30d', name)).teams[0];
    expect(growth).toEqual({
      id: 'growth',
      name: 'Growth',
      requests: 2,
      hitRatio: 0.5,
      platformCalls: 0,
      platformCallsSaved: 2,
      errors: 0,
      rateLimited: 0,
      p50Ms: 0.5,
      p99Ms: 150,
      lastSeenAt: '2026-11-21T12:00:35.000Z',
    });
    expect(own).toMatchObject({
      id: 'gateway',
      name: 'gateway',
      requests: 0,
      hitRatio: null,
      platformCalls: 1,
      p50Ms: null,
      lastSeenAt: null,
    });
    clock.advance(2 * HOUR);
    expect(await series.ledger('1h', name)).toEqual({ teams: [], withoutKey: null });
  });
});

describe('the ledger', () => {
  it.each(['1h', '24h', '30d'] as const)('has the sums of all requests of the range: %s', async (range) => {
    const { series, clock, another } = open();
    const error = { ...MISS, outcome: 'error', code: 'invalid_query', plainCalls: 0 } as const;
    for (let hour = 0; hour < 40; hour += 1) {
      addHit(series, 'growth', 'l1', 1, 1);
      add(series, { ...MISS, team: 'media' }, 200, 3);
      add(series, { ...error, team: null, code: 'invalid_api_key' }, 401, 1);
      add(series, { ...error, team: 'media' }, 400, 1);
      series.addCall('media');
      await series.flush();
      clock.advance(47 * MINUTE);
    }
    clock.advance(-47 * MINUTE);
    const { series: all } = await another().read(range, null);
    const { teams, withoutKey } = await another().ledger(range, () => undefined);
    expect(teams.map(({ id }) => id)).toEqual(['growth', 'media']);
    for (const name of ['requests', 'errors', 'platformCalls', 'platformCallsSaved'] as const)
      expect(sum([...teams, withoutKey].map((row) => row?.[name] ?? 0))).toBe(sum(all[name]));
    expect(withoutKey).toMatchObject({ hitRatio: null, errors: withoutKey?.requests });
  });

  it('counts failed reports as unanswered, and an error of a tool as an error', async () => {
    const { series } = open();
    const failed = { ...MISS, outcome: 'failed', code: 'upstream_error', plainCalls: 0 } as const;
    addHit(series, 'growth', 'l1', 1, 1);
    for (const status of [502, 502, 503]) add(series, failed, status, 20);
    // As `POST /mcp` answers it.
    add(series, { ...failed, outcome: 'error', code: 'invalid_query' }, 200, 20);
    const { outcomes, errors, requests } = (await series.read('1h', null)).series;
    expect([sum(outcomes.failed), sum(outcomes.other), sum(errors), sum(requests)]).toEqual([3, 1, 4, 5]);
    const { teams } = await series.ledger('1h', () => undefined);
    expect(teams).toMatchObject([{ id: 'growth', requests: 5, errors: 4, hitRatio: 0.25 }]);
  });
});

describe('what was counted', () => {
  it('is in the store once, whatever becomes of the writes of three processes', async () => {
    const step = fc.record({
      who: fc.nat({ max: 2 }),
      hits: fc.nat({ max: 3 }),
      passMs: fc.constantFrom(0, 10 * SECOND, MINUTE, HOUR),
      fates: fc.array(fc.constantFrom<Fate>('made', 'away', 'unanswered'), { maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        const { clock, another, willBe } = open();
        const all = [another(), another(), another()];
        let hits = 0;
        for (const { who, hits: more, passMs, fates } of steps) {
          const series = all[who] as (typeof all)[number];
          for (let one = 0; one < more; one += 1) addHit(series, 'growth', 'l1', 1, 1);
          hits += more;
          willBe(fates);
          await Promise.all([series.flush(), all[0]?.flush()]);
          clock.advance(passMs);
        }
        willBe([]);
        for (const series of all) expect(await series.flush()).toBe(true);
        const seen = await another().read('30d', null);
        const own = await another().read('30d', { id: 'growth', callsPerDay: null, lives: 'all' });
        expect([sum(seen.series.requests), sum(own.series.outcomes.hit)]).toEqual([hits, hits]);
      }),
      { numRuns: 30 },
    );
  });

  it('is not shown while it is not known whether it was written', async () => {
    const { series, willBe } = open();
    addHit(series, 'growth', 'l1', 1, 1);
    willBe(['unanswered', 'unanswered', 'unanswered', 'unanswered']);
    expect(await series.flush()).toBe(false);
    await expect(series.read('1h', null)).rejects.toThrow(StoreUnavailable);
    willBe([]);
    addHit(series, 'growth', 'l1', 1, 1);
    expect(sum((await series.read('1h', null)).series.requests)).toBe(2);
  });

  it('that cannot be written is told at each outage, once', async () => {
    const { series, willBe, log } = open();
    for (let outage = 1; outage <= 2; outage += 1) {
      addHit(series, 'growth', 'l1', 1, 1);
      willBe(['away', 'away', 'away']);
      for (let tries = 0; tries < 3; tries += 1) expect(await series.flush()).toBe(false);
      expect(log.messages('warn')).toHaveLength(outage);
      willBe([]);
      expect(await series.flush()).toBe(true);
    }
  });

  it('waits while the store is away, the minutes of it for a day', async () => {
    const { series, willBe, clock, groups } = open();
    for (let hour = 0; hour < 100; hour += 1) {
      addHit(series, 'growth', 'l1', 1, 1);
      willBe(['away']);
      await series.flush();
      clock.advance(HOUR);
    }
    willBe([]);
    expect(await series.flush()).toBe(true);
    const shown = await series.read('30d', null);
    expect(sum(shown.series.requests)).toBe(100);
    expect([...groups.keys()].filter((name) => name.startsWith('series:minutes:')).length).toBeLessThan(28);
  });

  it('is never negative, and never lost, where the clock goes back', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: -2 * HOUR, max: HOUR }), { maxLength: 12 }),
        async (jumps) => {
          const { series, clock } = open();
          for (const ms of jumps) {
            addHit(series, 'growth', 'l1', 1, 1);
            clock.advance(ms);
          }
          const latest = Math.max(0, ...jumps.map((_, at) => sum(jumps.slice(0, at + 1))));
          clock.advance(latest - sum(jumps));
          const shown = await series.read('30d', { id: 'growth', callsPerDay: 5, lives: 'all' });
          expect(sum(shown.series.requests)).toBe(jumps.length);
          const { requests, budgetLeft, latency } = shown.series;
          const all = [requests, budgetLeft, ...latency.counts].flat();
          expect(all.every((one) => (one ?? 0) >= 0)).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('of another release is left out where it is not known', async () => {
    const { series, groups } = open();
    addHit(series, 'growth', 'l1', 1, 1);
    await series.flush();
    for (const [name, fields] of groups)
      if (!name.startsWith('usage:2026-11-21') || name.split(':').length > 2)
        fields.set('0.77', 5).set('x', 5);
    expect(sum((await series.read('1h', null)).series.requests)).toBe(1);
    expect((await series.ledger('1h', () => undefined)).teams.map(({ requests }) => requests)).toEqual([1]);
  });
});
