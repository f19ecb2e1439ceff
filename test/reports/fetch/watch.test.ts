/** The watch over proven kinds: platforms whose numbers depend on the period in ways that a proof does not show. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isoDay } from '../../../src/reports/query/days.js';
import { stateOf } from '../../support/prove.js';
import { openScene } from '../../support/scene.js';
import { gatewayAt, reportIn } from '../../support/start-gateway.js';
import { DAY, HOUR, MINUTE } from '../../support/test-clock.js';
import {
  type Answering,
  answering,
  countingInside,
  invoicedByMonth,
  largeAccountSampled,
  lowerOnTheLastDay,
  type Period,
  plain,
  recentByAnotherPath,
  rolledUpByWeek,
  sampledWhenLong,
} from '../learn/range-dependent.js';
import { byDay, periodOf } from './by-day.js';

/** Without comparisons of single joins, which may hide what the others miss. */
const RARELY = { report: { crossCheckEvery: 1_000_000 } };
const TODAY = Date.parse('2026-11-21') / DAY;
const dayNumberOf = (date: string) => Date.parse(date) / DAY;
const day = (ago: number) => isoDay(TODAY - ago);
const of = (account: string, period: Period) =>
  byDay(...period).replace('advertiserId=1', `advertiserId=${account}`);

async function watched(rowsIn: Answering, config: Readonly<Record<string, unknown>> = RARELY) {
  const scene = await openScene(answering(rowsIn), { config });
  let seen = 0;
  return {
    ...scene,
    calls() {
      const all = scene.platform.requests.slice(seen).map(periodOf);
      seen = scene.platform.requests.length;
      return all;
    },
    /** Asks for a period. @returns the numbers of its answer, and those of the platform's own for it */
    async both(period: Period, account = '1') {
      const reply = await scene.ask(of(account, period));
      const numbers = (rows: readonly Readonly<Record<string, unknown>>[]) =>
        rows.map(({ date, impressions, conversions }) => [date, impressions, conversions].join(' '));
      return {
        reply,
        answered: numbers(reportIn(reply).data),
        platform: numbers(rowsIn(period, account)),
      };
    },
    state: async () => (await stateOf(scene.gateway)).divisibility?.state,
  };
}

type Ask = { account: string; to: number; days: number | 'month' | 'week'; wait: number };

/** The period that ends so many days before today, or the month or week (from a Monday) before that. */
function periodOfAsk({ to, days }: Ask, today: number): Period {
  if (typeof days === 'number') return [isoDay(today - to - days + 1), isoDay(today - to)];
  if (days === 'week') {
    const sunday = today - to - ((((today - to - 3) % 7) + 7) % 7);
    return [isoDay(sunday - 6), isoDay(sunday)];
  }
  const first = `${isoDay(today - to).slice(0, 7)}-01`;
  const last = Date.parse(first) / DAY - 1;
  return [`${isoDay(last).slice(0, 7)}-01`, isoDay(last)];
}

const asks: fc.Arbitrary<Ask[]> = fc.array(
  fc.record({
    account: fc.constantFrom('1', '1', '2'),
    to: fc.constantFrom(0, 1, 2, 4, 6, 8, 10, 15, 25),
    days: fc.constantFrom(1, 3, 7, 10, 14, 20, 28, 31, 45, 60, 90, 'month' as const, 'week' as const),
    wait: fc.constantFrom(0, 0, HOUR + MINUTE, DAY),
  }),
  { minLength: 8, maxLength: 12 },
);

let today = day(0);
const PLATFORMS: readonly (readonly [string, Answering])[] = [
  ['divides by day', plain],
  ['samples periods of more than 31 days', sampledWhenLong],
  ['invoices whole months', invoicedByMonth],
  ['rolls up whole weeks', rolledUpByWeek],
  ['answers recent days by another path', recentByAnotherPath(() => today)],
  ['samples a large account alone', largeAccountSampled('2')],
  [
    'counts conversions inside the period, and one account has none',
    countingInside((account) => (account === '2' ? 5 : 0)),
  ],
  ['counts less on the last day of a period', lowerOnTheLastDay],
];

/** The latest final day is so many days ago: `report.restatementDays` is 5. Without one nothing can be compared. */
const FINAL_AGO = 6;

describe('every answer with a final day is the platform’s own for its period and account, whatever is asked for, on a platform that', () => {
  it.each(PLATFORMS)('%s', async (_what, rowsIn) => {
    await fc.assert(
      fc.asyncProperty(asks, async (all) => {
        const { gateway, both } = await watched(rowsIn);
        for (const ask of all) {
          gateway.clock.advance(ask.wait);
          today = isoDay(Math.floor(gateway.clock.now() / DAY));
          const period = periodOfAsk(ask, Date.parse(today) / DAY);
          const { answered, platform } = await both(period, ask.account);
          if (dayNumberOf(period[0]) <= dayNumberOf(today) - FINAL_AGO) expect(answered).toEqual(platform);
        }
      }),
      { numRuns: 3 },
    );
  });
});

it('a first join is answered by the whole answer that it is compared with, whose days that are not final may differ', async () => {
  const { gateway, both, calls } = await watched(rolledUpByWeek);
  gateway.clock.advance(DAY);
  await both([day(12), day(-1)]);
  calls();
  const { answered, platform } = await both([day(16), day(3)]);
  expect(calls()).toEqual([[day(16), day(3)]]);
  expect(answered).toEqual(platform);
});

const LONG: Period = [day(66), day(7)];

describe('a join of a shape that was not compared for its account', () => {
  /** Proven, with the days of a long range in the cache from two answers of another shape. */
  async function cached(rowsIn: Answering = plain) {
    const scene = await watched(rowsIn);
    await scene.ask(byDay(day(7), day(1)));
    await scene.ask(byDay(day(66), day(37)));
    await scene.ask(byDay(day(36), day(7)));
    scene.calls();
    return scene;
  }

  it('has its whole range fetched before it is served, once, and its body is then a hit', async () => {
    const { ask, calls, gateway, key } = await cached();
    const both = await Promise.all([1, 2].map(() => gateway.report(key, byDay(...LONG))));
    for (const { headers } of both) expect(headers['cache-status']).toMatch(/; hit; /);
    expect(calls()).toEqual([LONG]);
    await ask(byDay(...LONG));
    await ask(byDay(day(65), day(8)));
    gateway.clock.advance(8 * DAY);
    await ask(byDay(day(64), day(9)));
    expect(calls()).toEqual([]);
  });

  it('is compared once by all replicas, and not again after a restart', async () => {
    const { ask, calls, gateway, key, platform } = await cached();
    await ask(byDay(...LONG));
    calls();
    const other = await gatewayAt(platform, {
      clock: gateway.clock,
      sharedStore: gateway.store,
      config: RARELY,
    });
    await other.services.registry.refresh();
    const reply = await other.report(key, byDay(...LONG));
    expect(reply.headers['cache-status']).toMatch(/; hit; /);
    expect(calls()).toEqual([]);
  });

  it('is not served where another answer refutes the kind while it is compared', async () => {
    let [lies, release] = [false, () => {}];
    const rowsIn: Answering = (period, account) =>
      plain(period, account).map((row) => (lies && period[1] >= day(5) ? { ...row, impressions: 3 } : row));
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const scene = await openScene(
      (request, response) => {
        const isHeld = lies && /(userId|advertiserId)=2/.test(request.url ?? '');
        const answer = () => answering(rowsIn)(request, response);
        if (isHeld) void held.then(answer);
        else answer();
      },
      { config: RARELY },
    );
    await scene.ask(byDay(day(40), day(13)));
    for (const period of [
      [day(40), day(13)],
      [day(12), day(6)],
      [day(5), day(1)],
    ] as const)
      await scene.ask(of('2', period));
    lies = true;
    const before = scene.platform.requests.length;
    const join = scene.gateway.report(scene.key, of('2', [day(20), day(1)]));
    await expect.poll(() => scene.platform.requests.length).toBe(before + 1);
    await scene.ask(byDay(day(30), day(1)));
    expect((await stateOf(scene.gateway)).divisibility?.state).toBe('refuted');
    release();
    expect(reportIn(await join).data.map(({ impressions }) => impressions)).toEqual(Array(20).fill(3));
  });

  it('is not served where the platform differs: the kind is refuted, and the answer the platform’s own', async () => {
    const { both, state } = await cached(sampledWhenLong);
    const { answered, platform } = await both(LONG);
    expect([answered, await state()]).toEqual([platform, 'refuted']);
  });

  it('is served where the platform fails, and compared five minutes later', async () => {
    let isDown = false;
    const { ask, gateway, platform, calls } = await cached();
    const answer = answering(plain);
    platform.answer((request, response) => {
      if (isDown) response.writeHead(500).end('{}');
      else answer(request, response);
    });
    isDown = true;
    const { headers } = await ask(byDay(...LONG));
    expect(headers['cache-status']).toMatch(/; hit; /);
    isDown = false;
    calls();
    gateway.clock.advance(4 * MINUTE);
    await ask(`${byDay(...LONG)}&_days=1`);
    expect(calls()).toEqual([]);
    gateway.clock.advance(2 * MINUTE);
    await ask(`${byDay(...LONG)}&_format=csv`);
    expect(calls()).toEqual([LONG]);
  });

  it('is not served to a caller who wants no platform call', async () => {
    const { ask, calls } = await cached();
    const reply = await ask(byDay(...LONG), { headers: { 'cache-control': 'only-if-cached' } });
    expect([reply.status, calls()]).toEqual([504, []]);
  });
});

describe('the comparison of a week', () => {
  it('is made of the longest range in use, then of the next shorter one, behind an answer, within 1 % of the calls', async () => {
    const { ask, calls, gateway } = await watched(plain);
    await ask(byDay(day(7), day(1)));
    const ranges = [LONG, [day(40), day(20)], [day(12), day(8)]] as const;
    const weekly: string[][] = [];
    for (let week = 0; week < 4; week += 1) {
      for (const [from, to] of ranges) await ask(byDay(from, to));
      gateway.clock.advance(DAY + MINUTE);
      // A hundred calls of a day allow one.
      for (let at = 0; at < (week === 3 ? 90 : 100); at += 1) await ask(`advertiserId=1&x=${at}`);
      calls();
      await ask(byDay(...LONG));
      weekly.push(calls().map((period) => period.join()));
      gateway.clock.advance(6 * DAY);
    }
    expect(weekly).toEqual([[LONG.join()], [ranges[1].join()], [ranges[2].join()], []]);
  });

  it.each([
    [366, 92],
    [80, 80],
  ])(
    'is made of the last days first where finality is learned: of %s that a call may have at most, %s',
    async (maxDaysPerCall, days) => {
      const report = { ...RARELY.report, maxDaysPerCall };
      const { ask, calls, gateway } = await watched(plain, { report, finality: { mode: 'learned' } });
      await ask(byDay(day(7), day(1)));
      const weekly: string[][] = [];
      for (let week = 0; week < 2; week += 1) {
        for (const [from, to] of [LONG, [day(40), day(20)]] as const) await ask(byDay(from, to));
        gateway.clock.advance(DAY + MINUTE);
        for (let at = 0; at < 100; at += 1) await ask(`advertiserId=1&x=${at}`);
        calls();
        await ask(byDay(...LONG));
        weekly.push(calls().map((period) => period.join()));
        gateway.clock.advance(6 * DAY);
      }
      expect(weekly).toEqual([[[day(days - 1), day(0)].join()], [LONG.join()]]);
    },
  );
});
