/** The proof that reports are divisible by day, seen from the platform. */
import { describe, expect, it } from 'vitest';
import { daysBetween, isoDay } from '../../../src/reports/query/days.js';
import { stateOf } from '../../support/prove.js';
import { type Handler, sends } from '../../support/raw-platform.js';
import { openScene } from '../../support/scene.js';
import { type GatewayOptions, gatewayAt, reportIn } from '../../support/start-gateway.js';
import { DAY, HOUR, MINUTE } from '../../support/test-clock.js';
import { byDay, periodOf, rowsPerDay } from '../fetch/by-day.js';
import {
  type Answering,
  answering,
  countingInside,
  listingWhatDelivered,
  lowerOnTheLastDay,
  plain,
} from './range-dependent.js';

const TODAY = Date.parse('2026-11-21') / DAY;
const day = (ago: number) => isoDay(TODAY - ago);
const WEEK = byDay(day(7), day(1));

async function sceneOf(answer: Handler, options: GatewayOptions = {}) {
  const scene = await openScene(answer, options);
  let seen = 0;
  return {
    ...scene,
    /** Periods of the calls since the last look. */
    calls() {
      const all = scene.platform.requests.slice(seen).map(periodOf);
      seen = scene.platform.requests.length;
      return all;
    },
    policy: () => stateOf(scene.gateway),
    state: async () => (await stateOf(scene.gateway)).divisibility,
  };
}

const lengthOf = ([from, to]: readonly [string, string]) => daysBetween(from, to).length;
const REFUSED = sends('{"message":"The period is too long."}', {}, 422);
/** @param refuses these periods; all others are answered */
const refusing =
  (refuses: (days: number) => boolean): Handler =>
  (request, response) =>
    (refuses(lengthOf(periodOf(request))) ? REFUSED : answering(plain))(request, response);

describe('the first report by date of a kind', () => {
  it('has 28 final days, their halves and three single days fetched behind its answer, and the next one is joined', async () => {
    const { ask, calls, policy } = await sceneOf(answering(plain));
    const reply = await ask(WEEK);
    expect(reply.headers['cache-status']).toBe('dsp-gateway; fwd=miss; stored');
    expect(calls()).toEqual([
      [day(7), day(1)],
      [day(33), day(6)],
      [day(33), day(20)],
      [day(19), day(6)],
      [day(33), day(33)],
      [day(19), day(19)],
      [day(6), day(6)],
    ]);
    expect(await policy()).toMatchObject({
      because: 'proven: a day has the same numbers in every period',
      divisibility: { state: 'proven', proof: { from: day(33), to: day(6), calls: 6 } },
    });
    const joined = await ask(byDay(day(30), day(7)));
    expect(joined.headers['cache-status']).toMatch(/; hit; /);
    expect(calls()).toEqual([]);
  });

  it('is itself the whole where it has 28 final days or more', async () => {
    const { ask, calls, state } = await sceneOf(answering(plain));
    await ask(byDay(day(40), day(1)));
    expect(calls()).toEqual([
      [day(40), day(1)],
      [day(40), day(24)],
      [day(23), day(6)],
      [day(40), day(40)],
      [day(23), day(23)],
      [day(6), day(6)],
    ]);
    expect(await state()).toMatchObject({ state: 'proven', proof: { calls: 5 } });
  });

  it('with an unknown parameter waits for a second period', async () => {
    const { ask, calls } = await sceneOf(answering(plain));
    await ask(`${WEEK}&x=1`);
    await ask(`${WEEK}&x=2`);
    expect(calls()).toHaveLength(2);
    await ask(`${byDay(day(8), day(2))}&x=1`);
    expect(calls()).toHaveLength(7);
  });

  it('of an account with few rows has the account with most rows compared', async () => {
    const rows = (account: string | null) => (account === '2' ? 3 : 0);
    const { ask, calls, platform, state } = await sceneOf((request, response) => {
      const account = new URL(request.url ?? '', 'http://p').searchParams.get('advertiserId');
      rowsPerDay(() => rows(account), undefined, { advertiser_id: Number(account) })(request, response);
    });
    await ask(WEEK);
    expect(await state()).toMatchObject({ state: 'unknown', tries: 1, proof: { calls: 1 } });
    await ask(WEEK.replace('advertiserId=1', 'advertiserId=2'));
    expect(calls()).toHaveLength(3);
    expect(platform.requests.at(-1)?.url).toContain('advertiserId=2');
  });

  it.each([
    [14, 'what one call may have by configuration', answering(plain), { report: { maxDaysPerCall: 14 } }],
    [20, 'what the platform keeps', answering(plain), { platform: { retentionDays: 25 } }],
  ])('has %i days compared, because that is %s', async (days, _why, answer, config) => {
    const { ask, state } = await sceneOf(answer, { config });
    await ask(WEEK);
    expect(await state()).toMatchObject({
      state: 'proven',
      proof: { from: day(5 + days), to: day(6) },
    });
  });

  it('has half as many days compared where the platform refuses a length, and none below six', async () => {
    const seven = await sceneOf(refusing((days) => days > 10));
    await seven.ask(WEEK);
    expect(await seven.state()).toMatchObject({ state: 'proven', proof: { from: day(12), calls: 8 } });
    const five = await sceneOf(refusing((days) => days > 5 && days !== 7));
    await five.ask(WEEK);
    expect(await five.state()).toMatchObject({ state: 'proven', proof: { calls: 8 } });
    const none = await sceneOf(refusing((days) => days > 4));
    await none.ask(byDay(day(4), day(1)));
    expect(await none.state()).toMatchObject({
      state: 'unknown',
      proof: { calls: 3, found: expect.stringContaining('"The period is too long."') },
    });
  });

  it('is refuted for a day with the words of a platform that refuses single days', async () => {
    const { ask, state, calls, gateway, policy } = await sceneOf(refusing((days) => days === 1));
    await ask(WEEK);
    expect(await state()).toMatchObject({
      state: 'refuted',
      refutedFor: expect.stringContaining('"The period is too long."'),
    });
    calls();
    gateway.clock.advance(DAY - MINUTE);
    await ask(byDay(day(9), day(1)));
    expect(calls()).toEqual([[day(9), day(1)]]);
    gateway.clock.advance(2 * MINUTE);
    expect((await policy()).because).toContain('not yet tested');
  });
});

describe('a proof', () => {
  it.each<[string, Answering]>([
    ['counts less on the last day of a period', lowerOnTheLastDay],
    ['lists what delivered in the period', listingWhatDelivered],
    ['counts conversions of the clicks inside the period', countingInside(() => 5)],
  ])('refutes a platform that %s, whose answer is asked for again', async (_what, rowsIn) => {
    const { ask, state, calls } = await sceneOf(answering(rowsIn));
    await ask(WEEK);
    expect(await state()).toMatchObject({ state: 'refuted', refutedFor: expect.stringContaining('twice') });
    const all = calls().map((period) => period.join());
    expect(new Set(all).size).toBe(all.length - 1);
    const { data } = reportIn(await ask(byDay(day(20), day(8))));
    expect(data.map(({ impressions }) => impressions)).toEqual(
      rowsIn([day(20), day(8)]).map(({ impressions }) => impressions),
    );
  });

  it('goes on where the platform restated a day between its calls', async () => {
    let calls = 0;
    const { ask, state } = await sceneOf(
      answering((period) => {
        calls += 1;
        const isNew = calls > 3;
        return plain(period).map((row) => (isNew && row.date === day(8) ? { ...row, impressions: 7 } : row));
      }),
    );
    await ask(WEEK);
    expect(await state()).toMatchObject({ state: 'proven', restatements: 1, proof: { calls: 7 } });
  });

  it('takes a whole that lacks rows of its parts, and has no others, for cut off, and a part for the whole', async () => {
    const { ask, state } = await sceneOf(rowsPerDay(() => 30, 777));
    await ask(WEEK);
    const known = await state();
    expect(known?.state).toBe('proven');
    expect(known?.proof?.from).not.toBe(day(33));
  });

  it('needs three days with rows, and is made again after 1, 2, 4, 8 and 16 hours', async () => {
    const { ask, calls, gateway, state } = await sceneOf(
      answering((period) => plain(period).filter(({ date }) => [day(9), day(8)].includes(String(date)))),
    );
    await ask(WEEK);
    expect(await state()).toMatchObject({
      state: 'unknown',
      proof: { found: expect.stringContaining('only 2 final days had rows') },
    });
    const hours: number[] = [];
    calls();
    for (let hour = 1; hour <= 64; hour += 1) {
      gateway.clock.advance(HOUR);
      await ask(byDay(day(9 + (hour % 12)), day(1)));
      if (calls().length > 1) hours.push(hour);
    }
    expect(hours).toEqual([1, 3, 7, 15, 31, 55]);
  });

  it('that the platform does not answer says nothing, and is made again after five minutes', async () => {
    let isDown = true;
    const { ask, state, gateway } = await sceneOf((request, response) => {
      const isProof = lengthOf(periodOf(request)) === 28;
      (isProof && isDown ? sends('{}', {}, 500) : answering(plain))(request, response);
    });
    await ask(WEEK);
    expect(await state()).toMatchObject({ state: 'unknown', proof: { calls: 1 } });
    isDown = false;
    gateway.clock.advance(4 * MINUTE);
    await ask(byDay(day(8), day(1)));
    expect(await state()).toMatchObject({ state: 'unknown' });
    gateway.clock.advance(2 * MINUTE);
    await ask(byDay(day(9), day(1)));
    expect(await state()).toMatchObject({ state: 'proven' });
  });

  it('makes no more than eight calls of a kind on a day', async () => {
    // Never the same twice.
    let clicks = 0;
    const { ask, calls, gateway } = await sceneOf(
      answering((period) => plain(period).map((row) => ({ ...row, clicks: clicks++ }))),
    );
    await ask(WEEK);
    for (let hour = 0; hour < 20; hour += 1) {
      gateway.clock.advance(30 * MINUTE);
      await ask(byDay(day(8 + hour), day(1)));
    }
    const proofs = calls().filter((period) => period[1] !== day(1));
    expect(proofs.length).toBeLessThanOrEqual(8);
  });

  it('of all kinds together makes at most fifty calls a day where callers cause few', async () => {
    const { ask, calls } = await sceneOf(answering(plain));
    for (const value of Array.from({ length: 12 }, (_, at) => `a${at}`))
      await ask(`${WEEK}&spentBased=${value}`);
    expect(calls().length - 12).toBe(50);
  });

  it('is not begun by a gateway that stops', async () => {
    const { gateway, key, calls } = await sceneOf(answering(plain));
    await gateway.report(key, WEEK);
    gateway.services.reporting.stopComparing();
    await gateway.services.settled();
    expect(calls()).toEqual([[day(7), day(1)]]);
  });

  it('is made by one replica', async () => {
    const { gateway, platform, key, calls } = await sceneOf(answering(plain));
    const other = await gatewayAt(platform, { clock: gateway.clock, sharedStore: gateway.store });
    await other.services.registry.refresh();
    await Promise.all([gateway.report(key, WEEK), other.report(key, byDay(day(9), day(2)))]);
    await Promise.all([gateway.services.settled(), other.services.settled()]);
    expect(calls()).toHaveLength(2 + 6);
    await other.services.registry.refresh();
    expect((await stateOf(other)).because).toBe('proven: a day has the same numbers in every period');
  });
});
