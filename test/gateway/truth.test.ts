/** `GET /gateway/v1/truth`: what came of days that were asked for again. */
import { describe, expect, it } from 'vitest';
import { prove } from '../support/prove.js';
import { outcomeOf, type TestGateway, withGateway } from '../support/start-gateway.js';
import { DAY } from '../support/test-clock.js';

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-03&dateTo=2026-11-05';
const ABOUT = `endpoint=campaigns/get&query=${encodeURIComponent(QUERY)}`;

interface Age {
  readonly ageDays: number;
  readonly n: number;
  readonly same: number;
  readonly differsSince: number;
  readonly restated: number;
  readonly wrong: number;
  readonly wrongPercentAtMost: number;
  readonly failed: number;
}

/** Proven, and each join is checked. */
async function proven(options: Parameters<typeof withGateway>[0] = {}) {
  const gateway = await withGateway({ config: { report: { crossCheckEvery: 1 } }, ...options });
  const key = await gateway.addTeam();
  await prove(gateway, key);
  // So that no other day that was asked for is as old.
  gateway.clock.advance(30 * DAY);
  let asked = 0;
  return {
    gateway,
    key,
    /** Joined anew each time: a finished body is given as it is. */
    async ask() {
      asked += 1;
      const reply = await gateway.report(
        key,
        `${QUERY}${asked % 2 ? '&_days=1' : ''}&_fields=date,clicks,spent`,
      );
      await gateway.services.settled();
      return reply;
    },
    /** Of the days of the 3rd to the 5th that were asked for again today. */
    async ages(named = ABOUT) {
      const { data, meta } = await truthOf(gateway, key, named);
      expect(meta.basis).toContain('None is drawn by chance');
      return Object.fromEntries((data[0]?.ages ?? []).map((age) => [age.ageDays, age]));
    },
  };
}

async function truthOf(gateway: TestGateway, key: string, named: string) {
  const reply = await gateway.call(`/gateway/v1/truth?${named}`, { key });
  expect(reply.status).toBe(200);
  return reply.json<{ data: { ages: Age[] }[]; meta: { basis: string; notMeasured?: string } }>();
}

async function metricOf({ services }: TestGateway, verdict: string): Promise<number> {
  const text = await services.metrics.registry.getSingleMetricAsString('dsp_gateway_truth_days_total');
  return Number(text.match(new RegExp(`verdict="${verdict}"\\} (\\d+)`))?.[1] ?? 0);
}

describe('a day that was asked for again', () => {
  it('and said the same counts so, and never as 0 % wrong', async () => {
    const { gateway, ask, ages } = await proven();
    await ask();
    for (const named of [ABOUT, 'advertiserId=1'])
      expect((await ages(named))['47']).toEqual({
        ...{ ageDays: 47, n: 1, same: 1, differsSince: 0, restated: 0, wrong: 0 },
        ...{ wrongPercentAtMost: 95, failed: 0 },
      });
    expect(await metricOf(gateway, 'same')).toBeGreaterThan(0);
  });

  it('and had changed after it was seen twice was restated', async () => {
    const { gateway, ask, ages } = await proven();
    await ask();
    gateway.clock.advance(7 * DAY);
    gateway.simulator.restate({ advertiserId: 1, from: '2026-11-04', to: '2026-11-04' });
    await ask();
    expect((await ages())['54']).toMatchObject({ n: 1, restated: 1, differsSince: 0, wrong: 0 });
    expect(await metricOf(gateway, 'wrong')).toBe(0);
  });

  it('and depends on the range asked for was served wrong: one line in the log, at error level', async () => {
    const { gateway, ask, ages } = await proven();
    gateway.simulator.set({ divisible: false });
    await ask();
    const wrong = Object.values(await ages()).filter((age) => age.wrong > 0);
    expect(wrong.length).toBeGreaterThan(0);
    for (const age of wrong) expect(age.wrongPercentAtMost).toBe(100);
    expect(await metricOf(gateway, 'wrong')).toBeGreaterThan(0);
    const lines = gateway.log.filter(({ msg }) => msg.includes('days were served wrong'));
    expect(lines).toMatchObject([{ level: 'error', endpoint: 'campaigns/get', advertiserId: '1' }]);
  });

  it('and could not be asked for is shown as failed, not as looked at', async () => {
    const { gateway, ask, ages } = await proven();
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0, path: '/report/' });
    await ask();
    expect((await ages())['47']).toMatchObject({ n: 0, failed: 1 });
  });

  it('is shown by every replica, and after a restart', async () => {
    const { gateway, ask } = await proven();
    await ask();
    const other = await withGateway({ sharedStore: gateway.store, clock: gateway.clock });
    const key = await other.addTeam({ id: 'of-another' });
    const { data } = await truthOf(other, key, 'advertiserId=1');
    expect(data[0]?.ages.find(({ ageDays }) => ageDays === 47)).toMatchObject({ n: 1, same: 1 });
  });
});

it('tells a limited team of its own advertisers alone, and what is amiss with a call', async () => {
  const gateway = await withGateway({ config: { history: { enabled: false } } });
  const key = await gateway.addTeam({ advertisers: [2], scopes: ['report:read'] });
  const outcome = async (query: string) =>
    outcomeOf(await gateway.call(`/gateway/v1/truth?${query}`, { key }));
  expect(await outcome(ABOUT)).toBe('403 advertiser_forbidden');
  expect(await outcome('advertiserId=1')).toBe('403 advertiser_forbidden');
  for (const wrong of ['', 'endpoint=campaigns/get', `${ABOUT}&advertiserId=2`, 'x=1'])
    expect(await outcome(wrong)).toBe('400 invalid_query');
  expect(await truthOf(gateway, key, 'advertiserId=2')).toMatchObject({
    ...{ data: [], meta: { notMeasured: 'history.enabled is false.' } },
  });
});
