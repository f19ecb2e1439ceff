/** What a range costs, and what it is answered with, when some of its days are known. */
import { describe, expect, it } from 'vitest';
import { sends, startRawPlatform } from '../support/raw-platform.js';
import {
  type GatewayOptions,
  gatewayAt,
  outcomeOf,
  REPORT,
  reportIn,
  type SimulatedGateway,
  type TestGateway,
  withGateway,
} from '../support/start-gateway.js';
import { DAY, HOUR, MINUTE } from '../support/test-clock.js';
import { startDayPlatform } from './day-platform.js';
import { shiftDay } from './world.js';

/** The gateway's day; the one six days before is the last final one. */
const TODAY = '2026-11-21';
const day = (ago: number) => shiftDay(TODAY, -ago);
const query = (from: string, to: string) => `advertiserId=1&byDate=1&dateFrom=${from}&dateTo=${to}`;

const reportRules = (rules: Readonly<Record<string, unknown>>, divisible = 'always') => ({
  config: {
    platform: { retry: { attempts: 0 } },
    report: { crossCheckEvery: 0, endpoints: { 'campaigns/get': { divisible, readByPost: true } }, ...rules },
  },
});

/** SplitFrom by day from the first answer on, for that is not what these tests are about. */
async function cutting(rules: Readonly<Record<string, unknown>> = {}, options: GatewayOptions = {}) {
  const gateway = await withGateway({ ...options, ...reportRules(rules) });
  return { gateway, key: await gateway.addTeam() };
}

/** Periods of the platform calls since the last look, as `from/to`, oldest first. */
function callsOf({ simulator }: SimulatedGateway): string[] {
  const periods = simulator.calls.map(({ query: { dateFrom, dateTo } }) => `${dateFrom}/${dateTo}`);
  simulator.clearCalls();
  return periods;
}

const cacheOf = (reply: { readonly headers: Readonly<Record<string, string | undefined>> }) =>
  reply.headers['cache-status']?.replace('dsp-gateway; ', '') ?? '';

/** Three answers whose days overlap, of which both ends differ. */
async function overlap(gateway: TestGateway, key: string, first = 38): Promise<void> {
  for (const ago of [first, first - 1, first - 2]) {
    const reply = await gateway.report(key, query(day(ago), shiftDay(day(ago), 29)));
    expect(cacheOf(reply)).toBe('fwd=miss; stored');
    await gateway.services.settled();
  }
}

/** Thirty days, after which the kind is proven divisible by day. */
async function teach(gateway: TestGateway, key: string, first = 36): Promise<void> {
  await gateway.report(key, query(day(first), shiftDay(day(first), 29)));
  await gateway.services.settled();
  const { policy } = await gateway.services.reporting.explain('campaigns/get', query(day(20), day(10)));
  expect(policy.because).toBe('proven: a day has the same numbers in every period');
}

const truth = (gateway: SimulatedGateway, from: string, to: string, at?: number) =>
  gateway.simulator.truth({ advertiserId: 1, byDate: true, dateFrom: from, dateTo: to }, at);

async function learning(options: Parameters<typeof withGateway>[0] = {}) {
  const gateway = await withGateway({ ...options, ...reportRules({}, 'auto') });
  return { gateway, key: await gateway.addTeam() };
}

describe('after learning', () => {
  it('a 30-day range shifted by a day costs one call for one day, in every format', async () => {
    const { gateway, key } = await learning();
    await teach(gateway, key);
    callsOf(gateway);
    const reply = await gateway.report(key, query(day(35), day(6)));
    expect(callsOf(gateway)).toEqual([`${day(6)}/${day(6)}`]);
    expect(cacheOf(reply)).toBe('fwd=miss; stored; detail="days=1/30"');
    expect(reportIn(reply).data).toEqual(truth(gateway, day(35), day(6)));
    for (const format of ['json', 'csv', 'ndjson']) {
      const again = await gateway.report(key, `${query(day(35), day(6))}&_format=${format}`);
      expect([again.status, callsOf(gateway)]).toEqual([200, []]);
    }
  });

  it('totals of cached days are told as fetched alone, and from the cache the next time', async () => {
    const { gateway, key } = await learning();
    await teach(gateway, key);
    await gateway.report(key, query(day(35), day(6)));
    const told: string[] = [];
    for (let asked = 0; asked < 2; asked += 1)
      told.push(cacheOf(await gateway.report(key, `${query(day(35), day(6))}&_totals=1`)) ?? '');
    expect(told).toEqual(['fwd=miss; stored; detail="days=0/30 totals"', expect.stringMatching(/^hit; /)]);
  });

  it('other advertisers profit, other splits do not', async () => {
    const { gateway, key } = await learning();
    await teach(gateway, key);
    const other = query(day(20), day(10)).replace('advertiserId=1', 'advertiserId=2');
    await gateway.report(key, other);
    callsOf(gateway);
    await gateway.report(key, other.replace(day(10), day(9)));
    expect(callsOf(gateway)).toEqual([`${day(9)}/${day(9)}`]);
    await gateway.report(key, `${query(day(20), day(10))}&byCampaign=1`);
    await gateway.report(key, `${query(day(20), day(9))}&byCampaign=1`);
    expect(callsOf(gateway)).toEqual([`${day(20)}/${day(10)}`, `${day(20)}/${day(9)}`]);
  });
});

describe('pinned in the configuration', () => {
  it('never: not split, whatever was seen', async () => {
    const gateway = await withGateway(reportRules({}, 'never'));
    const key = await gateway.addTeam();
    await overlap(gateway, key);
    callsOf(gateway);
    await gateway.report(key, query(day(35), day(6)));
    expect(callsOf(gateway)).toEqual([`${day(35)}/${day(6)}`]);
  });
});

describe('answers that may not be split never are', () => {
  it.each<[string, object]>([
    ['totals', { shape: 'totals' }],
    ['paging', { shape: 'paged' }],
    ['numbers that depend on the period', { divisible: false }],
  ])('for their %s, learning', async (_what, switches) => {
    const { gateway, key } = await learning({ switches });
    for (const ago of [20, 19, 18, 17, 16, 15]) {
      await gateway.report(key, query(day(ago), shiftDay(day(ago), 9)));
      await gateway.services.settled();
    }
    callsOf(gateway);
    const whole = query(day(14), day(6));
    const rows = reportIn(await gateway.report(key, whole)).data;
    expect(callsOf(gateway)).toEqual([`${day(14)}/${day(6)}`]);
    const raw = (await gateway.report(key, `${whole}&_format=raw`)).json<{
      data: { impressions: number }[];
    }>();
    expect(rows.map(({ impressions }) => impressions)).toEqual(
      raw.data.map(({ impressions }) => impressions),
    );
    expect(callsOf(gateway)).toEqual([]);
  });

  it.each<[string, object]>([
    ['totals', { shape: 'totals' }],
    ['paging', { shape: 'paged' }],
  ])('for their %s, though the configuration says always', async (_what, switches) => {
    const gateway = await withGateway({ ...reportRules({}), switches });
    const key = await gateway.addTeam();
    const reply = await gateway.report(key, query(day(14), day(6)));
    expect(cacheOf(reply)).toBe('fwd=miss; stored');
    callsOf(gateway);
    await gateway.report(key, query(day(14), day(5)));
    expect(callsOf(gateway)).toContain(`${day(14)}/${day(5)}`);
  });

  it.each<[string, object]>([
    ['rows without a day', { campaign_id: 1, impressions: 5 }],
    ['days outside of the period', { date: '2020-01-01', campaign_id: 1, impressions: 5 }],
  ])('for their %s', async (_what, row) => {
    const platform = await startRawPlatform(sends(JSON.stringify({ data: [row] })));
    const gateway = await gatewayAt(platform, reportRules({}));
    const key = await gateway.addTeam();
    const reply = await gateway.report(key, query(day(14), day(6)));
    expect([reply.status, cacheOf(reply)]).toEqual([200, 'fwd=miss; stored']);
    expect(reportIn(reply).meta.rowCount).toBe(1);
    await gateway.report(key, query(day(13), day(7)));
    expect(new URL(platform.requests.at(-1)?.url ?? '', platform.url).searchParams.get('dateFrom')).toBe(
      day(13),
    );
  });
});

describe('a platform that comes to disagree with itself', () => {
  it('is found out by the audit: whole entries for a day, then learning anew', async () => {
    const gateway = await withGateway(reportRules({ crossCheckEvery: 1 }, 'auto'));
    const key = await gateway.addTeam();
    await teach(gateway, key);
    gateway.simulator.set({ divisible: false });
    // Joined from days, and held against the whole behind the answer.
    const joined = await gateway.report(key, query(day(30), day(10)));
    expect(reportIn(joined).data).toEqual(
      truth({ ...gateway, simulator: divisible(gateway) }, day(30), day(10)),
    );
    await gateway.services.settled();
    expect(gateway.logText).toContain('cannot be split by day');
    callsOf(gateway);
    // The very range that was joined from days, and another.
    for (const [from, to] of [
      [30, 10],
      [29, 9],
    ] as const) {
      const whole = await gateway.report(key, query(day(from), day(to)));
      expect([cacheOf(whole), callsOf(gateway)]).toEqual(['fwd=miss; stored', [`${day(from)}/${day(to)}`]]);
      expect(reportIn(whole).data).toEqual(truth(gateway, day(from), day(to)));
    }
    // The platform mends its ways; what was split before stays void.
    gateway.simulator.set({ divisible: true });
    gateway.clock.advance(DAY + MINUTE);
    await teach(gateway, key, 46);
    callsOf(gateway);
    const cut = await gateway.report(key, query(day(45), day(16)));
    expect([cacheOf(cut), callsOf(gateway)]).toEqual([
      'fwd=miss; stored; detail="days=1/30"',
      // Its first join is checked: the whole range instead of the missing day.
      [`${day(45)}/${day(16)}`],
    ]);
    expect(reportIn(cut).data).toEqual(truth(gateway, day(45), day(16)));
  });
});

/** The simulator as it answered before it was switched: what the days in the cache hold. */
function divisible({ simulator }: SimulatedGateway): SimulatedGateway['simulator'] {
  return {
    ...simulator,
    truth: (asked, at) => {
      simulator.set({ divisible: true });
      const rows = simulator.truth(asked, at);
      simulator.set({ divisible: false });
      return rows;
    },
  };
}

describe('parts of an answer', () => {
  it('that succeeded are kept when another fails, and only that one is asked for again', async () => {
    const { gateway, key } = await cutting({ maxDaysPerCall: 3 });
    gateway.simulator.fault({ kind: 'status', status: 500, from: day(10), to: day(10) });
    expect(outcomeOf(await gateway.report(key, query(day(14), day(6))))).toBe('502 upstream_error');
    const first = callsOf(gateway);
    expect(first.toSorted()).toEqual(
      [`${day(14)}/${day(12)}`, `${day(11)}/${day(9)}`, `${day(8)}/${day(6)}`].toSorted(),
    );
    const reply = await gateway.report(key, query(day(14), day(6)));
    expect(callsOf(gateway)).toEqual([`${day(11)}/${day(9)}`]);
    expect(cacheOf(reply)).toBe('fwd=miss; stored; detail="days=3/9"');
    expect(reportIn(reply).data).toEqual(truth(gateway, day(14), day(6)));
  });

  it('are asked for in calls of at most maxDaysPerCall days', async () => {
    const { gateway, key } = await cutting();
    await gateway.report(key, query(day(205), day(6)));
    const lengths = gateway.simulator.calls.map(
      ({ query: { dateFrom, dateTo } }) =>
        (Date.parse(String(dateTo)) - Date.parse(String(dateFrom))) / DAY + 1,
    );
    expect(lengths.toSorted((a, b) => b - a)).toEqual([92, 92, 16]);
  });

  it.each<[number, readonly string[]]>([
    [3, [`${day(14)}/${day(8)}`]],
    [2, [`${day(14)}/${day(13)}`, `${day(9)}/${day(8)}`]],
  ])('with a gap of three known days, mergeGapDays: %s', async (mergeGapDays, expected) => {
    const { gateway, key } = await cutting({ mergeGapDays });
    await gateway.report(key, query(day(12), day(10)));
    callsOf(gateway);
    const reply = await gateway.report(key, query(day(14), day(8)));
    expect(callsOf(gateway).toSorted()).toEqual(expected.toSorted());
    expect(reportIn(reply).data).toEqual(truth(gateway, day(14), day(8)));
  });
});

describe('days that may still change', () => {
  it('are refreshed on full hits too: at once what there is, and today alone behind it', async () => {
    const { gateway, key } = await cutting();
    await gateway.report(key, query(day(9), day(0)));
    callsOf(gateway);
    const startMs = gateway.clock.now();
    gateway.clock.advance(6 * MINUTE);
    const reply = await gateway.report(key, `${query(day(9), day(0))}&_days=1`);
    expect(cacheOf(reply)).toBe('hit; ttl=-60; detail=stale-while-revalidate');
    const { data, meta } = reportIn(reply);
    expect(data).toEqual(truth(gateway, day(9), day(0), startMs));
    expect(meta.stale).toBe(true);
    expect(meta.days?.filter(({ stale }) => stale).map(({ date }) => date)).toEqual([day(0)]);
    await gateway.services.settled();
    expect(callsOf(gateway)).toEqual([`${day(0)}/${day(0)}`]);
    const next = reportIn(await gateway.report(key, `${query(day(9), day(0))}&_days=1`));
    expect(next.meta.stale).toBe(false);
    expect(next.meta.days?.at(-1)?.asOf).toBe(new Date(gateway.clock.now()).toISOString());
    expect(next.meta.asOf).toBe(new Date(startMs).toISOString());
    expect(next.data.at(-1)).toEqual(truth(gateway, day(0), day(0))[0]);
    expect(callsOf(gateway)).toEqual([]);
  });
});

describe('when the platform fails', () => {
  it('old days help out, and the answer says which; when it is well again nobody is given old ones', async () => {
    const { gateway, key } = await cutting();
    const before = reportIn(await gateway.report(key, query(day(9), day(0)))).data;
    gateway.clock.advance(2 * HOUR);
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    const reply = await gateway.report(key, `${query(day(9), day(0))}&_days=1`);
    expect(cacheOf(reply)).toMatch(/^hit; ttl=-\d+; detail=stale-if-error$/);
    expect(reportIn(reply).data).toEqual(before);
    expect(reportIn(reply).meta).toMatchObject({ stale: true, final: false });
    const stale = reportIn(reply)
      .meta.days?.filter((one) => one.stale)
      .map(({ date }) => date);
    expect(stale).toEqual([5, 4, 3, 2, 1, 0].map(day));
    gateway.simulator.clearFaults();
    const next = reportIn(await gateway.report(key, query(day(9), day(0))));
    expect(next.meta.stale).toBe(false);
    expect(next.data).toEqual(truth(gateway, day(9), day(0)));
  });

  it('a day that nothing is known of fails the answer, and days known are as good as before', async () => {
    const { gateway, key } = await cutting();
    await gateway.report(key, query(day(9), day(7)));
    gateway.simulator.fault({ kind: 'status', status: 500, times: 0 });
    expect(outcomeOf(await gateway.report(key, query(day(9), day(6))))).toBe('502 upstream_error');
    const reply = await gateway.report(key, query(day(8), day(7)));
    expect([reply.status, reportIn(reply).meta.stale]).toEqual([200, false]);
  });
});

describe('only-if-cached', () => {
  it('is answered from known days, and otherwise refused without a call', async () => {
    const { gateway, key } = await cutting();
    await gateway.report(key, query(day(9), day(0)));
    callsOf(gateway);
    const headers = { 'cache-control': 'only-if-cached' };
    expect(outcomeOf(await gateway.report(key, query(day(8), day(1)), { headers }))).toBe('200');
    expect(outcomeOf(await gateway.report(key, query(day(10), day(1)), { headers }))).toBe('504 not_cached');
    gateway.clock.advance(6 * MINUTE);
    const stale = await gateway.report(key, query(day(8), day(0)), { headers });
    expect([stale.status, reportIn(stale).meta.stale]).toEqual([200, true]);
    await gateway.services.settled();
    expect(callsOf(gateway)).toEqual([]);
  });
});

describe('the day of the platform', () => {
  /** The clocks of New York go back at 06:00Z of this day, which therefore has 25 hours. */
  const eastern: GatewayOptions & { switches: object } = {
    now: '2026-11-01T03:59:00Z',
    switches: { timezone: 'America/New_York' },
    config: {
      platform: { timezone: 'America/New_York' },
      report: { crossCheckEvery: 0, endpoints: { 'campaigns/get': { divisible: 'always' } } },
    },
  };

  it('begins at its own midnight, also when the clocks change', async () => {
    const gateway = await withGateway(eastern);
    const key = await gateway.addTeam();
    const todayAt = async (iso: string) => {
      gateway.clock.set(iso);
      const { meta } = reportIn(await gateway.report(key, 'advertiserId=1&byDate=1&_period=today'));
      return meta.period?.to;
    };
    expect(await todayAt('2026-11-01T03:59:59Z')).toBe('2026-10-31');
    expect(await todayAt('2026-11-01T04:00:00Z')).toBe('2026-11-01');
    expect(await todayAt('2026-11-02T04:00:00Z')).toBe('2026-11-01');
    expect(await todayAt('2026-11-02T04:59:59Z')).toBe('2026-11-01');
    expect(await todayAt('2026-11-02T05:00:00Z')).toBe('2026-11-02');
  });

  it('decides how long a day is fresh and when it is final, by when it was fetched', async () => {
    const gateway = await withGateway(eastern);
    const key = await gateway.addTeam();
    const period = query('2026-10-24', '2026-10-31');
    const finals = async () => {
      const { meta } = reportIn(await gateway.report(key, `${period}&_days=1`));
      await gateway.services.settled();
      return meta.days?.filter(({ final }) => final).map(({ date }) => date);
    };
    gateway.clock.set('2026-11-01T03:59:00Z');
    expect(await finals()).toEqual(['2026-10-24', '2026-10-25']);
    callsOf(gateway);
    // Yesterday by now, but what is known of it was said while it was today.
    gateway.clock.set('2026-11-01T04:14:00Z');
    expect(await finals()).toEqual(['2026-10-24', '2026-10-25']);
    expect(callsOf(gateway)).toEqual(['2026-10-31/2026-10-31']);
    gateway.clock.set('2026-11-01T05:30:00Z');
    // What was said of the 26th is past its hour, and what is said now is final.
    expect(await finals()).toEqual(['2026-10-24', '2026-10-25', '2026-10-26']);
    expect(callsOf(gateway)).toEqual(['2026-10-26/2026-10-31']);
  });
});

describe('a clock that is set back by days', () => {
  it('makes what was fetched in its future worth nothing, in memory too', async () => {
    const { gateway, key } = await cutting();
    const period = query(day(9), day(0));
    await gateway.report(key, period);
    gateway.clock.advance(2 * DAY);
    await gateway.report(key, period);
    gateway.clock.advance(-2 * DAY);
    const { data, meta } = reportIn(await gateway.report(key, `${period}&_days=1`));
    expect(data).toEqual(truth(gateway, day(9), day(0)));
    expect(reportIn(await gateway.report(key, period)).data).toEqual(data);
    const nowIso = new Date(gateway.clock.now()).toISOString();
    expect(meta.days?.filter(({ asOf }) => asOf > nowIso)).toEqual([]);
  });
});

describe('a report by POST, where that is a read', () => {
  it('is split and shifted like one by GET, and is not mixed with it', async () => {
    const platform = await startDayPlatform();
    const gateway = await gatewayAt(platform, reportRules({}));
    const key = await gateway.addTeam();
    const post = (dateFrom: string, dateTo: string) =>
      gateway.call(REPORT, {
        method: 'POST',
        key,
        json: { advertiserId: 1, byDate: true, dateFrom, dateTo },
      });
    await post(day(20), day(10));
    const reply = await post(day(19), day(9));
    expect(reportIn(reply).meta.rowCount).toBe(11);
    expect(platform.calls.map(({ from, to }) => `${from}/${to}`)).toEqual([
      `${day(20)}/${day(10)}`,
      `${day(9)}/${day(9)}`,
    ]);
    expect(JSON.parse(platform.calls[1]?.body ?? '')).toEqual({
      advertiserId: 1,
      byDate: true,
      dateFrom: day(9),
      dateTo: day(9),
    });
    await gateway.report(key, query(day(19), day(9)));
    expect(platform.calls).toHaveLength(3);
  });
});
