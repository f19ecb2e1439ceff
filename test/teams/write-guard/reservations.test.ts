import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClock } from '../../../src/lib/clock.js';
import type { ChargeAnswer, Charges } from '../../../src/store/charges-port.js';
import { type Store, StoreUnavailable } from '../../../src/store/port.js';
import { createRedisStore } from '../../../src/store/redis/redis-store.js';
import { createReservations, type Reservation } from '../../../src/teams/write-guard/reservations.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { startRedis } from '../../support/redis.js';
import { openEmbedded } from '../../support/shared-registry.js';
import { createTestClock, HOUR, SECOND } from '../../support/test-clock.js';
import { playReservations, stepOfReservations } from './reservations-model.js';

const note = async () => {};
const ask = { team: 'growth', route: 'POST /api/v1/campaign/create', amount: 60, max: 100 };

async function open(timezone = 'UTC', change: (charges: Charges) => Charges = (charges) => charges) {
  const clock = createTestClock();
  const { charges, leases } = await openEmbedded();
  const log = createRecordedLog();
  const book = createReservations({
    charges: change(charges),
    leases,
    now: clock.now,
    timezone,
    callMs: 30 * SECOND,
    logger: log.logger,
  });
  const reserve = async (changes: Partial<typeof ask> = {}): Promise<Reservation> => {
    const answer = await book.reserve({ ...ask, ...changes });
    if (answer.kind === 'over') throw new Error('there was room');
    return answer.reservation;
  };
  const left = async () => (await book.left(ask.team, ask.route, ask.max)).left;
  return { clock, charges, book, reserve, left, log };
}

describe('a reservation', () => {
  it('takes of what a team, a route and a day have left, and says so', async () => {
    const { book, clock } = await open();
    expect(await book.reserve(ask)).toEqual({
      kind: 'reserved',
      reservation: {
        id: expect.any(String),
        team: 'growth',
        route: ask.route,
        day: '2026-11-21',
        amount: 60,
        currency: null,
        atMs: clock.now(),
      },
    });
    expect(await book.reserve(ask)).toEqual({ kind: 'over', day: '2026-11-21', left: 40 });
    expect(await book.reserve({ ...ask, team: 'other' })).toMatchObject({ kind: 'reserved' });
    expect(await book.reserve({ ...ask, route: 'PUT /x' })).toMatchObject({ kind: 'reserved' });
    expect(await book.reserve({ ...ask, amount: 40 })).toMatchObject({ kind: 'reserved' });
    expect(await book.left(ask.team, ask.route, 50)).toEqual({ day: '2026-11-21', left: -50 });
    const nothing = { ...ask, amount: 0, max: 50 };
    expect(await book.reserve(nothing)).toEqual({ kind: 'over', day: '2026-11-21', left: -50 });
  });

  it('is of the day where the platform is, at the time of the reservation', async () => {
    const { book, clock, reserve, left } = await open('Pacific/Auckland');
    clock.set('2026-11-21T10:30:00.000Z');
    const late = await reserve();
    expect(late.day).toBe('2026-11-21');
    clock.advance(HOUR);
    expect(await left()).toBe(100);
    expect(await book.left(ask.team, ask.route, 100)).toEqual({ day: '2026-11-22', left: 100 });
    await reserve({ amount: 10 });
    await book.giveBack(late);
    expect(await left()).toBe(90);
    clock.advance(-HOUR);
    expect(await left()).toBe(100);
  });

  it.each([
    ['Europe/Berlin', '2026-10-25', '2026-10-24T22:00:00.000Z', 25],
    // Its clocks go forward at midnight: the day begins at one.
    ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00:00.000Z', 23],
    // They go back at midnight: an hour of this day comes twice.
    ['Africa/Cairo', '2026-10-29', '2026-10-28T21:00:00.000Z', 25],
  ])('in %s is of %s for as long as that day is', async (timezone, day, begins, hours) => {
    const { book, clock } = await open(timezone);
    const dayAt = async (ms: number) => {
      clock.set(new Date(ms).toISOString());
      return (await book.left(ask.team, ask.route, 100)).day;
    };
    const firstMs = Date.parse(begins);
    const endMs = firstMs + hours * HOUR;
    expect(await dayAt(firstMs - 1)).not.toBe(day);
    expect(await dayAt(firstMs)).toBe(day);
    expect(await book.reserve({ ...ask, amount: 100 })).toMatchObject({ kind: 'reserved' });
    for (let ms = firstMs; ms < endMs; ms += HOUR / 2) {
      clock.set(new Date(ms).toISOString());
      expect(await book.reserve({ ...ask, amount: 1 })).toEqual({ kind: 'over', day, left: 0 });
    }
    expect(await dayAt(endMs - 1)).toBe(day);
    expect(await dayAt(endMs)).not.toBe(day);
    expect(await book.reserve({ ...ask, amount: 100 })).toMatchObject({ kind: 'reserved' });
  });

  it('of a day without a limit is made too, and counts for the limit that the day is given later', async () => {
    const { book, clock, reserve, left } = await open();
    const named = await book.reserve({ ...ask, max: null, currency: 'EUR' });
    const [bare, beyond] = [null, Number.MAX_SAFE_INTEGER];
    for (const amount of [bare, beyond]) await book.reserve({ ...ask, amount, max: null });
    clock.advance(40 * SECOND);
    expect((await book.unknown()).map(({ amount, currency }) => [amount, currency])).toEqual(
      expect.arrayContaining([
        [60, 'EUR'],
        [bare, null],
        [beyond, null],
      ]),
    );
    // What is beyond counting is listed, and not counted.
    expect(await left()).toBe(40);
    expect(named).toMatchObject({ kind: 'reserved' });
    await expect(reserve({ amount: 41 })).rejects.toThrow('room');
  });

  it('is given back once, and not after it was kept', async () => {
    const { book, reserve, left } = await open();
    const one = await reserve({ amount: 10 });
    const other = await reserve({ amount: 20 });
    await book.keep(other);
    for (const again of [one, one, other]) await book.giveBack(again);
    expect(await left()).toBe(80);
  });

  it('stays charged and is listed when its outcome is unknown, until somebody says what it was', async () => {
    const { book, clock, reserve, left } = await open();
    const one = await reserve({ amount: 10 });
    clock.advance(1);
    const other = await reserve({ amount: 20 });
    await book.keepUnknown(one, 'it ended with upstream_timeout');
    await book.keepUnknown(other, 'x'.repeat(1000));
    expect(await book.unknown()).toEqual([
      { ...one, why: 'it ended with upstream_timeout' },
      { ...other, why: 'x'.repeat(300) },
    ]);
    await book.settle(one.id, 'happened', note);
    await book.settle(other.id, 'not', note);
    expect(await left()).toBe(90);
    expect(await book.unknown()).toEqual([]);
    await expect(book.settle(other.id, 'not', note)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('of a process that died is listed once its call can no longer be under way, and not before', async () => {
    const { book, clock, reserve, left } = await open();
    const one = await reserve();
    clock.advance(40 * SECOND - 1);
    expect(await book.unknown()).toEqual([]);
    await expect(book.settle(one.id, 'not', note)).rejects.toMatchObject({ code: 'not_found' });
    clock.advance(1);
    expect(await book.unknown()).toMatchObject([
      { id: one.id, amount: 60, why: expect.stringContaining('stopped') },
    ]);
    expect(await left()).toBe(40);
    await book.settle(one.id, 'not', note);
    expect(await left()).toBe(100);
  });
  it('is listed and can be settled though another release wrote its record', async () => {
    const { book, charges } = await open();
    await charges.charge({ id: 'odd', purse: 'odd', amount: 1, max: 1, note: 'odd', ttlMs: HOUR });
    expect(await book.unknown()).toMatchObject([{ id: 'odd', why: 'its record is unreadable' }]);
    await book.settle('odd', 'happened', note);
    expect(await book.unknown()).toEqual([]);
  });
});

describe('a store that lost a charge', () => {
  it('has it put back, and listed, when its outcome is unknown, unless it was settled', async () => {
    const { book, charges, reserve, left } = await open();
    const [lost, settled] = [await reserve({ amount: 10 }), await reserve({ amount: 20 })];
    await charges.end(settled.id, 'back');
    const emptied = await open();
    await emptied.book.keepUnknown(lost, 'it ended with upstream_timeout');
    expect(await emptied.book.unknown()).toEqual([{ ...lost, why: 'it ended with upstream_timeout' }]);
    expect(await emptied.left()).toBe(90);
    expect(emptied.log.lines.at(-1)).toMatchObject({ level: 'warn', charge: lost.id });
    await book.keepUnknown(settled, 'late');
    expect(await book.unknown()).toEqual([]);
    expect(await left()).toBe(90);
  });
});

describe('a store that fails', () => {
  const refusing = (why: 'away' | 'no-room') => (charges: Charges) => ({
    ...charges,
    charge: () => Promise.reject(new StoreUnavailable('out', why)),
    charged: () => Promise.reject(new StoreUnavailable('out', why)),
  });

  it.each([
    ['away', 'does not respond'],
    ['no-room', 'is full'],
  ] as const)('refuses what is to be reserved (%s), and says why', async (why, said) => {
    const { book } = await open('UTC', refusing(why));
    const refused = { code: 'write_guard_unavailable', status: 503 };
    const error = await book.reserve(ask).catch((thrown) => thrown);
    expect(error).toMatchObject(refused);
    expect(error.options.detail).toContain(said);
    await expect(book.left(ask.team, ask.route, 1)).rejects.toMatchObject(refused);
  });

  it('has nothing sent for what too few replicas have confirmed, and has it given back', async () => {
    const unconfirmed = { replicas: 0, wanted: 1 };
    const { book, left } = await open('UTC', (charges) => ({
      ...charges,
      charge: async (one) => ({
        ...((await charges.charge(one)) as ChargeAnswer & { kind: 'made' }),
        unconfirmed,
      }),
    }));
    await expect(book.reserve(ask)).rejects.toMatchObject({ code: 'write_guard_unavailable' });
    expect(await left()).toBe(100);
  });

  it('that charges late what was given up charges nothing', async () => {
    const late: Parameters<Charges['charge']>[0][] = [];
    const { book, charges, left } = await open('UTC', (real) => ({
      ...real,
      charge(one) {
        late.push(one);
        return Promise.reject(new StoreUnavailable('later'));
      },
    }));
    await expect(book.reserve(ask)).rejects.toMatchObject({ code: 'write_guard_unavailable' });
    await book.settled();
    for (const one of late) expect(await charges.charge(one)).toEqual({ kind: 'ended', charged: 0 });
    expect(await left()).toBe(100);
  });

  it('at the end is told of in the log: what it did not take stays charged', async () => {
    const { book, reserve, left, log } = await open('UTC', (charges) => ({
      ...charges,
      end: () => Promise.reject(new StoreUnavailable('away')),
    }));
    await book.giveBack(await reserve());
    await book.settled();
    expect(await left()).toBe(40);
    expect(log.lines.at(-1)).toMatchObject({ level: 'error', charges: 1 });
  });
});

describe('reservations through two replicas, in whatever order, with a store that fails', () => {
  const play = async (stores: readonly Store[], numRuns: number) => {
    let round = 0;
    const property = fc.asyncProperty(fc.array(stepOfReservations, { maxLength: 20 }), async (steps) => {
      round += 1;
      await playReservations({ stores, clock: createTestClock(), team: `t${round}`, max: 120 }, steps);
    });
    await fc.assert(property, { numRuns });
  };

  it('are never more than the limit, and in the end what was not given back: embedded', async () => {
    const store = await openEmbedded();
    await play([store, store], 40);
  });

  it('are never more than the limit, and in the end what was not given back: Redis', async () => {
    const server = await startRedis();
    const connect = () =>
      createRedisStore({
        connection: { url: server.url },
        prefix: `t-${randomUUID()}`,
        timeoutMs: 10_000,
        clock: createClock(),
        logger: createRecordedLog().logger,
      });
    const store = await connect();
    onTestFinished(async () => {
      await store.close();
      await server.close();
    });
    await play([store, store], 25);
  });
});
