/** `finality.exploreShare`: a call a month that nobody asked for, so that old days are seen again too. */
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/load.js';
import { prove } from '../support/prove.js';
import { gatewayAt, type TestGateway, withGateway } from '../support/start-gateway.js';
import { DAY, HOUR, MINUTE } from '../support/test-clock.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-03&dateTo=2026-11-05';
const LEARNED = { mode: 'learned', exploreShare: 1 } as const;

/** Proven, in use for a moment, and never checked: what is asked for beside is exploration. */
async function proven(finality: Partial<Config['finality']> = LEARNED) {
  const config = { finality, report: { crossCheckEvery: 0 } };
  const gateway = await withGateway({ config });
  const key = await gateway.addTeam();
  await prove(gateway, key);
  await ask(gateway, key);
  gateway.simulator.clearCalls();
  return { gateway, key, config };
}

async function ask(gateway: TestGateway, key: string, query = QUERY) {
  const reply = await gateway.report(key, query);
  await gateway.services.settled();
  return reply;
}

/** Other calls of the day, which a share is taken of. */
let others = 100;
async function callOthers(gateway: TestGateway, key: string, count: number) {
  for (const last = others + count; others < last; others += 1)
    await ask(gateway, key, `advertiserId=${others}&dateFrom=2026-11-03&dateTo=2026-11-05`);
}

type Simulated = Awaited<ReturnType<typeof proven>>['gateway'];
const explored = ({ simulator }: Simulated) =>
  simulator.calls
    .filter(({ url, query }) => url.includes('byDate=1') && query.dateFrom !== '2026-11-03')
    .map(({ query }) => [query.dateFrom, query.dateTo]);

async function ownCalls({ services }: TestGateway): Promise<number> {
  const text = await services.metrics.registry.getSingleMetricAsString('dsp_gateway_platform_calls_total');
  return [...text.matchAll(/team="gateway"\} (\d+)/g)].reduce((sum, [, count]) => sum + Number(count), 0);
}

describe('a report that is in use', () => {
  it('has its last 90 days asked for once a month, kept and charged to the gateway', async () => {
    const { gateway, key } = await proven();
    const before = await ownCalls(gateway);
    gateway.clock.advance(29 * DAY);
    await callOthers(gateway, key, 1);
    await ask(gateway, key);
    expect(explored(gateway)).toEqual([]);
    gateway.clock.advance(2 * DAY);
    await callOthers(gateway, key, 1);
    for (let times = 0; times < 3; times += 1) {
      await ask(gateway, key);
      gateway.clock.advance(2 * HOUR);
    }
    expect(explored(gateway)).toEqual([['2026-09-23', '2026-12-21']]);
    const metrics = await gateway.services.metrics.registry.metrics();
    expect(metrics).toMatch(/dsp_gateway_explorations_total 1$/m);
    expect((await ownCalls(gateway)) - before).toBe(1);
    const kept = await gateway.report(key, 'advertiserId=1&byDate=1&dateFrom=2026-10-01&dateTo=2026-10-09');
    expect(kept.headers['cache-status']).toContain('hit');
  });

  it('is asked for so by one of two replicas', async () => {
    const { gateway, key, config } = await proven();
    const replica = await gatewayAt(gateway.simulator, {
      ...{ sharedStore: gateway.store, clock: gateway.clock, config },
    });
    gateway.clock.advance(31 * DAY);
    for (const one of [gateway, replica]) await callOthers(one, key, 2);
    await Promise.all([ask(gateway, key), ask(replica, key)]);
    await Promise.all([gateway.services.settled(), replica.services.settled()]);
    expect(explored(gateway)).toHaveLength(1);
  });

  it('waits until the share of the day allows it, and that is never exceeded', async () => {
    const { gateway, key } = await proven({ mode: 'learned', exploreShare: 0.2 });
    gateway.clock.advance(31 * DAY);
    // With the report's own call there are four, of which none may be made beside.
    await callOthers(gateway, key, 3);
    await ask(gateway, key);
    expect(explored(gateway)).toEqual([]);
    // From memory on the next day.
    gateway.clock.advance(DAY);
    await callOthers(gateway, key, 5);
    await ask(gateway, key);
    expect(explored(gateway)).toHaveLength(1);
  });

  it('waits while the platform has asked for a pause', async () => {
    const { gateway, key } = await proven();
    gateway.clock.advance(29 * DAY);
    await gateway.report(key, QUERY, { headers: { 'cache-control': 'no-cache' } });
    await gateway.services.settled();
    gateway.clock.advance(2 * DAY);
    await callOthers(gateway, key, 2);
    gateway.services.pause.hear('600000');
    // From memory: to be asked for so costs it nothing.
    expect((await ask(gateway, key)).headers['cache-status']).toContain('detail=l1');
    expect(explored(gateway)).toEqual([]);
    gateway.clock.advance(2 * HOUR);
    gateway.clock.advanceMonotonic(11 * MINUTE);
    await ask(gateway, key);
    expect(explored(gateway)).toHaveLength(1);
  });

  it.each([
    ['finality is not gone by', { mode: 'observe', exploreShare: 1 }],
    ['the share is 0', { mode: 'learned', exploreShare: 0 }],
  ] as const)('is never asked for so where %s', async (_why, finality) => {
    const { gateway, key } = await proven(finality);
    gateway.clock.advance(31 * DAY);
    await callOthers(gateway, key, 2);
    await ask(gateway, key);
    expect(explored(gateway)).toEqual([]);
  });

  it('that could not be asked for is tried again on the next day', async () => {
    const { gateway, key } = await proven();
    gateway.clock.advance(31 * DAY);
    await callOthers(gateway, key, 2);
    gateway.simulator.fault({ kind: 'status', status: 403, times: 2, path: '/report/' });
    await ask(gateway, key);
    gateway.simulator.clearCalls();
    gateway.clock.advance(2 * HOUR);
    await ask(gateway, key);
    expect(explored(gateway)).toEqual([]);
    gateway.clock.advance(DAY);
    await callOthers(gateway, key, 2);
    await ask(gateway, key);
    expect(explored(gateway)).toHaveLength(1);
  });
});
