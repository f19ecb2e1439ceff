import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Allowances, Bucket } from '../../../src/teams/limits/allowance.js';

import { MINUTE, SECOND } from '../../support/test-clock.js';
import { createAllowanceRig } from './rig.js';

const perMinute = (capacity: number): Bucket => ({
  key: 'team',
  capacity,
  refillPerMs: capacity / MINUTE,
  ttlMs: 2 * MINUTE,
});
const perDay = (capacity: number): Bucket => ({ ...perMinute(capacity), refillPerMs: 0 });

/** Takes until one is refused. */
async function drain(allowances: Allowances, bucket: Bucket): Promise<number> {
  let taken = 0;
  while ((await allowances.take(bucket)) === null) taken += 1;
  return taken;
}

describe('permits that replicas share', () => {
  it('are never more than the bucket has, whoever asks when', async () => {
    const step = fc.record({
      replica: fc.nat(4),
      advanceMs: fc.constantFrom(0, 0, 0, 1, 10, 500, 5000, 70_000),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 200 }),
        fc.integer({ min: 1, max: 5 }),
        fc.array(step, { maxLength: 200 }),
        async (capacity, count, steps) => {
          const { clock, replicas } = createAllowanceRig(count);
          const bucket = perMinute(capacity);
          const startMs = clock.now();
          let accepted = 0;
          for (const { replica, advanceMs } of steps) {
            clock.advance(advanceMs);
            if ((await replicas[replica % count]?.take(bucket)) === null) accepted += 1;
            expect(accepted).toBeLessThanOrEqual(capacity + (clock.now() - startMs) * bucket.refillPerMs);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('are all there for the replicas together, but for what lies in their hands', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 2000 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 0, max: 90 }),
        async (capacity, count, seconds) => {
          const { clock, replicas } = createAllowanceRig(count);
          const bucket = perMinute(capacity);
          let accepted = 0;
          for (let second = 0; second <= seconds; second++) {
            for (const replica of replicas) accepted += await drain(replica, bucket);
            clock.advance(SECOND);
          }
          const there = Math.floor(capacity + seconds * SECOND * bucket.refillPerMs);
          expect(accepted).toBeLessThanOrEqual(there);
          // One that came back within the last wait may not have been asked for yet.
          expect(accepted).toBeGreaterThanOrEqual(Math.floor(there * 0.95) - 1);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('cost a trip for a batch, not one for each', async () => {
    const rig = createAllowanceRig(3);
    const bucket = perMinute(600);
    for (let request = 0; request < 500; request++)
      expect(await rig.replicas[request % 3]?.take(bucket)).toBeNull();
    expect(rig.trips).toBe(51);
    const idle = createAllowanceRig(1);
    await drain(idle.replicas[0] as Allowances, bucket);
    const before = idle.trips;
    for (let request = 0; request < 1000; request++) await idle.replicas[0]?.take(bucket);
    expect(idle.trips).toBe(before);
  });

  it('are drawn once for all who ask at once', async () => {
    const { replicas, ...rig } = createAllowanceRig(1);
    const bucket = perMinute(50);
    const asked = await Promise.all(Array.from({ length: 80 }, () => replicas[0]?.take(bucket)));
    expect(asked.filter((wait) => wait === null)).toHaveLength(50);
    expect(rig.trips).toBeLessThanOrEqual(4);
  });

  it('say when there will be one', async () => {
    const { clock, replicas } = createAllowanceRig(1);
    const [replica] = replicas as [Allowances];
    const bucket = perMinute(30);
    expect(await drain(replica, bucket)).toBe(30);
    expect(await replica.take(bucket)).toBe(2 * SECOND);
    clock.advance(500);
    expect(await replica.take(bucket)).toBe(1500);
    clock.advance(1500);
    expect(await replica.take(bucket)).toBeNull();
    expect(await drain(replica, perDay(2))).toBe(0);
    expect(await replica.take(perDay(2))).toBe(Number.POSITIVE_INFINITY);
  });

  it('follow a limit that is changed, within a second', async () => {
    const { clock, replicas } = createAllowanceRig(1);
    const [replica] = replicas as [Allowances];
    expect(await drain(replica, perDay(10))).toBe(10);
    clock.advance(SECOND);
    expect(await drain(replica, perDay(15))).toBe(5);
    clock.advance(SECOND);
    expect(await drain(replica, perDay(12))).toBe(0);
  });

  it.each([
    ['minute', perMinute, MINUTE],
    ['day', perDay, Number.POSITIVE_INFINITY],
  ])(
    'drawn under a limit a %s that was lowered since are given up, those at hand and those on their way',
    async (_per, of, waitMs) => {
      const rig = createAllowanceRig(2);
      const [one, other] = rig.replicas as [Allowances, Allowances];
      const [high, low] = [of(20_000), of(1)];
      for (const replica of [one, other]) expect(await replica.take(high)).toBeNull();
      const drawn = Promise.all([one.take(high), other.take(high)]);
      expect([one.takeAtHand(low), other.takeAtHand(low)]).toEqual([false, false]);
      await drawn;
      expect([await drain(one, low), await drain(other, low)]).toEqual([0, 0]);
      expect([one.takeAtHand(low), await one.take(low)]).toEqual([false, waitMs]);
      rig.clock.advance(MINUTE);
      expect([await drain(one, low), await drain(other, low)]).toEqual([waitMs === MINUTE ? 1 : 0, 0]);
    },
  );

  it('may be looked at without taking any', async () => {
    const { clock, replicas } = createAllowanceRig(2);
    const [one, other] = replicas as [Allowances, Allowances];
    const bucket = perMinute(60);
    expect(one.look(bucket).left).toBe(60);
    for (let request = 0; request < 10; request++) await one.take(bucket);
    expect(one.look(bucket).left).toBe(50);
    expect(await other.refresh(bucket)).toEqual({ left: 50, nextInMs: SECOND });
    clock.advance(5 * SECOND);
    expect(one.look(bucket).left).toBe(55);
    clock.advance(MINUTE);
    expect(one.look(bucket).left).toBe(60);
  });

  it('that were not used come back, at once or at the end', async () => {
    const { replicas } = createAllowanceRig(2);
    const [one, other] = replicas as [Allowances, Allowances];
    const bucket = perDay(200);
    expect(await one.take(bucket)).toBeNull();
    expect((await other.refresh(bucket)).left).toBe(195);
    one.putBack(bucket);
    expect((await one.refresh(bucket)).left).toBe(200);
    expect((await other.refresh(bucket)).left).toBe(200);
    expect(await one.take(bucket)).toBeNull();
    await one.close();
    expect((await other.refresh(bucket)).left).toBe(199);
  });

  it('lie with a replica for some seconds only, so that a full bucket is no more than full', async () => {
    const { clock, replicas } = createAllowanceRig(2);
    const [one, other] = replicas as [Allowances, Allowances];
    const bucket = perMinute(600);
    expect(await one.take(bucket)).toBeNull();
    clock.advance(10 * MINUTE);
    clock.advanceMonotonic(10 * MINUTE);
    expect(await drain(other, bucket)).toBe(600);
    expect(await drain(one, bucket)).toBe(0);
  });
});

describe('while the store is away', () => {
  it('each replica keeps to its part', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 1, max: 7 }),
        async (capacity, count) => {
          const rig = createAllowanceRig(count);
          rig.storeIsThere = false;
          const bucket = perMinute(capacity);
          const accepted: number[] = [];
          for (const replica of rig.replicas) accepted.push(await drain(replica, bucket));
          const sum = accepted.reduce((total, one) => total + one, 0);
          expect(sum).toBe(Math.max(capacity, count));
          expect(Math.max(...accepted) - Math.min(...accepted)).toBeLessThanOrEqual(1);
          rig.clock.advance(MINUTE / 2);
          const more = await drain(rig.replicas[0] as Allowances, bucket);
          expect(Math.abs(more - (accepted[0] as number) / 2)).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('a part begins with what the whole had left', async () => {
    const rig = createAllowanceRig(2);
    const [one, other] = rig.replicas as [Allowances, Allowances];
    const bucket = perDay(100);
    for (let request = 0; request < 40; request++) await one.take(bucket);
    await other.refresh(bucket);
    rig.storeIsThere = false;
    expect((await drain(one, bucket)) + (await drain(other, bucket))).toBe(60);
  });

  it('what is used of a bucket that never refills is charged when the store is back, so outages add none', async () => {
    const rig = createAllowanceRig(1);
    const [replica] = rig.replicas as [Allowances];
    const bucket = perDay(10);
    const back = async () => {
      rig.storeIsThere = true;
      await replica.settle();
    };
    await replica.take(bucket);
    for (const left of [6, 3]) {
      rig.storeIsThere = false;
      for (let call = 0; call < 3; call++) expect(await replica.take(bucket)).toBeNull();
      await back();
      expect((await replica.refresh(bucket)).left).toBe(left);
    }
    rig.storeIsThere = false;
    expect(await drain(replica, bucket)).toBe(3);
    await back();
    expect(await drain(replica, bucket)).toBe(0);
  });

  it('the store is asked by no request, but each time use is settled', async () => {
    const rig = createAllowanceRig(1);
    const [replica] = rig.replicas as [Allowances];
    const bucket = perMinute(10);
    rig.storeIsThere = false;
    await drain(replica, bucket);
    expect(rig.trips).toBe(1);
    await replica.settle();
    expect(rig.trips).toBe(2);
    rig.storeIsThere = true;
    await replica.settle();
    const settled = rig.trips;
    rig.clock.advance(SECOND);
    expect((await replica.take(bucket)) ?? 0).toBeCloseTo(5 * SECOND, -1);
    expect(rig.trips).toBe(settled + 1);
  });

  it.each([1, 2])('%d replicas have no more requests a minute for many short outages', async (count) => {
    const rig = createAllowanceRig(count);
    const bucket = perMinute(60);
    let accepted = 0;
    const askAll = async () => {
      for (const replica of rig.replicas) accepted += await drain(replica, bucket);
    };
    const elapse = (ms: number) => {
      rig.clock.advance(ms);
      rig.clock.advanceMonotonic(ms);
    };
    const settleAll = () => Promise.all(rig.replicas.map((replica) => replica.settle()));
    for (let second = 0; second < 28; second += 4) {
      await askAll();
      rig.storeIsThere = false;
      await askAll();
      elapse(SECOND);
      rig.storeIsThere = true;
      await settleAll();
      await askAll();
      elapse(3 * SECOND);
      await settleAll();
    }
    expect(accepted).toBeLessThanOrEqual(60 + 28);
    expect(accepted).toBeGreaterThan(60);
  });

  it('requests that have come back meanwhile are not charged when the store is back', async () => {
    const rig = createAllowanceRig(1);
    const [replica] = rig.replicas as [Allowances];
    const bucket = perMinute(60);
    rig.storeIsThere = false;
    for (let minute = 0; minute < 5; minute++) {
      for (let request = 0; request < 30; request++) await replica.take(bucket);
      await replica.settle();
      rig.clock.advance(MINUTE);
      rig.clock.advanceMonotonic(MINUTE);
    }
    rig.storeIsThere = true;
    await replica.settle();
    expect(await drain(replica, bucket)).toBe(60);
  });

  it('is told from a defect, which is thrown', async () => {
    const rig = createAllowanceRig(1);
    const [replica] = rig.replicas as [Allowances];
    await expect(replica.take({ ...perDay(10), capacity: Number.NaN })).rejects.toThrow(RangeError);
  });

  it('what is in hand is not given back, and closing does not fail', async () => {
    const rig = createAllowanceRig(1);
    const [replica] = rig.replicas as [Allowances];
    await replica.take(perDay(100));
    rig.storeIsThere = false;
    await replica.close();
    expect((await rig.quotas.take('team', { ...perDay(100), want: 0, nowMs: rig.clock.now() })).left).toBe(
      95,
    );
  });
});

describe('a bucket that never refills, of two replicas, after an outage', () => {
  const bucket = perDay(30);

  async function open() {
    const rig = createAllowanceRig(2);
    const [one, other] = rig.replicas as [Allowances, Allowances];
    const settleBoth = async () => {
      for (const replica of [one, other]) await replica.settle();
      await new Promise((resolve) => setImmediate(resolve));
    };
    const takeOf = async (replica: Allowances, count: number) => {
      for (let call = 0; call < count; call++) expect(await replica.take(bucket)).toBeNull();
    };
    const left = async () =>
      (await rig.quotas.take('team', { ...bucket, want: 0, nowMs: rig.clock.now() })).left;
    const elapse = (ms: number) => rig.clock.advanceMonotonic(ms);
    return { rig, one, other, settleBoth, takeOf, left, elapse };
  }

  it('is charged with what was used meanwhile although nobody asks again, and never used for more', async () => {
    const { rig, one, other, settleBoth, left, elapse } = await open();
    rig.storeIsThere = false;
    let used = (await drain(one, bucket)) + (await drain(other, bucket));
    expect(used).toBe(30);
    rig.storeIsThere = true;
    await one.settle();
    expect(await left()).toBe(15);
    used += await drain(one, bucket);
    await other.settle();
    expect(await left()).toBe(0);
    elapse(3 * SECOND);
    await settleBoth();
    used += (await drain(one, bucket)) + (await drain(other, bucket));
    expect(used).toBe(30);
  });

  it('is used for the part of what is left, also by a replica that never drew from it', async () => {
    const { rig, one, other, settleBoth, takeOf } = await open();
    await takeOf(one, 20);
    await settleBoth();
    rig.storeIsThere = false;
    expect([await drain(other, bucket), await drain(one, bucket)]).toEqual([5, 5]);
  });

  it('is kept to its part by a replica that noticed the outage by its beat alone', async () => {
    const { rig, one, other, settleBoth, takeOf, elapse } = await open();
    await takeOf(one, 4);
    await settleBoth();
    rig.storeIsThere = false;
    one.sawAway();
    expect(await drain(other, bucket)).toBe(13);
    rig.storeIsThere = true;
    await one.settle();
    expect(await drain(one, bucket)).toBe(13);
    elapse(3 * SECOND);
    await settleBoth();
    expect([await drain(one, bucket), await drain(other, bucket)]).toEqual([0, 0]);
  });

  it('is charged beyond its limit if a replica used its part where the others used the store', async () => {
    const { rig, one, other, settleBoth, takeOf, left, elapse } = await open();
    await takeOf(one, 2);
    await settleBoth();
    rig.isCutOff = other;
    expect(await drain(other, bucket)).toBe(14);
    await takeOf(one, 28);
    rig.isCutOff = null;
    await other.settle();
    expect(await left()).toBe(0);
    const raised = { ...bucket, capacity: 50, want: 0, nowMs: rig.clock.now() };
    expect((await rig.quotas.take('team', raised)).left).toBe(50 - 44);
    elapse(3 * SECOND);
    await settleBoth();
    expect(await drain(other, bucket)).toBe(0);
  });

  it('is charged once for calls that were made although their answers were lost', async () => {
    const { rig, one, settleBoth, takeOf, left, elapse } = await open();
    await takeOf(one, 3);
    rig.answersAreLost = true;
    // The first is made by the store and the replica's part pays for it.
    await takeOf(one, 5);
    await one.settle();
    await one.settle();
    rig.answersAreLost = false;
    await settleBoth();
    expect(await left()).toBe(22);
    elapse(3 * SECOND);
    await settleBoth();
    await takeOf(one, 1);
    expect(await left()).toBe(21);
  });

  it('of a day that ended meanwhile is charged to that day', async () => {
    const { rig, one, settleBoth, left } = await open();
    const next = { ...bucket, key: 'tomorrow' };
    rig.storeIsThere = false;
    for (let call = 0; call < 4; call++) await one.take(bucket);
    for (let call = 0; call < 2; call++) await one.take(next);
    rig.storeIsThere = true;
    await settleBoth();
    expect(await left()).toBe(26);
    const take = { ...next, want: 0, nowMs: rig.clock.now() };
    expect((await rig.quotas.take('tomorrow', take)).left).toBe(28);
  });

  it('is charged by a replica that ends, if the store is there; else that is logged', async () => {
    const { rig, one, other, left } = await open();
    rig.storeIsThere = false;
    for (const replica of [one, other]) for (let call = 0; call < 4; call++) await replica.take(bucket);
    await other.close();
    expect(rig.log.lines).toContainEqual(expect.objectContaining({ buckets: ['team'] }));
    rig.storeIsThere = true;
    await one.close();
    expect(await left()).toBe(26);
  });
});

describe('a clock that is set', () => {
  it.each([-60 * MINUTE, 60 * MINUTE])(
    'by %d ms keeps nobody waiting for longer than a permit takes',
    async (ms) => {
      const { clock, replicas } = createAllowanceRig(2);
      const [one, other] = replicas as [Allowances, Allowances];
      const bucket = perMinute(60);
      await drain(one, bucket);
      clock.advance(ms);
      expect(one.look(bucket).nextInMs).toBeLessThanOrEqual(SECOND);
      for (const replica of [one, other]) {
        await drain(replica, bucket);
        expect(await replica.take(bucket)).toBeLessThanOrEqual(SECOND);
      }
      clock.advance(SECOND);
      expect(await one.take(bucket)).toBeNull();
    },
  );
});
