/** `/gateway/v1/watches`: reports that the gateway reads by itself. */
import { describe, expect, it } from 'vitest';
import { dayNumber, isoDay } from '../../src/reports/query/days.js';
import { prove, stateOf } from '../support/prove.js';
import {
  outcomeOf,
  type Reply,
  reportIn,
  startGateway,
  type TestGateway,
  type withGateway,
  withTeam,
} from '../support/start-gateway.js';
import { DAY, HOUR, MINUTE } from '../support/test-clock.js';

const WATCHES = '/gateway/v1/watches';
const WEEK_AND_MORE = 'advertiserId=1&byDate=1&_period=last_30_days';
const FIXED = 'advertiserId=1&byDate=1&dateFrom=2026-11-10&dateTo=2026-11-20';
const SCOPES = ['report:read', 'report:watch', 'cache:refresh'];

interface Shown {
  readonly id: string;
  readonly query: string;
  readonly maxAgeDays: number;
  readonly state: string;
  readonly reason: string | null;
  readonly period: { readonly from: string; readonly to: string } | null;
  readonly callsPerDay: number;
  readonly days: number;
  readonly readAt: string | null;
  readonly nextReadAt: string | null;
  readonly failed: { readonly at: string; readonly message: string } | null;
}

/** What the leader does each second. */
const look = async (gateway: TestGateway) => {
  await gateway.services.reporting.led['reads of watches'](() => false);
  await gateway.services.settled();
};

async function scene(options: Parameters<typeof withGateway>[0] = {}, isProven = true) {
  const { gateway, key } = await withTeam(options, { id: 'watcher', scopes: SCOPES });
  if (isProven) await prove(gateway, key);
  const put = (query = WEEK_AND_MORE, more: object = {}, path = 'w', asking = key) =>
    gateway.call(`${WATCHES}/${path}`, {
      method: 'PUT',
      key: asking,
      json: { endpoint: 'campaigns/get', query, ...more },
    });
  const get = async (id = 'w') => shown(await gateway.call(`${WATCHES}/${id}`, { key }));
  /** Ranges of the platform calls since the last time, by day: `from/to`. */
  const calls = () => {
    const ranges = gateway.simulator.calls.map(({ query }) => {
      const asked = new URLSearchParams(query);
      return `${asked.get('dateFrom')}/${asked.get('dateTo')}`;
    });
    gateway.simulator.clearCalls();
    return ranges;
  };
  gateway.simulator.clearCalls();
  return { gateway, key, put, get, calls };
}

function shown(reply: Reply): Shown {
  expect(reply.status, reply.text).toBeLessThan(300);
  return reply.json<Shown>();
}

describe('a watch', () => {
  it('is put, shown, listed, replaced and deleted', async () => {
    const { gateway, key, put, get } = await scene();
    expect((await put()).status).toBe(201);
    expect(await get()).toMatchObject({ id: 'w', query: WEEK_AND_MORE, maxAgeDays: 45, state: 'watching', reason: null });
    expect((await put(FIXED, { maxAgeDays: 20 })).status).toBe(200);
    expect(await get()).toMatchObject({ query: FIXED, maxAgeDays: 20, period: { from: '2026-11-10', to: '2026-11-20' } });
    await put(WEEK_AND_MORE, {}, 'a');
    const list = (await gateway.call(WATCHES, { key })).json<{ data: Shown[]; meta: object }>();
    expect(list.data.map(({ id }) => id)).toEqual(['a', 'w']);
    expect(list.meta).toEqual({ count: 2, maxCount: 100 });
    const gone = await gateway.call(`${WATCHES}/w`, { method: 'DELETE', key });
    expect([gone.status, gone.text]).toEqual([204, '']);
    expect(outcomeOf(await gateway.call(`${WATCHES}/w`, { method: 'DELETE', key }))).toBe('404 not_found');
    expect(outcomeOf(await gateway.call(`${WATCHES}/w`, { key }))).toBe('404 not_found');
  });
});
