/** `finality.mode`: when a day is final, learned from what days did before it. */
import { describe, expect, it } from 'vitest';
import type { FinalityMode } from '../../src/reports/learn/windows.js';
import { isoDay } from '../../src/reports/query/days.js';
import { prove } from '../support/prove.js';
import { sharedGateway } from '../support/scene.js';
import {
  ADMIN_TOKEN,
  gatewayAt,
  outcomeOf,
  reportIn,
  type SimulatedGateway,
  type TestGateway,
  withGateway,
  withTeam,
} from '../support/start-gateway.js';
import { DAY, HOUR } from '../support/test-clock.js';

const SERIES = 'advertiserId=1&byDate=1';
const FOUR_DAYS = `${SERIES}&dateFrom=2026-11-10&dateTo=2026-11-13&_days=1`;
const ANEW = { headers: { 'cache-control': 'no-cache' } };

async function gatewayWith(mode: FinalityMode, options: Parameters<typeof withGateway>[0] = {}) {
  const { gateway, key } = await withTeam({ config: { finality: { mode } }, ...options });
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
    async finals(query = FOUR_DAYS) {
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
  await ask(FOUR_DAYS, ANEW);
  gateway.clock.advance(DAY);
  gateway.simulator.restate({ advertiserId: 1, from: '2026-11-12', to: '2026-11-12' });
  await ask(FOUR_DAYS, ANEW);
}

const ALL = ['2026-11-10', '2026-11-11', '2026-11-12', '2026-11-13'];

describe('a day that changed nine days after it was over', () => {
  it('makes days of up to ten days provisional again, at once and on other replicas, where finality is learned', async () => {
    const { gateway, ask, finals } = await gatewayWith('learned');
    expect(await finals()).toEqual(ALL);
    await restateLate(gateway, ask);
    expect(await finals()).toEqual(['2026-11-10', '2026-11-11']);
    const other = await withGateway({
      sharedStore: gateway.store,
      clock: gateway.clock,
      config: { finality: { mode: 'learned' } },
    });
    const key = await other.addTeam({ id: 'of-another' });
    expect(await asking(other, key).finals()).toEqual(['2026-11-10', '2026-11-11']);
    // Fresh for an hour, as days that may change.
    gateway.clock.advance(2 * HOUR);
    const calls = gateway.simulator.callCount;
    await ask(FOUR_DAYS);
    expect(gateway.simulator.callCount).toBe(calls + 1);
  });

  it('changes nothing where finality.mode is fixed', async () => {
    const { gateway, ask, finals } = await gatewayWith('fixed');
    await restateLate(gateway, ask);
    expect(await finals()).toEqual(ALL);
    expect(gateway.services.registry.list('finality/')).toEqual([]);
  });
});

async function agesOf(gateway: TestGateway, key: string) {
  const { data } = (await gateway.call('/gateway/v1/finality?advertiserId=1', { key })).json<{
    data: { windowDays: number; ages: { ageDays: number; n: number }[] }[];
  }>();
  return { windowDays: data[0]?.windowDays, ages: data[0]?.ages ?? [] };
}

it('days of a report with a further parameter are not counted, but a late change of them makes days provisional again', async () => {
  const { gateway, ask, key } = await gatewayWith('learned');
  await ask(FOUR_DAYS, ANEW);
  gateway.clock.advance(DAY);
  await ask(FOUR_DAYS, ANEW);
  const before = await agesOf(gateway, key);
  expect([before.windowDays, before.ages.length]).toEqual([5, expect.any(Number)]);
  const further = (query: string, call?: object) => ask(`${query}&spentBased=usd`, call);
  await further(FOUR_DAYS);
  await restateLate(gateway, further);
  expect(await agesOf(gateway, key)).toEqual({ windowDays: 11, ages: before.ages });
});

it('a look at a day counts once, whichever of two replicas makes it, and however often', async () => {
  const { gateway, ask, key } = await gatewayWith('observe');
  const replica = await gatewayAt(gateway.simulator, {
    sharedStore: gateway.store,
    clock: gateway.clock,
    config: { finality: { mode: 'observe' } },
  });
  const other = asking(replica, await replica.addTeam({ id: 'of-another' }));
  const query = `${SERIES}&dateFrom=2026-10-01&dateTo=2026-10-04`;
  for (let day = 0; day < 3; day += 1) {
    await Promise.all([ask(query, ANEW), other.ask(query, ANEW)]);
    await ask(query, ANEW);
    gateway.clock.advance(DAY);
  }
  const counts = new Map((await agesOf(replica, key)).ages.map(({ ageDays, n }) => [ageDays, n]));
  // From 48 to 51 days old on the first day; what was seen on the last one was not seen again.
  expect([47, 48, 49, 50, 51, 52, 53].map((age) => counts.get(age))).toEqual([
    ...[undefined, 1, 2, 2, 2, 1, undefined],
  ]);
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

it('GET /gateway/v1/finality tells the window in use, the one that was learned, and what was seen at each age', async () => {
  const { gateway, ask, finals } = await gatewayWith('observe');
  const key = await gateway.addTeam({ advertisers: [1], scopes: ['report:read'] });
  await restateLate(gateway, ask);
  expect(await finals()).toEqual(ALL);
  expect(gateway.services.registry.list('finality/')).toHaveLength(1);
  for (const named of [`endpoint=campaigns/get&query=${encodeURIComponent(FOUR_DAYS)}`, 'advertiserId=1']) {
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
      ageDays: 8,
      n: 1,
      changed: 0,
      changedPercentAtMost: 100,
    });
    expect(ages.find(({ ageDays }) => ageDays === 9)).toMatchObject({
      changed: 1,
      changedPercentAtMost: 100,
    });
  }
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

const QUERY = 'advertiserId=1&byDate=1&dateFrom=2026-11-03&dateTo=2026-11-05';
async function ask(gateway: TestGateway, key: string, query = QUERY) {
  const reply = await gateway.report(key, query);
  await gateway.services.settled();
  return reply;
}

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
  const { gateway, key } = await withTeam({ config: { report: { crossCheckEvery: 1 } }, ...options });
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
      expect(meta.basis).toContain('They are no random sample');
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
  it('and said the same counts so, never as 0 % wrong, and as restated when it changed later', async () => {
    const { gateway, ask, ages } = await proven();
    await ask();
    for (const named of [ABOUT, 'advertiserId=1'])
      expect((await ages(named))['47']).toEqual({
        ageDays: 47,
        n: 1,
        same: 1,
        differsSince: 0,
        restated: 0,
        wrong: 0,
        wrongPercentAtMost: 100,
        failed: 0,
      });
    expect(await metricOf(gateway, 'same')).toBeGreaterThan(0);
    // What changed after it was seen twice was restated.
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
    const lines = gateway.log.filter(({ msg }) => msg.includes('served incorrect days'));
    expect(lines).toMatchObject([{ level: 'error', endpoint: 'campaigns/get', advertiserId: '1' }]);
  });

  it('and could not be asked for is shown as failed, not as looked at', async () => {
    const { gateway, ask, ages } = await proven();
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0, path: '/report/' });
    await ask();
    expect((await ages())['47']).toMatchObject({ n: 0, failed: 1 });
  });
});

async function refusal(gateway: TestGateway, path: string) {
  const { payload, statusCode } = await gateway.admin.inject({
    method: 'GET',
    url: `/admin/v1/${path}`,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  const { code, errors = [] } = JSON.parse(payload) as { code: string; errors?: { param: string }[] };
  return [statusCode, code, ...errors.map(({ param }) => param)];
}

const shared = sharedGateway({
  config: {
    history: { enabled: false },
    report: { endpoints: { 'creatives/get': { divisible: 'never' } } },
  },
});

describe.each(['finality', 'truth'])('%s', (of) => {
  it('tells a limited team of its own advertisers alone', async () => {
    const key = await shared().addTeam({ id: of, advertisers: [2], scopes: ['report:read'] });
    const call = (query: string) => shared().call(`/gateway/v1/${of}?${query}`, { key });
    expect(outcomeOf(await call(ABOUT))).toBe('403 advertiser_forbidden');
    expect(outcomeOf(await call('advertiserId=1'))).toBe('403 advertiser_forbidden');
    expect(outcomeOf(await call(`${ABOUT}&advertiserId=2`))).toBe('400 invalid_query');
    const own = (await call('advertiserId=2')).json();
    expect(own).toMatchObject({ data: [] });
    if (of === 'truth') expect(own).toMatchObject({ meta: { notMeasured: 'history.enabled is false.' } });
  });

  it.each([
    ['', 'endpoint'],
    ['x=1', 'x'],
    ['endpoint=campaigns/get', 'query'],
    [`${ABOUT}&advertiserId=1`, 'advertiserId'],
    ['advertiserId=x%2Fy', 'advertiserId'],
    ['advertiserId=%20', 'advertiserId'],
    ['advertiserId=1&advertiserId=2', 'advertiserId'],
    ['endpoint=../x&query=advertiserId%3D1', 'endpoint'],
    ['endpoint=campaigns/get&query=dateFrom%3D2026-02-30', 'dateFrom'],
  ])('refuses %j by the name of what is wrong', async (asked, param) => {
    expect(await refusal(shared(), `${of}?${asked}`)).toEqual([400, 'invalid_query', param]);
  });
});

it('divisibility is none of endpoints whose configuration says it', async () => {
  expect(await shared().manage('GET', '/divisibility')).toMatchObject({
    kinds: [],
    pinned: [{ endpoint: 'creatives/get', divisible: 'never' }],
  });
});

it('divisibility is told by kind, with the endpoint and split it is about, its state in words, and when it was proven; finality and truth are what a team is told, for whatever advertiser', async () => {
  const { gateway, key } = await withTeam();
  await prove(gateway, key);
  const { kinds, pinned } = await gateway.manage('GET', '/divisibility');
  expect(kinds).toEqual([
    {
      id: expect.any(String),
      endpoint: 'campaigns/get',
      split: ['date'],
      spentBased: null,
      passedOn: [],
      state: 'proven',
      inWords: expect.stringMatching(/^Cached by day\. A period of 28 days /),
      proof: {
        at: expect.stringMatching(/^2026-11-21/),
        from: '2026-10-16',
        to: '2026-11-12',
        calls: 6,
        found: expect.any(String),
      },
      tryAgainAt: null,
      provenAt: expect.stringMatching(/^2026-11-/),
      refutedUntil: null,
      wholeUntil: null,
      restatements: 0,
      oldestRestatementDays: 0,
    },
  ]);
  expect(pinned).toEqual([]);
  await ask(gateway, key);
  gateway.clock.advance(8 * DAY);
  await gateway.report(key, QUERY, { headers: { 'cache-control': 'no-cache' } });
  await gateway.services.settled();
  for (const of of ['finality', 'truth']) {
    for (const about of [ABOUT, 'advertiserId=1']) {
      const own = (await gateway.call(`/gateway/v1/${of}?${about}`, { key })).json();
      expect(await gateway.manage('GET', `/${of}?${about}`)).toEqual(own);
    }
    const { data } = (await gateway.manage('GET', `/${of}?${ABOUT}`)) as { data: object[] };
    expect(data).toMatchObject([{ endpoint: 'campaigns/get', advertiserId: 1, split: ['date'] }]);
    // At once, by the advertiser alone too: before it is written down for other replicas.
    expect((await gateway.manage('GET', `/${of}?advertiserId=1`)).data).toEqual(data);
  }
});
