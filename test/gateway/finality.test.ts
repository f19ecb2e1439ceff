/** `finality.mode`: when a day is final, learned from what days did before it. */
import { describe, expect, it } from 'vitest';
import type { FinalityMode } from '../../src/reports/learn/windows.js';
import { isoDay } from '../../src/reports/query/days.js';
import { prove } from '../support/prove.js';
import {
  outcomeOf,
  reportIn,
  type SimulatedGateway,
  type TestGateway,
  withGateway,
} from '../support/start-gateway.js';
import { DAY, HOUR } from '../support/test-clock.js';

const SERIES = 'advertiserId=1&byDate=1';
const QUERY = `${SERIES}&dateFrom=2026-11-10&dateTo=2026-11-13&_days=1`;
const ANEW = { headers: { 'cache-control': 'no-cache' } };

async function gatewayWith(mode: FinalityMode, options: Parameters<typeof withGateway>[0] = {}) {
  const gateway = await withGateway({ config: { finality: { mode } }, ...options });
  const key = await gateway.addTeam();
  await prove(gateway, key);
  return { gateway, key, ...asking(gateway, key) };
}

function asking(gateway: TestGateway, key: string) {
  return {
    async ask(query: string, call = {}) {
      const reply = await gateway.report(key, query, call);
      await gateway.services.settled();
      return reply;
    },
    /** Which of the days are final. */
    async finals(query = QUERY) {
      const { days = [] } = reportIn(await gateway.report(key, query)).meta;
      await gateway.services.settled();
      return days.flatMap(({ date, final }) => (final ? [date] : []));
    },
  };
}

/** Seen when it was nine days old, and changed on the day after. */
async function restateLate(
  gateway: SimulatedGateway,
  ask: (query: string, call?: object) => Promise<unknown>,
) {
  await ask(QUERY, ANEW);
  gateway.clock.advance(DAY);
  gateway.simulator.restate({ advertiserId: 1, from: '2026-11-12', to: '2026-11-12' });
  await ask(QUERY, ANEW);
}

const ALL = ['2026-11-10', '2026-11-11', '2026-11-12', '2026-11-13'];

describe('a day that changed nine days after it was over', () => {
  it('makes days of up to ten days provisional again, at once, where finality is learned', async () => {
    const { gateway, ask, finals } = await gatewayWith('learned');
    expect(await finals()).toEqual(ALL);
    await restateLate(gateway, ask);
    expect(await finals()).toEqual(['2026-11-10', '2026-11-11']);
    // Fresh for an hour, as days that may change.
    gateway.clock.advance(2 * HOUR);
    const calls = gateway.simulator.callCount;
    await ask(QUERY);
    expect(gateway.simulator.callCount).toBe(calls + 1);
  });

  it('says so to other replicas, and after a restart', async () => {
    const { gateway, ask } = await gatewayWith('learned');
    await restateLate(gateway, ask);
    const other = await withGateway({
      ...{ sharedStore: gateway.store, clock: gateway.clock, config: { finality: { mode: 'learned' } } },
    });
    const key = await other.addTeam({ id: 'of-another' });
    expect(await asking(other, key).finals()).toEqual(['2026-11-10', '2026-11-11']);
  });

  it.each(['fixed', 'observe'] as const)('changes nothing where finality.mode is %s', async (mode) => {
    const { gateway, ask, finals } = await gatewayWith(mode);
    await restateLate(gateway, ask);
    expect(await finals()).toEqual(ALL);
    expect(gateway.services.registry.list('finality/')).toHaveLength(mode === 'observe' ? 1 : 0);
  });

  it('is not learned where the platform began to give another column', async () => {
    const { gateway, ask, finals } = await gatewayWith('learned');
    await ask(QUERY, ANEW);
    gateway.clock.advance(DAY);
    gateway.simulator.set({ columnFrom: new Date(gateway.clock.now()).toISOString() });
    await ask(QUERY, ANEW);
    expect(await finals()).toEqual(ALL);
  });
});

it('days of an age at which none was seen to change are fresh for six hours', async () => {
  const { gateway, ask } = await gatewayWith('learned', { switches: { restateDays: 0 } });
  const last = (days: number) => {
    const today = Math.floor(gateway.clock.now() / DAY);
    return `${SERIES}&dateFrom=${isoDay(today - days)}&dateTo=${isoDay(today - 1)}`;
  };
  for (let day = 0; day < 32; day += 1) {
    await ask(last(4));
    gateway.clock.advance(DAY);
  }
  await ask(last(4));
  const calls = gateway.simulator.callCount;
  gateway.clock.advance(5 * HOUR);
  await ask(last(4));
  expect(gateway.simulator.callCount).toBe(calls);
  gateway.clock.advance(2 * HOUR);
  await ask(last(4));
  expect(gateway.simulator.callCount).toBe(calls + 1);
});

it('says at the start that nothing is learned where no history is kept', async () => {
  const gateway = await withGateway({ config: { history: { enabled: false } } });
  expect(gateway.logText).toContain('finality is not learned, for no history is kept');
});

describe('GET /gateway/v1/finality', () => {
  const about = `endpoint=campaigns/get&query=${encodeURIComponent(QUERY)}`;

  it('tells the window in use, the one that was learned, and what was seen at each age', async () => {
    const { gateway, ask } = await gatewayWith('observe');
    const key = await gateway.addTeam({ advertisers: [1], scopes: ['report:read'] });
    await restateLate(gateway, ask);
    for (const named of [about, 'advertiserId=1']) {
      const reply = await gateway.call(`/gateway/v1/finality?${named}`, { key });
      expect(reply.status).toBe(200);
      const { data, meta } = reply.json<{ data: { ages: { ageDays: number }[] }[]; meta: object }>();
      expect(meta).toMatchObject({ mode: 'observe', restatementDays: 5, maxDays: 45 });
      expect(data).toMatchObject([
        { endpoint: 'campaigns/get', advertiserId: 1, split: ['date'], windowDays: 5, learnedDays: 10 },
      ]);
      const ages = data[0]?.ages ?? [];
      // Of one look it is not said that it happens never.
      expect(ages.find(({ ageDays }) => ageDays === 8)).toEqual({
        ...{ ageDays: 8, n: 1, changed: 0, changedPercentAtMost: 95 },
      });
      expect(ages.find(({ ageDays }) => ageDays === 9)).toMatchObject({
        changed: 1,
        changedPercentAtMost: 100,
      });
    }
  });

  it('tells a limited team of its own advertisers alone, and what is amiss with a call', async () => {
    const gateway = await withGateway();
    const key = await gateway.addTeam({ advertisers: [2], scopes: ['report:read'] });
    const outcome = async (query: string) =>
      outcomeOf(await gateway.call(`/gateway/v1/finality?${query}`, { key }));
    expect(await outcome(about)).toBe('403 advertiser_forbidden');
    expect(await outcome('advertiserId=1')).toBe('403 advertiser_forbidden');
    expect(await outcome('advertiserId=2')).toBe('200');
    for (const wrong of ['', 'endpoint=campaigns/get', `${about}&advertiserId=2`, 'advertiserId=%20', 'x=1'])
      expect(await outcome(wrong)).toBe('400 invalid_query');
  });
});

it('meta.expectedChange says by how much days of the age of the youngest one changed until they were final', async () => {
  const { gateway, ask, key } = await gatewayWith('observe', { switches: { restateDays: 3 } });
  const last = (days: number) => {
    const today = Math.floor(gateway.clock.now() / DAY);
    return `${SERIES}&dateFrom=${isoDay(today - days)}&dateTo=${isoDay(today - 1)}`;
  };
  const expectedIn = (reply: Parameters<typeof reportIn>[0]) =>
    (reportIn(reply).meta as { expectedChange?: Record<string, { p50: number; p95: number; n: number }> })
      .expectedChange;
  for (let day = 0; day < 38; day += 1) {
    const reply = await ask(last(7));
    if (day < 30) expect(expectedIn(reply)).toBeUndefined();
    gateway.clock.advance(DAY);
  }
  await ask(last(7));
  gateway.clock.advance(2 * HOUR);
  const expected = expectedIn(await ask(last(7))) ?? {};
  // Of a day that was over yesterday more than nothing is still to come; people are never summed.
  expect(expected.spent?.p50).toBeGreaterThan(0);
  expect(expected.spent?.n).toBeGreaterThanOrEqual(30);
  expect(Object.keys(expected)).not.toContain('reach');
  const settled = expectedIn(await ask(`${SERIES}&dateFrom=2026-12-20&dateTo=2026-12-25`));
  expect(settled?.spent).toMatchObject({ p50: 0, p95: 0 });
  gateway.clock.advance(2 * HOUR);
  const chosen = expectedIn(await ask(`${last(6)}&_fields=date,clicks`)) ?? {};
  expect(Object.keys(chosen)).toEqual(['clicks']);
  // What was measured says the same of each age.
  const measured = await gateway.call('/gateway/v1/truth?advertiserId=1', { key });
  const [truth] = measured.json<{ data: { ages: { ageDays: number; changeUntilFinal?: object }[] }[] }>()
    .data;
  const ages = new Map(truth?.ages.map((age) => [age.ageDays, age.changeUntilFinal]));
  expect(ages.get(1)).toMatchObject({ spent: { p50: expected.spent?.p50, p95: expected.spent?.p95 } });
  expect(ages.get(90)).toBeUndefined();
});
