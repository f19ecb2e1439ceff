/** The platform forgets days older than its retention: they are given from history, and doubted before they are empty. */
import { describe, expect, it } from 'vitest';
import { dayNumber, daysBetween, isoDay } from '../../../src/reports/query/days.js';
import type { Store } from '../../../src/store/port.js';
import { type Handler, sends } from '../../support/raw-platform.js';
import { openScene } from '../../support/scene.js';
import { gatewayAt, type ReportBody, reportIn } from '../../support/start-gateway.js';
import { DAY, HOUR } from '../../support/test-clock.js';
import { ALWAYS, byDay, periodOf, rowsPerDay } from '../fetch/by-day.js';

/** Noon of it is when the clock begins. */
const TODAY = dayNumber('2026-11-21') as number;
const ago = (days: number) => isoDay(TODAY - days);
const span = (from: number, to: number) => byDay(ago(from), ago(to));
const RANGE = span(60, 41);

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

interface ListedDay {
  readonly date: string;
  readonly revisions: readonly { readonly kind: string; readonly rowCount: number }[];
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
    const total = { advertiser_id: 1, spent: daysBetween(from, to).filter(isKept).length };
    if (state.refuses(from, to)) sends('{"message":"refused"}', {}, 422)(request, response);
    else if (!request.url?.includes('byDate')) sends(JSON.stringify({ data: [total] }))(request, response);
    else if (state.beyond !== 'empty' && !isKept(from))
      sends('{"message":"too old"}', {}, state.beyond)(request, response);
    else rowsPerDay((date) => (isKept(date) ? 2 : 0), undefined, { spent: state.spent })(request, response);
  };
  const opened = await openScene(handler, { config: { ...ALWAYS, ...config } });
  const { platform, gateway, key, ask: call } = opened;
  const purge = () => gateway.manage('POST', '/cache/purge', { all: true });
  const ask = async (query: string) => reportIn(await call(query));
  async function revisions(query: string) {
    const asked = `endpoint=campaigns/get&query=${encodeURIComponent(query)}`;
    const reply = await gateway.call(`/gateway/v1/revisions?${asked}`, { key });
    return reply.json<{ data: ListedDay[] }>().data;
  }
  return {
    state,
    platform,
    gateway,
    key,
    call,
    ask,
    purge,
    revisions,
    /** The periods that the platform was asked for meanwhile. */
    async callsOf(work: () => Promise<unknown>) {
      const { length } = platform.requests;
      await work();
      return platform.requests.slice(length).map(periodOf);
    },
    advance(ms: number) {
      gateway.clock.advance(ms);
      state.today = TODAY + Math.floor((gateway.clock.now() - Date.parse('2026-11-21T00:00:00Z')) / DAY);
    },
    async change(to: Partial<Platform>) {
      gateway.clock.advance(1000);
      Object.assign(state, to);
      await purge();
    },
  };
}

/** A range was asked for before the platform changed, and the cache is empty. */
async function changed(to: Partial<Platform>, range = RANGE, config: Readonly<Record<string, unknown>> = {}) {
  const opened = await scene(config);
  const before = await opened.ask(range);
  const listed = await opened.revisions(range);
  await opened.change(to);
  return { ...opened, before, listed };
}

const warned = ({ meta }: ReportBody) =>
  (meta.warnings ?? []).map(({ code, days = [] }) => [code, days[0], days.length]);
/** Of days that came back with rows only the last confirmation is another. */
function expectUnchanged(now: readonly ListedDay[], before: readonly ListedDay[]) {
  const isForgotten = ({ date }: ListedDay) => date < ago(50);
  const unconfirmed = (all: readonly ListedDay[]) =>
    all.map(({ date, revisions }) => ({
      date,
      revisions: revisions.map((one) => ({ ...one, confirmedUntil: null })),
    }));
  expect(now.filter(isForgotten)).toEqual(before.filter(isForgotten));
  expect(unconfirmed(now)).toEqual(unconfirmed(before));
}

const GIVEN = { rowCount: 40, source: 'history' };

describe.each(['empty', 400, 422] as const)('a platform that answers forgotten days with: %s', (beyond) => {
  it('is answered from history, with a warning, and nothing is written down', async () => {
    const { ask, callsOf, revisions, before, listed } = await changed({ retention: 50, beyond });
    expect(before.meta).toMatchObject({ rowCount: 40, final: true });
    const given = await ask(RANGE);
    expect(given.data).toEqual(before.data);
    const { revision, asOf } = before.meta;
    expect(given.meta).toMatchObject({ final: true, source: 'history', revision, asOf });
    expect(warned(given)).toEqual([['beyond_retention', ago(60), 10]]);
    expect(given.meta.warnings?.[0]).toMatchObject({ since: '2026-11-21T12:00:01.000Z' });
    expectUnchanged(await revisions(RANGE), listed);
    expect(await callsOf(async () => expect(await ask(RANGE)).toEqual(given))).toEqual([]);
  });

  it('is asked for them once a day, and never believed', async () => {
    const { ask, callsOf, advance, revisions, listed } = await changed({ retention: 50, beyond });
    await ask(RANGE);
    for (let day = 0; day < 2; day += 1) {
      advance(23 * HOUR);
      expect(await callsOf(() => ask(RANGE))).toEqual([]);
      advance(2 * HOUR);
      const calls = await callsOf(async () =>
        expect((await ask(RANGE)).meta).toMatchObject({ ...GIVEN, final: true }),
      );
      expect(calls).not.toEqual([]);
    }
    const counts = (all: typeof listed) => all.map(({ revisions: each }) => each.length);
    expect(counts(await revisions(RANGE))).toEqual(counts(listed));
  });

  it('is answered from history where all of the range is forgotten', async () => {
    const { ask, change } = await scene();
    const before = await ask(span(60, 55));
    await ask(span(54, 41));
    await change({ retention: 50, beyond });
    const given = await ask(span(60, 55));
    expect(given.data).toEqual(before.data);
    expect(warned(given)).toEqual([['beyond_retention', ago(60), 6]]);
  });
});

describe('days that come back without rows', () => {
  const oneGone = { gone: [ago(50)] };

  it('are given from history by a new gateway with the stored days and an empty cache', async () => {
    const { platform, gateway, revisions, before, listed } = await changed({ retention: 50 });
    const cache: Store['cache'] = {
      read: async (places) => places.map(() => null),
      async write() {},
    };
    const sharedStore = { ...gateway.store, cache };
    const next = await gatewayAt(platform, { config: ALWAYS, sharedStore, clock: gateway.clock });
    const given = reportIn(await next.report(await next.addTeam({ id: 'next' }), RANGE));
    await next.services.settled();
    expect(given.data).toEqual(before.data);
    expect(warned(given)).toEqual([['beyond_retention', ago(60), 10]]);
    expectUnchanged(await revisions(RANGE), listed);
  });

  it('become empty after a second look an hour later, where an older day still has rows', async () => {
    const { ask, advance, revisions } = await changed(oneGone);
    const first = await ask(RANGE);
    expect(warned(first)).toEqual([['beyond_retention', ago(50), 1]]);
    expect(first.meta).toMatchObject({ rowCount: 40, final: true });
    advance(2 * HOUR);
    const second = await ask(RANGE);
    expect(second.meta).toMatchObject({ rowCount: 38, final: true });
    expect(warned(second)).toEqual([]);
    expect(second.meta).not.toHaveProperty('source');
    const [day] = await revisions(span(50, 50));
    expect(day?.revisions.map(({ kind, rowCount }) => `${kind} ${rowCount}`)).toEqual([
      'first 2',
      'changed 0',
    ]);
    advance(20 * DAY);
    expect((await ask(RANGE)).meta).toMatchObject({ rowCount: 38 });
  });

  it('are remembered as doubted across a purge', async () => {
    const { ask, purge, advance } = await changed(oneGone);
    await ask(RANGE);
    advance(HOUR / 2);
    await purge();
    expect((await ask(RANGE)).meta).toMatchObject(GIVEN);
    advance(HOUR);
    await purge();
    expect((await ask(RANGE)).meta).toMatchObject({ rowCount: 38 });
  });

  it('become empty when one day alone is asked for twice, and the day before it still has rows', async () => {
    const { ask, callsOf, advance } = await changed(oneGone);
    expect((await ask(span(50, 50))).meta).toMatchObject({ rowCount: 2, source: 'history' });
    advance(2 * HOUR);
    const calls = await callsOf(async () =>
      expect((await ask(span(50, 50))).meta).toMatchObject({ rowCount: 0, final: true }),
    );
    expect(calls).toEqual([
      [ago(50), ago(50)],
      [ago(51), ago(51)],
    ]);
  });

  it('become empty without another look at an older day once one was seen with rows', async () => {
    const { ask, callsOf, advance } = await changed({ gone: [ago(50), ago(49)] });
    for (const day of [50, 49])
      expect((await ask(span(day, day))).meta).toMatchObject({ rowCount: 2, source: 'history' });
    advance(2 * HOUR);
    await ask(span(50, 50));
    const calls = await callsOf(async () =>
      expect((await ask(span(49, 49))).meta).toMatchObject({ rowCount: 0, final: true }),
    );
    expect(calls).toEqual([[ago(49), ago(49)]]);
  });

  it.each([20, 15])(
    'become empty where they are the oldest of history, and the platform has older ones',
    async (until) => {
      const range = span(20, 10);
      const gone = Array.from({ length: 21 - until }, (_, at) => ago(until + at));
      const { ask, callsOf, advance } = await changed({ gone }, range);
      expect((await ask(range)).meta).toMatchObject({ rowCount: 22, source: 'history' });
      advance(25 * HOUR);
      const calls = await callsOf(async () => {
        const { meta } = await ask(range);
        expect(meta).toMatchObject({ rowCount: 2 * (until - 10) });
        expect(meta).not.toHaveProperty('source');
      });
      expect(calls).toContainEqual([ago(27), ago(21)]);
    },
  );

  it('stay when one forgotten day alone is asked for again and again', async () => {
    const { ask, advance } = await changed({ retention: 50 });
    for (let look = 0; look < 3; look += 1) {
      expect((await ask(span(55, 55))).meta).toMatchObject({ rowCount: 2, source: 'history' });
      advance(26 * HOUR);
    }
  });

  it('get their rows again as soon as the platform has them', async () => {
    const { state, ask, advance, gateway, before } = await changed({ retention: 50 });
    await ask(RANGE);
    const retention = async () => (await gateway.manage('GET', '/status')).retention;
    const since = '2026-11-21T12:00:01.000Z';
    expect(await retention()).toEqual([{ endpoint: 'campaigns/get', days: 50, source: 'learned', since }]);
    state.retention = 400;
    advance(25 * HOUR);
    const again = await ask(RANGE);
    expect([again.data, warned(again), await retention()]).toEqual([before.data, [], []]);
  });

  it('are protected where all days are empty, young ones too, with a warning of its own', async () => {
    const gone = Array.from({ length: 61 }, (_, days) => ago(days));
    const { ask, advance, before } = await changed({ gone }, span(20, 1));
    for (let look = 0; look < 3; look += 1) {
      const given = await ask(span(20, 1));
      expect([given.data, given.meta.final]).toEqual([before.data, false]);
      expect(warned(given)).toEqual([['all_days_empty', ago(20), 20]]);
      advance(25 * HOUR);
    }
  });

  it('are not in totals of the platform, which are left out with a warning', async () => {
    const withTotals = `${RANGE}&_totals=1`;
    const { ask, before } = await changed({ retention: 50 }, withTotals);
    expect(before.meta).toMatchObject({ totals: { spent: 20 } });
    const { meta } = await ask(withTotals);
    expect(meta).toMatchObject({ ...GIVEN, final: true });
    for (const member of ['totals', 'totalsAsOf']) expect(meta).not.toHaveProperty(member);
    expect(meta.warnings?.map(({ code }) => code)).toEqual(['totals_unavailable', 'beyond_retention']);
  });

  it('name their warning in a header of CSV, and are the word of the platform where its own bytes are asked for', async () => {
    const { call, ask, revisions, before, listed } = await changed({ retention: 50 });
    expect((await call(`${RANGE}&_format=csv`)).headers['report-warnings']).toBe('beyond_retention');
    expect((await call(`${span(45, 41)}&_format=csv`)).headers['report-warnings']).toBeUndefined();
    const raw = await call(`${RANGE}&_format=raw`);
    expect(raw.json<{ data: unknown[] }>().data).toHaveLength(20);
    expect((await ask(RANGE)).data).toEqual(before.data);
    expectUnchanged(await revisions(RANGE), listed);
  });

  it('beyond the declared retention are never believed', async () => {
    const declared = { platform: { retentionDays: 50 } };
    const { ask, advance } = await changed({ gone: [ago(55)] }, RANGE, declared);
    await ask(RANGE);
    advance(25 * HOUR);
    expect((await ask(RANGE)).meta).toMatchObject(GIVEN);
  });
});

it('a refusal is passed on where history has nothing, and where the platform refuses young days too', async () => {
  const { call, change } = await changed({ retention: 50, beyond: 400 }, span(59, 41));
  // History lacks one of the days.
  expect((await call(RANGE)).status).toBe(400);
  await change({ retention: 400 });
  expect((await call(span(20, 10))).status).toBe(200);
  await change({ retention: -1 });
  expect((await call(span(20, 10))).status).toBe(400);
});

describe('a refusal that is not about age', () => {
  const wide = span(60, 1);
  const daysOf = (from: string, to: string) => (dayNumber(to) as number) - (dayNumber(from) as number) + 1;
  const oneBadDay: Platform['refuses'] = (from, to) => from <= ago(10) && to >= ago(10);

  it.each<[string, Platform['refuses']]>([
    ['one bad day', oneBadDay],
    ['ranges of 7 days at most', (from, to) => daysOf(from, to) > 7],
    ['ranges of 31 days at most', (from, to) => daysOf(from, to) > 31],
  ])('is passed on, and hides no day that the platform answers: %s', async (_, refuses) => {
    const { gateway, call, callsOf, ask, advance } = await changed({ refuses, spent: 2 }, wide);
    const calls = await callsOf(async () => expect((await call(wide)).status).toBe(422));
    expect(calls.length).toBeLessThanOrEqual(3);
    for (let day = 0; day < 2; day += 1) {
      for (const [from, to] of [
        [60, 54],
        [20, 15],
        [9, 3],
      ] as const) {
        const { data, meta } = await ask(span(from, to));
        expect(data.map(({ spent }) => spent)).toEqual(Array(2 * (from - to + 1)).fill(2));
        expect(meta).not.toHaveProperty('source');
      }
      advance(25 * HOUR);
    }
    expect((await gateway.manage('GET', '/status')).retention).toEqual([]);
    // Nor is it taken for forgetting where the bad day is the oldest of the range.
    if (refuses === oneBadDay) expect((await call(span(10, 1))).status).toBe(422);
    expect((await ask(span(15, 11))).meta).not.toHaveProperty('source');
  });

  it('hides no days that are younger than those that are forgotten', async () => {
    const { call, ask, change } = await changed({ retention: 50, beyond: 422 }, wide);
    expect(warned(await ask(span(60, 20)))).toEqual([['beyond_retention', ago(60), 10]]);
    await change({ refuses: oneBadDay });
    expect((await call(wide)).status).toBe(422);
  });
});

it('a proven edge makes no further calls for what is beyond it', async () => {
  const { ask, purge, callsOf } = await changed({ retention: 50, beyond: 400 }, span(60, 1));
  await ask(span(60, 1));
  await purge();
  const calls = await callsOf(async () =>
    expect((await ask(span(58, 5))).meta).toMatchObject({ rowCount: 108, source: 'history' }),
  );
  expect(calls).toEqual([
    [ago(58), ago(5)],
    [ago(50), ago(5)],
  ]);
});

it('what was given from history is asked for again at once when rows of older days come', async () => {
  const { state, ask, call, advance } = await changed({ retention: 50, beyond: 400 });
  expect((await ask(RANGE)).meta).toMatchObject({ source: 'history' });
  Object.assign(state, { retention: 400, spent: 2 });
  advance(2 * HOUR);
  await call(`${RANGE}&byCampaign=1`);
  const { data, meta } = await ask(RANGE);
  expect(data.map(({ spent }) => spent)).toEqual([...Array(20).fill(2), ...Array(20).fill(1)]);
  expect(meta).not.toHaveProperty('source');
});

it('an operator who knows that the rows are gone accepts it, and then they are empty', async () => {
  const { gateway, ask, revisions } = await changed({ retention: 50 });
  await ask(RANGE);
  const scope = { advertiserId: 1, endpoint: 'campaigns/get', before: ago(55) };
  const accept = (more: object) => gateway.manage('POST', '/history/accept-empty', { ...scope, ...more });
  expect(await accept({ dryRun: true })).toMatchObject({ days: 5, dryRun: true });
  expect(await accept({ dryRun: true, advertiserId: 2 })).toMatchObject({ days: 0 });
  expect(await accept({ dryRun: true, endpoint: 'creatives/get' })).toMatchObject({ days: 0 });
  expect((await ask(RANGE)).meta).toMatchObject({ rowCount: 40 });
  expect(await accept({})).toMatchObject({ days: 5 });
  const given = await ask(RANGE);
  expect(given.meta).toMatchObject({ rowCount: 30, source: 'history' });
  expect(warned(given)).toEqual([['beyond_retention', ago(55), 5]]);
  const last = (await revisions(RANGE)).map(({ revisions: all }) => all.at(-1)?.rowCount);
  expect(last).toEqual([...Array(5).fill(0), ...Array(15).fill(2)]);
  expect(await accept({ dryRun: true })).toMatchObject({ days: 0 });
});
