/** The platform forgot days older than its retention, and what it no longer had was kept as empty, and as final. */
import { describe, expect, it } from 'vitest';
import { dayNumber, daysBetween, isoDay } from '../../../src/reports/query/days.js';
import type { Store } from '../../../src/store/port.js';
import { type Handler, sends, startRawPlatform } from '../../support/raw-platform.js';
import { gatewayAt, type ReportBody, reportIn } from '../../support/start-gateway.js';
import { DAY, HOUR } from '../../support/test-clock.js';
import { ALWAYS, byDay, periodOf, rowsPerDay } from '../fetch/by-day.js';

/** Noon of it is when the clock begins. */
const TODAY = dayNumber('2026-11-21') as number;
const ago = (days: number) => isoDay(TODAY - days);
const RANGE = byDay(ago(60), ago(41));

interface Platform {
  /** Days of a greater age have no rows. */
  retention: number;
  /** What it says to a range that begins before. */
  beyond: 'empty' | 400 | 422;
  /** Days without rows. */
  gone: readonly string[];
  today: number;
  /** Whether it refuses a range for another reason than age. */
  refuses: (from: string, to: string) => boolean;
  /** What it counts of each row. */
  spent: number;
}

async function scene(config: Readonly<Record<string, unknown>> = {}) {
  const state: Platform = {
    retention: 400,
    beyond: 'empty',
    gone: [],
    today: TODAY,
    refuses: () => false,
    spent: 1,
  };
  const isKept = (date: string) =>
    state.today - (dayNumber(date) as number) <= state.retention && !state.gone.includes(date);
  const handler: Handler = (request, response) => {
    const [from, to] = periodOf(request);
    if (state.refuses(from, to)) sends(JSON.stringify({ message: 'refused' }), {}, 422)(request, response);
    else if (!request.url?.includes('byDate'))
      sends(
        JSON.stringify({ data: [{ advertiser_id: 1, spent: daysBetween(from, to).filter(isKept).length }] }),
      )(request, response);
    else if (state.beyond !== 'empty' && !isKept(from))
      sends(JSON.stringify({ message: 'too old' }), {}, state.beyond)(request, response);
    else rowsPerDay((date) => (isKept(date) ? 2 : 0), undefined, { spent: state.spent })(request, response);
  };
  const platform = await startRawPlatform(handler);
  const gateway = await gatewayAt(platform, { config: { ...ALWAYS, ...config } });
  const key = await gateway.addTeam();
  const call = async (query: string, headers: Record<string, string> = {}) => {
    const reply = await gateway.report(key, query, { headers });
    await gateway.services.settled();
    return reply;
  };
  const advance = (ms: number) => {
    gateway.clock.advance(ms);
    state.today = TODAY + Math.floor((gateway.clock.now() - Date.parse('2026-11-21T00:00:00Z')) / DAY);
  };
  return {
    ...{ state, platform, gateway, key, call, advance },
    ask: async (query: string, headers?: Record<string, string>) => reportIn(await call(query, headers)),
    purge: () => gateway.manage('POST', '/cache/purge', { all: true }),
    async revisions(query: string) {
      const asked = `endpoint=campaigns/get&query=${encodeURIComponent(query)}`;
      const reply = await gateway.call(`/gateway/v1/revisions?${asked}`, { key });
      return reply.json<{ data: { date: string; revisions: { kind: string; rowCount: number }[] }[] }>().data;
    },
  };
}

const warned = ({ meta }: ReportBody) =>
  (meta.warnings ?? []).map(({ code, days = [] }) => [code, days[0], days.length]);

describe.each(['empty', 400, 422] as const)('a platform that answers forgotten days with: %s', (beyond) => {
  it('is answered from history, with a warning, and nothing is written down', async () => {
    const { state, platform, ask, purge, revisions } = await scene();
    const before = await ask(RANGE);
    const listed = await revisions(RANGE);
    expect(before.meta).toMatchObject({ rowCount: 40, final: true });
    Object.assign(state, { retention: 50, beyond });
    await purge();
    const after = await ask(RANGE);
    expect(after.data).toEqual(before.data);
    expect(after.meta).toMatchObject({
      ...{ final: true, source: 'history', revision: before.meta.revision },
      asOf: before.meta.asOf,
    });
    expect(warned(after)).toEqual([['beyond_retention', ago(60), 10]]);
    expect(after.meta.warnings?.[0]).toMatchObject({ since: '2026-11-21T12:00:00.000Z' });
    expect(await revisions(RANGE)).toEqual(listed);
    const calls = platform.requests.length;
    expect(await ask(RANGE)).toEqual(after);
    expect(platform.requests.slice(calls).map(({ url }) => url)).toEqual([]);
  });

  it('is asked for them once a day, and never believed', async () => {
    const { state, platform, ask, purge, advance, revisions } = await scene();
    await ask(RANGE);
    const listed = await revisions(RANGE);
    Object.assign(state, { retention: 50, beyond });
    await purge();
    await ask(RANGE);
    for (let day = 0; day < 3; day += 1) {
      const calls = platform.requests.length;
      advance(23 * HOUR);
      await ask(RANGE);
      expect(platform.requests.slice(calls).map(({ url }) => url)).toEqual([]);
      advance(2 * HOUR);
      const { meta } = await ask(RANGE);
      expect(platform.requests.length).toBeGreaterThan(calls);
      expect(meta).toMatchObject({ rowCount: 40, final: true, source: 'history' });
    }
    expect((await revisions(RANGE)).map(({ revisions: all }) => all.length)).toEqual(
      listed.map(({ revisions: all }) => all.length),
    );
  });

  it('is answered from history where all of the range is forgotten', async () => {
    const { state, ask, purge } = await scene();
    const old = byDay(ago(60), ago(55));
    const before = await ask(old);
    await ask(byDay(ago(54), ago(41)));
    Object.assign(state, { retention: 50, beyond });
    await purge();
    const after = await ask(old);
    expect(after.data).toEqual(before.data);
    expect(warned(after)).toEqual([['beyond_retention', ago(60), 6]]);
  });
});

describe('days that come back without rows', () => {
  it('are given from history by a new gateway with the old history and an empty cache', async () => {
    const { state, platform, gateway, ask, revisions } = await scene();
    const before = await ask(RANGE);
    const listed = await revisions(RANGE);
    state.retention = 50;
    const next = await gatewayAt(platform, {
      config: ALWAYS,
      sharedStore: { ...gateway.store, cache: emptyCache() },
      clock: gateway.clock,
    });
    const key = await next.addTeam({ id: 'next' });
    const after = reportIn(await next.report(key, RANGE));
    await next.services.settled();
    expect(after.data).toEqual(before.data);
    expect(warned(after)).toEqual([['beyond_retention', ago(60), 10]]);
    expect(await revisions(RANGE)).toEqual(listed);
  });

  it('become empty after a second look an hour later, where an older day still has rows', async () => {
    const { state, ask, purge, advance, revisions } = await scene();
    await ask(RANGE);
    state.gone = [ago(50)];
    await purge();
    const first = await ask(RANGE);
    expect(warned(first)).toEqual([['beyond_retention', ago(50), 1]]);
    expect(first.meta).toMatchObject({ rowCount: 40, final: true });
    advance(2 * HOUR);
    const second = await ask(RANGE);
    expect(second.meta).toMatchObject({ rowCount: 38, final: true });
    expect(warned(second)).toEqual([]);
    expect(second.meta).not.toHaveProperty('source');
    const [day] = await revisions(byDay(ago(50), ago(50)));
    expect(day?.revisions.map(({ kind, rowCount }) => [kind, rowCount])).toEqual([
      ['first', 2],
      ['changed', 0],
    ]);
    advance(20 * DAY);
    expect((await ask(RANGE)).meta).toMatchObject({ rowCount: 38 });
  });

  it('are remembered as doubted across a purge', async () => {
    const { state, ask, purge, advance } = await scene();
    await ask(RANGE);
    state.gone = [ago(50)];
    await purge();
    await ask(RANGE);
    advance(HOUR / 2);
    await purge();
    expect((await ask(RANGE)).meta).toMatchObject({ rowCount: 40, source: 'history' });
    advance(HOUR);
    await purge();
    expect((await ask(RANGE)).meta).toMatchObject({ rowCount: 38 });
  });

  it('become empty when one day alone is asked for twice, and the day before it still has rows', async () => {
    const { state, platform, ask, purge, advance } = await scene();
    await ask(RANGE);
    state.gone = [ago(50)];
    advance(1000);
    await purge();
    const alone = byDay(ago(50), ago(50));
    expect((await ask(alone)).meta).toMatchObject({ rowCount: 2, source: 'history' });
    advance(2 * HOUR);
    const calls = platform.requests.length;
    expect((await ask(alone)).meta).toMatchObject({ rowCount: 0, final: true });
    expect(platform.requests.slice(calls).map(periodOf)).toEqual([
      [ago(50), ago(50)],
      [ago(51), ago(51)],
    ]);
  });

  it.each([20, 15])(
    'become empty where they are the oldest of history, and the platform has older ones',
    async (until) => {
      const { state, platform, ask, purge, advance } = await scene();
      await ask(byDay(ago(20), ago(10)));
      state.gone = Array.from({ length: 21 - until }, (_, at) => ago(until + at));
      await purge();
      const first = await ask(byDay(ago(20), ago(10)));
      expect(first.meta).toMatchObject({ rowCount: 22, source: 'history' });
      advance(25 * HOUR);
      const calls = platform.requests.length;
      const second = await ask(byDay(ago(20), ago(10)));
      expect(second.meta).toMatchObject({ rowCount: 2 * (until - 10) });
      expect(second.meta).not.toHaveProperty('source');
      expect(platform.requests.slice(calls).map(periodOf)).toContainEqual([ago(27), ago(21)]);
    },
  );

  it('stay when one forgotten day alone is asked for again and again', async () => {
    const { state, ask, purge, advance } = await scene();
    await ask(RANGE);
    advance(1000);
    state.retention = 50;
    await purge();
    for (let look = 0; look < 4; look += 1) {
      expect((await ask(byDay(ago(55), ago(55)))).meta).toMatchObject({ rowCount: 2, source: 'history' });
      advance(26 * HOUR);
    }
  });

  it('get their rows again as soon as the platform has them', async () => {
    const { state, ask, purge, advance, gateway } = await scene();
    const before = await ask(RANGE);
    state.retention = 50;
    await purge();
    await ask(RANGE);
    expect((await gateway.manage('GET', '/status')).retention).toEqual([
      { endpoint: 'campaigns/get', days: 50, source: 'learned', since: '2026-11-21T12:00:00.000Z' },
    ]);
    state.retention = 400;
    advance(25 * HOUR);
    const after = await ask(RANGE);
    expect(after.data).toEqual(before.data);
    expect(warned(after)).toEqual([]);
    expect((await gateway.manage('GET', '/status')).retention).toEqual([]);
  });

  it('are protected where all days are empty, young ones too, with a warning of its own', async () => {
    const { state, ask, purge, advance } = await scene();
    const range = byDay(ago(20), ago(1));
    const before = await ask(range);
    state.gone = Array.from({ length: 61 }, (_, days) => ago(days));
    await purge();
    for (let look = 0; look < 3; look += 1) {
      const after = await ask(range);
      expect(after.data).toEqual(before.data);
      expect(warned(after)).toEqual([['all_days_empty', ago(20), 20]]);
      expect(after.meta.final).toBe(false);
      advance(25 * HOUR);
    }
  });

  it('are not in totals of the platform, which are left out with a warning', async () => {
    const { state, ask, purge } = await scene();
    const withTotals = `${RANGE}&_totals=1`;
    expect((await ask(withTotals)).meta).toMatchObject({ totals: { spent: 20 } });
    state.retention = 50;
    await purge();
    const { meta } = await ask(withTotals);
    expect(meta).toMatchObject({ rowCount: 40, final: true, source: 'history' });
    expect(meta).not.toHaveProperty('totals');
    expect(meta).not.toHaveProperty('totalsAsOf');
    expect(meta.warnings?.map(({ code }) => code)).toEqual(['totals_unavailable', 'beyond_retention']);
  });

  it('are the word of the platform where its own bytes are asked for, and history stays as it was', async () => {
    const { state, call, ask, purge, revisions } = await scene();
    const before = await ask(RANGE);
    const listed = await revisions(RANGE);
    state.retention = 50;
    await purge();
    const raw = await call(`${RANGE}&_format=raw`);
    expect(raw.json<{ data: unknown[] }>().data).toHaveLength(20);
    expect((await ask(RANGE)).data).toEqual(before.data);
    expect(await revisions(RANGE)).toEqual(listed);
  });

  it('name their warning in a header of CSV and NDJSON', async () => {
    const { state, call, ask, purge } = await scene();
    await ask(RANGE);
    state.retention = 50;
    await purge();
    for (const format of ['csv', 'ndjson'])
      expect((await call(`${RANGE}&_format=${format}`)).headers['report-warnings']).toBe('beyond_retention');
    expect((await call(`${byDay(ago(45), ago(41))}&_format=csv`)).headers).not.toHaveProperty(
      'report-warnings',
    );
  });

  it('beyond the declared retention are never believed', async () => {
    const { state, ask, purge, advance } = await scene({ platform: { retentionDays: 50 } });
    await ask(RANGE);
    state.gone = [ago(55)];
    await purge();
    await ask(RANGE);
    advance(25 * HOUR);
    expect((await ask(RANGE)).meta).toMatchObject({ rowCount: 40, source: 'history' });
  });
});

it('a refusal is passed on where history has nothing, and where the platform refuses young days too', async () => {
  const { state, call, purge } = await scene();
  Object.assign(state, { retention: 50, beyond: 400 });
  expect((await call(RANGE)).status).toBe(400);
  state.retention = 400;
  const young = byDay(ago(20), ago(10));
  expect((await call(young)).status).toBe(200);
  await purge();
  state.retention = -1;
  expect((await call(young)).status).toBe(400);
});

it('a range is refused where history lacks one of the days that the platform no longer answers', async () => {
  const { state, call, ask, purge } = await scene();
  await ask(byDay(ago(59), ago(41)));
  Object.assign(state, { retention: 50, beyond: 422 });
  await purge();
  expect((await call(RANGE)).status).toBe(422);
});

describe('a refusal that is not about age', () => {
  const wide = byDay(ago(60), ago(1));
  const daysOf = (from: string, to: string) => (dayNumber(to) as number) - (dayNumber(from) as number) + 1;
  const reasons: [string, Platform['refuses']][] = [
    ['one bad day', (from, to) => from <= ago(10) && to >= ago(10)],
    ['ranges of 7 days at most', (from, to) => daysOf(from, to) > 7],
    ['ranges of 31 days at most', (from, to) => daysOf(from, to) > 31],
  ];

  it.each(reasons)('is passed on, and hides no day that the platform answers: %s', async (_, refuses) => {
    const { state, gateway, platform, call, ask, purge, advance } = await scene();
    await ask(wide);
    Object.assign(state, { refuses, spent: 2 });
    await purge();
    const calls = platform.requests.length;
    expect((await call(wide)).status).toBe(422);
    expect(platform.requests.length - calls).toBeLessThanOrEqual(3);
    for (let day = 0; day < 2; day += 1) {
      for (const [from, to] of [
        [60, 54],
        [20, 15],
        [9, 3],
      ] as const) {
        const { data, meta } = await ask(byDay(ago(from), ago(to)));
        expect(data.map(({ spent }) => spent)).toEqual(Array(2 * (from - to + 1)).fill(2));
        expect(meta).not.toHaveProperty('source');
      }
      advance(25 * HOUR);
    }
    expect((await gateway.manage('GET', '/status')).retention).toEqual([]);
  });

  it('is told from forgetting where the bad day is the oldest of the range', async () => {
    const { state, call, ask, purge, advance } = await scene();
    await ask(wide);
    Object.assign(state, { refuses: reasons[0]?.[1], spent: 2 });
    await purge();
    expect((await call(byDay(ago(10), ago(1)))).status).toBe(422);
    advance(25 * HOUR);
    expect((await call(byDay(ago(11), ago(1)))).status).toBe(422);
    expect((await ask(byDay(ago(20), ago(11)))).meta).not.toHaveProperty('source');
  });

  it('hides no days that are younger than those that are forgotten', async () => {
    const { state, call, ask, purge } = await scene();
    await ask(wide);
    Object.assign(state, { retention: 50, beyond: 422 });
    await purge();
    expect(warned(await ask(byDay(ago(60), ago(20))))).toEqual([['beyond_retention', ago(60), 10]]);
    state.refuses = (from, to) => from <= ago(10) && to >= ago(10);
    await purge();
    expect((await call(wide)).status).toBe(422);
  });
});

it('a proven edge makes no further calls for what is beyond it', async () => {
  const { state, platform, ask, purge } = await scene();
  await ask(byDay(ago(60), ago(1)));
  Object.assign(state, { retention: 50, beyond: 400 });
  await purge();
  await ask(byDay(ago(60), ago(1)));
  await purge();
  const calls = platform.requests.length;
  expect((await ask(byDay(ago(58), ago(5)))).meta).toMatchObject({ rowCount: 108, source: 'history' });
  expect(platform.requests.slice(calls).map(periodOf)).toEqual([
    [ago(58), ago(5)],
    [ago(50), ago(5)],
  ]);
});

it('what was given from history is asked for again at once when rows of older days come', async () => {
  const { state, gateway, key, ask, purge, advance } = await scene();
  await ask(RANGE);
  Object.assign(state, { retention: 50, beyond: 400 });
  await purge();
  expect((await ask(RANGE)).meta).toMatchObject({ source: 'history' });
  Object.assign(state, { retention: 400, spent: 2 });
  advance(2 * HOUR);
  await gateway.report(key, `${RANGE}&byCampaign=1`);
  await gateway.services.settled();
  const { data, meta } = await ask(RANGE);
  expect(data.map(({ spent }) => spent)).toEqual([...Array(20).fill(2), ...Array(20).fill(1)]);
  expect(meta).not.toHaveProperty('source');
});

it('an operator who knows that the rows are gone accepts it, and then they are empty', async () => {
  const { state, gateway, ask, purge, revisions } = await scene();
  await ask(RANGE);
  state.retention = 50;
  await purge();
  await ask(RANGE);
  const scope = { advertiserId: 1, endpoint: 'campaigns/get', before: ago(55) };
  const accept = (more: object) => gateway.manage('POST', '/history/accept-empty', { ...scope, ...more });
  expect(await accept({ dryRun: true })).toMatchObject({ days: 5, dryRun: true });
  expect(await accept({ dryRun: true, advertiserId: 2 })).toMatchObject({ days: 0 });
  expect(await accept({ dryRun: true, endpoint: 'creatives/get' })).toMatchObject({ days: 0 });
  expect((await ask(RANGE)).meta).toMatchObject({ rowCount: 40 });
  expect(await accept({})).toMatchObject({ days: 5 });
  const after = await ask(RANGE);
  expect(after.meta).toMatchObject({ rowCount: 30, source: 'history' });
  expect(warned(after)).toEqual([['beyond_retention', ago(55), 5]]);
  expect((await revisions(RANGE)).map(({ revisions: all }) => all.at(-1)?.rowCount)).toEqual([
    ...Array.from({ length: 5 }, () => 0),
    ...Array.from({ length: 15 }, () => 2),
  ]);
  expect(await accept({ dryRun: true })).toMatchObject({ days: 0 });
});

/** Holds nothing, and keeps nothing. */
function emptyCache(): Store['cache'] {
  return {
    read: async (places) => places.map(() => null),
    async write() {},
    async remove() {},
  };
}
