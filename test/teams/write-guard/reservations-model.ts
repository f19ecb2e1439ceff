/** Reservations in the plainest way, beside real ones whose store fails now and then. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { GatewayError } from '../../../src/errors.js';
import type { Charges } from '../../../src/store/charges-port.js';
import { type Store, StoreUnavailable } from '../../../src/store/port.js';
import {
  createReservations,
  type Reservation,
  type ReservationBook,
} from '../../../src/teams/write-guard/reservations.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import type { TestClock } from '../../support/test-clock.js';

/** What becomes of a call of the store: `lost` is done, and its answer never comes. */
type Fault = 'none' | 'away' | 'lost';

const CALL_MS = 30_000;
const ROUTE = 'POST /api/v1/campaign/create';

export const stepOfReservations = fc.record({
  does: fc.constantFrom(
    'reserve',
    'reserve',
    'reserve',
    'giveBack',
    'keep',
    'keepUnknown',
    'happened',
    'not',
  ),
  /** Of a reservation made before, by its place among those under way, or unknown. */
  which: fc.nat({ max: 5 }),
  replica: fc.nat({ max: 1 }),
  amount: fc.nat({ max: 50 }),
  fault: fc.constantFrom<Fault>('none', 'none', 'none', 'away', 'lost'),
});

type Step = typeof stepOfReservations extends fc.Arbitrary<infer T> ? T : never;

/** A store's charges that fail as told. */
function failing(charges: Charges): { readonly charges: Charges; fault: Fault } {
  const self = { charges, fault: 'none' as Fault };
  self.charges = new Proxy(charges, {
    get(target, name) {
      const call = Reflect.get(target, name) as (...args: unknown[]) => Promise<unknown>;
      return async (...args: unknown[]) => {
        if (self.fault === 'away') throw new StoreUnavailable('away');
        const result = await call.apply(target, args);
        if (self.fault === 'lost') throw new StoreUnavailable('lost');
        return result;
      };
    },
  });
  return self;
}

export interface PlayOptions {
  /** Of two replicas. */
  readonly stores: readonly Pick<Store, 'charges' | 'leases'>[];
  readonly clock: TestClock;
  readonly team: string;
  readonly max: number;
}

/** Makes the calls; never more than `max` is charged, and in the end exactly what was not given back. */
export async function playReservations({ stores, clock, team, max }: PlayOptions, steps: readonly Step[]) {
  const replicas = stores.map((store) => {
    const broken = failing(store.charges);
    const { leases } = store;
    const { logger } = createRecordedLog();
    const book = createReservations({
      charges: broken.charges,
      leases,
      now: clock.now,
      timezone: 'UTC',
      callMs: CALL_MS,
      logger,
    });
    return { broken, book };
  });
  const underWay: Reservation[] = [];
  const unknown: Reservation[] = [];
  const kept: Reservation[] = [];
  const charged = async () => max - (await createBook(stores, clock).left(team, ROUTE, max)).left;
  const sum = (all: readonly Reservation[]) => all.reduce((total, { amount }) => total + (amount ?? 0), 0);

  for (const { does, which, replica, amount, fault } of steps) {
    const { broken, book } = replicas[replica] as (typeof replicas)[number];
    broken.fault = fault;
    if (does === 'reserve') {
      const before = await charged();
      const answer = await book.reserve({ team, route: ROUTE, amount, max }).catch((error) => error);
      if (fault !== 'none') expect(answer).toMatchObject({ code: 'write_guard_unavailable' });
      else if (answer.kind === 'over') expect(before + amount).toBeGreaterThan(max);
      else underWay.push(answer.reservation);
    } else if (does === 'happened' || does === 'not') {
      await settle(book, does, fault, which, { unknown, kept });
    } else {
      const [one] = underWay.splice(which % Math.max(1, underWay.length), 1);
      if (one === undefined) continue;
      if (does === 'keepUnknown') await book.keepUnknown(one, 'nobody knows');
      else await book[does](one);
      if (does === 'keepUnknown') unknown.push(one);
      if (does === 'keep') kept.push(one);
    }
    const now = await charged();
    expect(now).toBeLessThanOrEqual(max);
    expect(now).toBeGreaterThanOrEqual(sum([...underWay, ...unknown, ...kept]));
  }

  for (const { broken, book } of replicas) {
    broken.fault = 'none';
    await book.settled();
  }
  expect(await charged()).toBe(sum([...underWay, ...unknown, ...kept]));
  const known = await createBook(stores, clock).unknown();
  expect(idsOf(known.filter((one) => one.team === team))).toEqual(idsOf(unknown));
  clock.advance(CALL_MS + 10_000);
  const later = await createBook(stores, clock).unknown();
  expect(idsOf(later.filter((one) => one.team === team))).toEqual(idsOf([...unknown, ...underWay]));
}

const idsOf = (all: readonly { readonly id: string }[]) => all.map(({ id }) => id).sort();

const createBook = ([store]: PlayOptions['stores'], clock: TestClock): ReservationBook =>
  createReservations({
    ...(store as Pick<Store, 'charges' | 'leases'>),
    now: clock.now,
    timezone: 'UTC',
    callMs: CALL_MS,
    logger: createRecordedLog().logger,
  });

/** A settlement whose answer is lost may have been made: whoever asks again is told that there is none. */
async function settle(
  book: ReservationBook,
  outcome: 'happened' | 'not',
  fault: Fault,
  which: number,
  { unknown, kept }: { readonly unknown: Reservation[]; readonly kept: Reservation[] },
): Promise<void> {
  const one = unknown[which % Math.max(1, unknown.length)];
  if (one === undefined || fault !== 'none') return;
  const error = await book
    .settle(one.id, outcome, async () => {})
    .then(
      () => null,
      (thrown: unknown) => thrown,
    );
  // Its note may not have been taken yet.
  if (error !== null) {
    expect(error).toBeInstanceOf(GatewayError);
    return;
  }
  unknown.splice(unknown.indexOf(one), 1);
  if (outcome === 'happened') kept.push(one);
}
