/** Probation and refused parts, seen from the platform. */

import { describe, expect, it } from 'vitest';
import { daysBetween, isoDay } from '../../../src/reports/query/days.js';
import { stateOf } from '../../support/prove.js';
import {
  type Handler,
  type RawPlatform,
  sends,
  startHeldPlatform,
  startRawPlatform,
} from '../../support/raw-platform.js';
import { gatewayAt, outcomeOf, reportIn } from '../../support/start-gateway.js';
import { DAY, HOUR, SECOND } from '../../support/test-clock.js';
import { ALWAYS, byDay, periodOf, rowsPerDay } from '../fetch/by-day.js';
import { type Answering, answering, lowerOnTheLastDay, plain } from './range-dependent.js';

const TODAY = Date.parse('2026-11-21') / DAY;
const day = (ago: number) => isoDay(TODAY - ago);

async function gatewayBefore(rowsIn: Answering) {
  const platform = await startRawPlatform(answering(rowsIn));
  const gateway = await gatewayAt(platform);
  const key = await gateway.addTeam();
  return {
    platform,
    gateway,
    /** @returns the platform calls it took: those before the answer, and all */
    async ask(from: string, to: string) {
      const first = platform.requests.length;
      const reply = await gateway.report(key, byDay(from, to));
      const answered = platform.requests.slice(first, first + 1).map(periodOf);
      await gateway.services.settled();
      const all = platform.requests.slice(first).map(periodOf);
      expect(reportIn(reply).data.map(({ date }) => date)).toEqual(daysBetween(from, to));
      return { answered, all, cache: reply.headers['cache-status'] };
    },
    policy: () => stateOf(gateway),
  };
}

describe('probation', () => {
  it('answers five ranges as a whole, each compared with the join of its days, before any join is given', async () => {
    const { ask, policy } = await gatewayBefore(plain);
    const ranges = [
      [20, 12],
      [19, 11],
      [22, 10],
      [25, 9],
      [30, 8],
      [26, 7],
      [33, 6],
    ] as const;
    let asked = 0;
    for (const [from, to] of ranges) {
      const { answered, all, cache } = await ask(day(from), day(to));
      expect([answered, cache]).toEqual([[[day(from), day(to)]], 'dsp-gateway; fwd=miss; stored']);
      asked += all.length;
    }
    expect(await policy()).toMatchObject({
      because: 'proven divisible by day',
      divisibility: { state: 'proven', trials: { length: 5 } },
    });
    // One or two calls more for each of the five.
    expect(asked).toBeLessThanOrEqual(ranges.length + 10);
    expect((await ask(day(24), day(10))).cache).toMatch(/; hit; /);
  });

  it('is passed by a few answers in quick succession, though trials run one at a time', async () => {
    const { gateway, policy } = await gatewayBefore(plain);
    const key = await gateway.addTeam();
    // Each answer is given before the trial of the one before has ended.
    const ranges = [20, 19, 22, 25, 30, 26, 33, 34].map((from, at) => byDay(day(from), day(12 - at)));
    await Promise.all(ranges.slice(0, 2).map((range) => gateway.report(key, range)));
    await gateway.services.settled();
    await Promise.all(ranges.slice(2).map((range) => gateway.report(key, range)));
    await gateway.services.settled();
    expect((await policy()).because).toBe('proven divisible by day');
  });

  it('costs nothing further of ranges without final days, and is not passed by days without rows', async () => {
    const { ask, policy } = await gatewayBefore((period) =>
      plain(period).filter(({ date }) => String(date) >= day(12)),
    );
    for (const [from, to] of [
      [13, 9],
      [12, 8],
      [11, 7],
    ] as const) {
      await ask(day(from), day(to)).catch(() => {});
    }
    const trials = async () => (await policy()).divisibility?.trials?.length;
    const passed = await trials();
    for (let more = 0; more < 6; more++) await ask(day(60 + 2 * more), day(40 + more)).catch(() => {});
    expect(await trials()).toBe(passed);
    const { all } = await ask(day(4), day(0));
    expect(all).toEqual([[day(4), day(0)]]);
  });

  it('ends in a refutation when a join is not the whole answer', async () => {
    // Overlaps agree, for the periods that are asked for all end on days to come.
    const { ask, policy } = await gatewayBefore(lowerOnTheLastDay);
    for (const [from, to] of [
      [30, -1],
      [29, -2],
      [28, -3],
    ] as const) {
      await ask(day(from), day(to));
    }
    expect((await policy()).divisibility).toMatchObject({ state: 'refuted' });
  });
});

describe('learning', () => {
  /** Ranges that end on one day, as those of a dashboard. @returns the calls that no caller asked for */
  async function askEndingToday(rowsIn: Answering, lengths: readonly number[]) {
    const { ask, policy } = await gatewayBefore(rowsIn);
    const calls: (readonly string[])[] = [];
    for (const ago of lengths) calls.push(...(await ask(day(ago), day(0))).all.slice(1));
    return { calls, state: (await policy()).divisibility?.state };
  }

  it('fetches one range with other ends, where answers agree that share an end', async () => {
    const { calls, state } = await askEndingToday(plain, [13, 29]);
    // The common final days, and one more on both sides; then the first trial.
    expect(calls[0]).toEqual([day(14), day(5)]);
    expect(calls).toHaveLength(2);
    expect(state).toBe('probation');
  });

  it('needs three common days for it, and makes no such call beside answers that prove more', async () => {
    expect(await askEndingToday(plain, [7, 29])).toEqual({ calls: [], state: undefined });
    const { ask } = await gatewayBefore(plain);
    await ask(day(20), day(12));
    expect((await ask(day(19), day(11))).all).toHaveLength(1);
  });

  it('makes at most three of them, if the platform refuses', async () => {
    const { ask, platform } = await gatewayBefore(plain);
    platform.answer((request, response) => {
      const answer = periodOf(request)[1] === day(0) ? answering(plain) : sends('{}', {}, 422);
      answer(request, response);
    });
    const calls: number[] = [];
    for (const ago of [20, 21, 22, 23, 24, 25]) calls.push((await ask(day(ago), day(0))).all.length);
    expect(calls).toEqual([1, 2, 2, 2, 1, 1]);
  });
});

const WITH_ROWS = rowsPerDay(() => 1);
const REFUSES = sends('{"message":"The dates must differ."}', {}, 422);
/** Refuses single days, and answers everything else. */
const refusesDays: Handler = (request, response) => {
  const [from, to] = periodOf(request);
  (from === to ? REFUSES : WITH_ROWS)(request, response);
};
const [TWENTY, PLUS_ONE, PLUS_TWO] = [
  byDay('2026-11-01', '2026-11-10'),
  byDay('2026-11-01', '2026-11-11'),
  byDay('2026-11-01', '2026-11-12'),
];
const periods = ({ requests }: { readonly requests: readonly { readonly url?: string | undefined }[] }) =>
  requests.map((request) => periodOf(request).map((date) => Number(date.slice(-2))));

/** A gateway that joins days without proof, and a key. */
async function open(platform: RawPlatform, config: object = {}) {
  const gateway = await gatewayAt(platform, { config: { ...ALWAYS, ...config } });
  return { gateway, key: await gateway.addTeam() };
}

/** The same, with a replica. */
async function openTwo(platform: RawPlatform) {
  const { gateway: one, key } = await open(platform);
  const other = await gatewayAt(platform, { clock: one.clock, sharedStore: one.store, config: ALWAYS });
  return { one, other, key };
}

describe('a part of a period that the platform refuses', () => {
  it('does not make the whole refused: that is asked for', async () => {
    const platform = await startRawPlatform(refusesDays);
    const { gateway, key } = await open(platform);
    await gateway.report(key, TWENTY);
    expect(reportIn(await gateway.report(key, PLUS_ONE)).data).toHaveLength(11);
    expect(periods(platform)).toEqual([
      [1, 10],
      [11, 11],
      [1, 11],
    ]);
  });

  it('leaves the kind to be asked for as a whole for a day, on every replica', async () => {
    const platform = await startRawPlatform(refusesDays);
    const { one, other, key } = await openTwo(platform);
    await one.report(key, TWENTY);
    await one.services.settled();
    await one.report(key, PLUS_ONE);
    await one.services.settled();
    await other.services.registry.refresh();
    one.clock.advance(HOUR);
    const { calls } = await other.services.reporting.explain('campaigns/get', PLUS_TWO);
    expect(reportIn(await other.report(key, PLUS_TWO)).data).toHaveLength(12);
    expect(periods(platform).slice(3)).toEqual([[1, 12]]);
    expect(calls).toEqual([{ from: '2026-11-01', to: '2026-11-12' }]);
    // What is cached is joined as before.
    expect(reportIn(await other.report(key, byDay('2026-11-03', '2026-11-05'))).data).toHaveLength(3);
    await other.services.settled();
    one.clock.advance(DAY);
    await one.report(key, byDay('2026-11-01', '2026-11-13'));
    expect(periods(platform).slice(4)).toEqual([
      [13, 13],
      [1, 13],
    ]);
  });

  it('is refused as a whole when the whole is refused too: once, and nothing is learned of the kind', async () => {
    const platform = await startRawPlatform(WITH_ROWS);
    const { gateway, key } = await open(platform);
    await gateway.report(key, TWENTY);
    platform.answer(sends('{"message":"No such advertiser."}', {}, 404));
    for (let time = 0; time < 3; time++)
      expect(outcomeOf(await gateway.report(key, PLUS_ONE))).toBe('404 upstream_rejected');
    expect(periods(platform).slice(1)).toEqual([
      [11, 11],
      [1, 11],
    ]);
    gateway.clock.advance(31 * SECOND);
    platform.answer(WITH_ROWS);
    expect(reportIn(await gateway.report(key, PLUS_ONE)).data).toHaveLength(11);
    expect(periods(platform).slice(3)).toEqual([[11, 11]]);
  });

  it('costs one call for the whole, however many ask for it at once, on two replicas', async () => {
    const platform = await startHeldPlatform(refusesDays);
    const { one, other, key } = await openTwo(platform);
    await other.services.registry.refresh();
    platform.release();
    await one.report(key, TWENTY);
    platform.hold();
    const asked = [one, one, other, other].map((gateway) => gateway.report(key, PLUS_ONE));
    await platform.arrived(2);
    platform.release();
    for (const reply of await Promise.all(asked)) expect(reportIn(reply).data).toHaveLength(11);
    expect(periods(platform)).toEqual([
      [1, 10],
      [11, 11],
      [1, 11],
    ]);
  });

  it('is a failure of the gateway when the team may not cause the call for the whole, and no answer is kept', async () => {
    const platform = await startRawPlatform(refusesDays);
    const gateway = await gatewayAt(platform, { config: ALWAYS });
    const limits = { requestsPerMinute: 1000, maxConcurrent: 10, upstreamCallsPerDay: 2 };
    const [poor, rich] = [await gateway.addTeam({ limits }), await gateway.addTeam()];
    await gateway.report(poor, TWENTY);
    const reply = await gateway.report(poor, PLUS_ONE);
    expect(outcomeOf(reply)).toBe('502 upstream_error');
    expect(reply.json().detail).toContain('refused part of the period');
    expect(reportIn(await gateway.report(rich, PLUS_ONE)).data).toHaveLength(11);
  });

  it('is answered from what is kept when the whole cannot be had', async () => {
    const platform = await startRawPlatform(WITH_ROWS);
    const { gateway, key } = await open(platform, { platform: { retry: { attempts: 0 } } });
    const query = byDay('2026-11-10', '2026-11-20');
    await gateway.report(key, query);
    gateway.clock.advance(2 * HOUR);
    platform.answer((request, response) => {
      const isWhole = periodOf(request).join() === '2026-11-10,2026-11-20';
      (isWhole ? sends('{}', {}, 500) : REFUSES)(request, response);
    });
    const reply = await gateway.report(key, query);
    expect(reportIn(reply).data).toHaveLength(11);
    expect(reply.headers['cache-status']).toContain('stale-if-error');
  });

  it('is told as it is when the platform forbids it', async () => {
    const platform = await startRawPlatform(WITH_ROWS);
    const { gateway, key } = await open(platform);
    await gateway.report(key, TWENTY);
    platform.answer(sends('{"message":"Forbidden."}', {}, 403));
    expect(outcomeOf(await gateway.report(key, PLUS_ONE))).toBe('403 upstream_rejected');
    expect(platform.requests).toHaveLength(2);
  });

  it('is added to what a newer release wrote, which keeps what is not known of it', async () => {
    const platform = await startRawPlatform(refusesDays);
    const { gateway, key } = await open(platform);
    const { clock } = gateway;
    const theirs = ['another kind', clock.now() + HOUR, { of: 'a newer release' }];
    await gateway.services.registry.commit({
      writes: new Map([['part-refusals', JSON.stringify([theirs, ['damaged']])]]),
    });
    await gateway.report(key, TWENTY);
    await gateway.report(key, PLUS_ONE);
    await gateway.services.settled();
    expect(JSON.parse(gateway.services.registry.get('part-refusals')?.value ?? '')).toEqual([
      theirs,
      [expect.any(String), clock.now() + DAY],
    ]);
  });
});
