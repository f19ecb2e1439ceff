import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { QuotaTake, Store } from '../../src/store/port.js';
import { MINUTE } from '../support/test-clock.js';
import { type OpenHarness, withStore } from './harness.js';

const NEVER = Number.POSITIVE_INFINITY;

/** Ten permits, of which one comes back every 100 ms. */
const take = (want: number, nowMs: number, others: Partial<QuotaTake> = {}): QuotaTake => ({
  want,
  capacity: 10,
  refillPerMs: 0.01,
  nowMs,
  ttlMs: MINUTE,
  ...others,
});

const takerOf = (id: string, taken: number, unconfirmed: number) => ({ id, taken, unconfirmed, known: 0 });

export function describeQuotas(open: OpenHarness): void {
  describe('quotas', () => {
    it('hold nobody up who comes after a clock that was an hour ahead, and refill by the clock that is', () =>
      withStore(open, async ({ store, another }) => {
        const other = await another();
        await store.quotas.take('a', take(10, 3_600_000));
        expect(await other.quotas.take('a', take(1, 1_000))).toEqual({ granted: 0, left: 0, nextInMs: 100 });
        expect(await other.quotas.take('a', take(9, 1_300))).toMatchObject({ granted: 3, left: 0 });
      }));

    it('keep what was used when the capacity changes', () =>
      withStore(open, async ({ store: { quotas } }) => {
        const share = (capacity: number, want: number) => take(want, 0, { capacity, refillPerMs: 0 });
        await quotas.take('a', share(10, 10));
        expect(await quotas.take('a', share(15, 9))).toMatchObject({ granted: 5, left: 0 });
        expect(await quotas.take('a', share(12, 1))).toMatchObject({ granted: 0, left: 0 });
        expect(await quotas.give('a', 2, 12)).toBe(0);
        expect(await quotas.give('a', 2, 12)).toBe(1);
      }));

    it('that refill keep no more of what was used than a lowered capacity', () =>
      withStore(open, async ({ store: { quotas } }) => {
        await quotas.take('a', take(10, 0));
        const lowered = { granted: 0, left: 0, nextInMs: 100 };
        expect(await quotas.take('a', take(1, 0, { capacity: 4 }))).toEqual(lowered);
        expect(await quotas.take('a', take(0, 400, { capacity: 4 }))).toMatchObject({ left: 4 });
      }));

    it('are full again when nobody wanted any for their lifetime, and not before', () =>
      withStore(open, async ({ store: { quotas }, elapse }) => {
        const share = (want: number) => take(want, 0, { refillPerMs: 0, ttlMs: 3 * MINUTE });
        await quotas.take('a', share(4));
        await elapse(2 * MINUTE);
        await quotas.take('a', share(4));
        await elapse(2 * MINUTE);
        expect(await quotas.take('a', share(0))).toMatchObject({ left: 2 });
        expect(await quotas.give('a', 1, 10)).toBe(3);
        await elapse(2 * MINUTE);
        expect(await quotas.take('a', share(0))).toMatchObject({ left: 10 });
      }));

    it.each<Partial<QuotaTake>>([
      { want: -1 },
      { want: 0.5 },
      { want: NEVER },
      { capacity: -1 },
      { capacity: Number.NaN },
      { refillPerMs: -1 },
      { refillPerMs: NEVER },
      { nowMs: Number.NaN },
      { ttlMs: 0.5 },
      { taker: takerOf('one', 0.5, 0) },
      { taker: takerOf('one', 1, -1) },
      { taker: { ...takerOf('one', 1, 1), known: NEVER } },
    ])('refuse %o', (fault) =>
      withStore(open, async ({ store: { quotas } }) => {
        await expect(quotas.take('a', take(1, 0, fault))).rejects.toThrow(RangeError);
        expect(await quotas.take('a', take(0, 0))).toMatchObject({ left: 10 });
      }),
    );

    it.each([
      [-1, 10],
      [0.5, 10],
      [1, Number.NaN],
    ])('refuse to be given %d of %d', (count, capacity) =>
      withStore(open, async ({ store: { quotas } }) => {
        await expect(quotas.give('a', count, capacity)).rejects.toThrow(RangeError);
      }),
    );

    it('are charged with what a taker used elsewhere, beyond the capacity, and once however often that is told', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        const late = { refillPerMs: 0, taker: takerOf('one', 12, 12) };
        await store.quotas.take('a', take(3, 0, { refillPerMs: 0 }));
        for (const { quotas } of stores)
          expect(await quotas.take('a', take(1, 0, late))).toMatchObject({ granted: 0, left: 0 });
        expect(await store.quotas.take('a', take(0, 0, { refillPerMs: 0, capacity: 20 }))).toMatchObject({
          left: 5,
        });
        // Those of another are others; what arrives late tells nothing new.
        for (const taker of [takerOf('other', 2, 2), takerOf('one', 11, 11), takerOf('one', 13, 1)])
          await store.quotas.take('a', take(0, 0, { refillPerMs: 0, taker }));
        expect(await store.quotas.take('a', take(0, 0, { refillPerMs: 0, capacity: 20 }))).toMatchObject({
          left: 2,
        });
      }));

    it('grant first what a taker was granted in an answer that it did not get', () =>
      withStore(open, async ({ store: { quotas } }) => {
        const want = (count: number, taken: number) =>
          quotas.take('a', take(count, 0, { refillPerMs: 0, taker: takerOf('one', taken, 0) }));
        expect(await want(4, 0)).toMatchObject({ granted: 4, left: 6 });
        expect(await want(1, 0)).toMatchObject({ granted: 1, left: 6 });
        expect(await want(8, 1)).toMatchObject({ granted: 8, left: 1 });
        expect(await want(8, 9)).toMatchObject({ granted: 1, left: 0 });
      }));

    it('that the store has lost begin with what a taker knows of, and the unconfirmed', () =>
      withStore(open, async ({ store: { quotas }, elapse }) => {
        const lost = { refillPerMs: 0, taker: { id: 'one', taken: 7, unconfirmed: 2, known: 5 } };
        expect(await quotas.take('a', take(1, 0, lost))).toMatchObject({ granted: 1, left: 2 });
        await elapse(2 * MINUTE);
        const ended = { refillPerMs: 0, taker: takerOf('one', 8, 0) };
        expect(await quotas.take('a', take(1, 0, ended))).toMatchObject({ granted: 1, left: 9 });
      }));

    it('grant no more than there are to many who want them at once', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        const grants = await Promise.all(
          Array.from({ length: 40 }, (_, at) => stores[at % 2]?.quotas.take('a', take(1 + (at % 3), 0))),
        );
        expect(grants.reduce((sum, grant) => sum + (grant?.granted ?? 0), 0)).toBe(10);
      }));

    it('are what the calls make them, through two handles', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        let round = 0;
        const property = fc.asyncProperty(history, async (steps) => {
          round += 1;
          await playExactly(stores, `bucket ${round}`, steps);
        });
        await fc.assert(property, { numRuns: 25 });
      }));

    it('never grant more than their capacity and what came back, whatever the rate', () =>
      withStore(open, async ({ store, another }) => {
        const stores = [store, await another()];
        let round = 0;
        const rate = fc.double({ min: 0, max: 2, noNaN: true });
        const property = fc.asyncProperty(history, rate, async (steps, refillPerMs) => {
          round += 1;
          await playWithin(stores, `rate ${round}`, steps, refillPerMs);
        });
        await fc.assert(property, { numRuns: 25 });
      }));
  });
}

const CAPACITY = 12;

const history = fc.array(
  fc.record({
    handle: fc.nat({ max: 1 }),
    /** Callers' clocks differ. */
    nowMs: fc.integer({ min: 0, max: 300 }),
    want: fc.nat({ max: 8 }),
    give: fc.option(fc.nat({ max: 4 }), { freq: 3 }),
  }),
  { maxLength: 14 },
);

type Step = typeof history extends fc.Arbitrary<(infer T)[]> ? T : never;

/** In sixty-fourths of a permit, so that every sum is exact. */
async function playExactly(stores: readonly Store[], key: string, steps: readonly Step[]): Promise<void> {
  const rate = 3; // sixty-fourths per millisecond
  let there = CAPACITY * 64;
  let seenMs = -1;
  for (const { handle, nowMs, want, give } of steps) {
    const { quotas } = stores[handle] as Store;
    if (give !== null) {
      there = Math.min(CAPACITY * 64, there + give * 64);
      expect(await quotas.give(key, give, CAPACITY)).toBe(there >> 6);
      continue;
    }
    const call = { want, capacity: CAPACITY, refillPerMs: rate / 64, nowMs, ttlMs: MINUTE };
    const passedMs = seenMs < 0 ? 0 : Math.max(0, nowMs - seenMs);
    const refilled = Math.min(CAPACITY * 64, there + passedMs * rate);
    const granted = Math.min(want, refilled >> 6);
    const rest = refilled - granted * 64;
    const latestMs = seenMs < 0 ? nowMs : Math.max(seenMs, nowMs);
    const missing = ((rest >> 6) + 1) * 64 - rest;
    expect(await quotas.take(key, call)).toEqual({
      granted,
      left: rest >> 6,
      nextInMs: rest >> 6 === CAPACITY ? NEVER : latestMs - nowMs + Math.ceil(missing / rate),
    });
    if (want === 0) continue;
    there = rest;
    seenMs = latestMs;
  }
}

async function playWithin(
  stores: readonly Store[],
  key: string,
  steps: readonly Step[],
  refillPerMs: number,
): Promise<void> {
  let net = 0;
  const times: number[] = [];
  for (const { handle, nowMs, want, give } of steps) {
    const { quotas } = stores[handle] as Store;
    if (give !== null) {
      const back = Math.min(give, net);
      await quotas.give(key, back, CAPACITY);
      net -= back;
    } else {
      const call = { want, capacity: CAPACITY, refillPerMs, nowMs, ttlMs: MINUTE };
      const { granted, left, nextInMs } = await quotas.take(key, call);
      net += granted;
      times.push(nowMs);
      const cameBack = (Math.max(...times) - Math.min(...times)) * refillPerMs;
      expect(net).toBeLessThanOrEqual(CAPACITY + cameBack + 1e-6);
      expect(granted === want || left === 0).toBe(true);
      expect(nextInMs).toBeGreaterThan(0);
    }
  }
}
