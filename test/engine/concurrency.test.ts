/** Many at once, on three replicas that share one store. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/port.js';
import { runs } from '../support/runs.js';
import { gatewayAt, outcomeOf, type Reply, reportIn, type TestGateway } from '../support/start-gateway.js';
import { createTestClock } from '../support/test-clock.js';
import { waitFor } from '../support/wait-for.js';
import { startDayPlatform } from './day-platform.js';
import { withReplicas } from './replicas.js';
import { shiftDay } from './world.js';

/** The platform's day; the 15th is the last final one. */
const TODAY = '2026-11-21';
const day = (ago: number) => shiftDay(TODAY, -ago);
const query = (from: string, to: string, advertiserId = 1) =>
  `advertiserId=${advertiserId}&byDate=1&dateFrom=${from}&dateTo=${to}`;

const configOf = (settings: object, divisible: 'auto' | 'always') => ({
  // Calls end by the test; a slow machine must not end them.
  platform: { retry: { attempts: 0 }, timeoutMs: 110_000, ...settings },
  report: { crossCheckEvery: 0, endpoints: { 'campaigns/get': { divisible, readByPost: true } } },
});

async function three(divisible: 'auto' | 'always' = 'always') {
  const platform = await startDayPlatform();
  // So many that each has enough of them, even while it has not counted the others yet, or has just done so.
  const config = configOf({ maxConcurrent: 24 }, divisible);
  const replicas = await withReplicas({ platform, clock: createTestClock(), count: 3, config });
  const gateways = replicas.all as [TestGateway, TestGateway, TestGateway];
  return { platform, replicas, key: replicas.key, gateways };
}

/** A gateway that shares its turns with nobody. */
async function alone(settings: object, wrapStore = (store: Store) => store) {
  const platform = await startDayPlatform();
  const gateway = await gatewayAt(platform, { config: configOf(settings, 'always'), wrapStore });
  return { platform, gateway, key: await gateway.addTeam() };
}

/** What the rows of an answer say: one revision, or several in the order of the days. */
function revisionsIn(reply: Reply): unknown[] {
  return [...new Set(reportIn(reply).data.map(({ impressions }) => impressions))];
}

describe('identical questions at once, on all replicas', () => {
  it.each<['auto' | 'always', string]>([
    ['always', 'split by day'],
    ['auto', 'as a whole'],
  ])('divisible: %s, %s: one platform call', async (divisible) => {
    const { platform, gateways, key } = await three(divisible);
    platform.hold(() => true);
    const asked = Array.from({ length: 300 }, (_, at) =>
      (gateways[at % 3] as TestGateway).report(key, query(day(12), day(6))),
    );
    await platform.arrived(1);
    platform.release();
    const replies = await Promise.all(asked);
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1);
    expect(platform.calls).toHaveLength(1);
  });

  it('are each refused or let in by themselves, before they wait', async () => {
    const { platform, replicas, gateways, key } = await three();
    const foreign = await gateways[0].addTeam({ advertisers: [2] });
    await replicas.agreed();
    platform.hold(() => true);
    const leader = gateways[0].report(key, query(day(12), day(6)));
    await platform.arrived(1);
    // The platform is still being asked: whoever is refused did not wait for it.
    for (const gateway of gateways) {
      expect(outcomeOf(await gateway.report(foreign, query(day(12), day(6))))).toBe(
        '403 advertiser_forbidden',
      );
    }
    expect(platform.held).toHaveLength(1);
    platform.release();
    expect(outcomeOf(await leader)).toBe('200');
  });

  it('beyond what may wait are told to come again, and the others are answered', async () => {
    const { platform, gateway, key } = await alone({ maxConcurrent: 1, maxQueued: 2 });
    platform.hold(() => true);
    const asked = Array.from({ length: 6 }, (_, at) => gateway.report(key, query(day(6), day(6), at + 1)));
    await platform.arrived(1);
    const refused = await Promise.race(asked);
    expect([outcomeOf(refused), refused.headers['retry-after']]).toEqual(['503 overloaded', '1']);
    platform.release();
    expect((await Promise.all(asked)).map(outcomeOf).toSorted()).toEqual([
      ...Array(3).fill('200'),
      ...Array(3).fill('503 overloaded'),
    ]);
    const { verdict } = await gateway.manage('GET', '/status');
    expect(verdict).toMatchObject({
      findings: expect.arrayContaining([
        expect.objectContaining({
          part: 'slots',
          says: expect.stringContaining('3 requests waited for a free slot and got none'),
        }),
      ]),
    });
    const { requests } = await gateway.manage('GET', '/requests');
    expect(requests).toMatchObject(Array(3).fill({ code: 'overloaded', cause: 'no free slot' }));
  });
});

describe('overlapping ranges in flight', () => {
  it('never fetch a day twice, whoever asks and whichever answer comes first', async () => {
    const { platform, gateways, key } = await three();
    let advertiserId = 0;
    const range = fc.tuple(fc.nat(24), fc.integer({ min: 1, max: 12 }), fc.nat(2));
    const property = fc.asyncProperty(
      fc.array(range, { minLength: 2, maxLength: 5 }),
      fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
      async (ranges, order) => {
        advertiserId += 1;
        const before = platform.calls.length;
        const twice: string[] = [];
        platform.hold((call) => {
          const others = platform.calls.slice(before).filter((other) => other !== call);
          const underWay = others.filter(({ answered }) => !answered).flatMap(({ days }) => days);
          const known = others.filter(({ answered }) => answered).flatMap(({ days }) => days);
          twice.push(...call.days.filter((one) => underWay.includes(one)));
          // A call may run over known days to reach others, but neither begins nor ends with them.
          twice.push(...[call.from, call.to].filter((one) => known.includes(one)));
          return true;
        });
        const asked: Promise<Reply>[] = [];
        let left = ranges.length;
        for (const [ago, length, replica] of ranges) {
          const from = day(30 - ago);
          const gateway = gateways[replica] as TestGateway;
          const reply = gateway.report(key, query(from, shiftDay(from, length - 1), advertiserId));
          asked.push(reply.finally(() => (left -= 1)));
          // So that they come one after another, and find each other's calls under way.
          await platform.arrived(before + 1);
        }
        for (let turn = 0; left > 0; turn++) {
          await waitFor('a call or the end', () => platform.held.length > 0 || left === 0);
          const { held } = platform;
          held[(order[turn % order.length] as number) % Math.max(1, held.length)]?.answer();
        }
        for (const reply of await Promise.all(asked)) expect(reply.status).toBe(200);
        expect(twice).toEqual([]);
      },
    );
    await fc.assert(property, runs(10, 25));
  });
});

describe('a backfill of 400 days in flight', () => {
  it.each<[string, number]>([
    ['the same replica', 0],
    ['another replica', 1],
  ])('does not make a question about yesterday wait: asked on %s', async (_where, at) => {
    const { platform, gateways, key } = await three();
    platform.hold(({ days }) => days.length > 1);
    const backfill = gateways[0].report(key, query(day(401), day(2)));
    await platform.arrived(1);
    const reply = await (gateways[at] as TestGateway).report(key, query(day(1), day(1)));
    expect(reportIn(reply).meta.rowCount).toBe(1);
    // Nothing of the backfill was answered yet.
    expect(platform.calls.filter(({ answered }) => answered)).toHaveLength(1);
    platform.release();
    expect(reportIn(await backfill).meta.rowCount).toBe(400);
    expect(platform.calls).toHaveLength(6);
  });

  it.each<[string, number]>([
    ['the same replica', 0],
    ['another replica', 1],
  ])('that holds yesterday itself lets it wait for that one call alone: on %s', async (_where, at) => {
    const { platform, gateways, key } = await three();
    platform.hold(() => true);
    const backfill = gateways[0].report(key, query(day(400), day(1)));
    await platform.arrived(1);
    const asked = gateways[at] as TestGateway;
    const yesterday = asked.report(key, query(day(1), day(1)));
    await expect.poll(() => asked.services.reporting.waiting()).toBe(1);
    const newest = platform.calls.filter(({ to }) => to === day(1));
    expect(newest).toHaveLength(1);
    newest[0]?.answer();
    expect(reportIn(await yesterday).meta.rowCount).toBe(1);
    expect(platform.calls.filter(({ answered }) => answered)).toEqual(newest);
    platform.release();
    expect(reportIn(await backfill).meta.rowCount).toBe(400);
    expect(platform.calls).toHaveLength(5);
  });
});

/** @returns what waits for it, until it is opened */
function gate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const passing = { waiting: 0, open, opened };
  return passing;
}

/** Laid between the gateway and its store: what is named waits at its gate, from when there is one. */
function gates() {
  const at: Partial<Record<'read' | 'write' | 'claim', ReturnType<typeof gate>>> = {};
  const held =
    <Args extends unknown[], T>(name: keyof typeof at, call: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      const passing = at[name];
      if (passing !== undefined) {
        passing.waiting += 1;
        await passing.opened;
      }
      return call(...args);
    };
  const wrap = (store: Store): Store => ({
    ...store,
    days: {
      ...store.days,
      read: held('read', store.days.read),
      write: held('write', store.days.write),
      claim: held('claim', store.days.claim),
    },
    leases: { ...store.leases, claim: held('claim', store.leases.claim) },
  });
  return { at, wrap };
}

describe('a store that grants locks late', () => {
  it('has no day fetched again that this process has in hand and has not written yet', async () => {
    const { at, wrap } = gates();
    const { platform, gateway, key } = await alone({}, wrap);
    platform.hold(() => true);
    const first = gateway.report(key, query(day(9), day(6)));
    await platform.arrived(1);
    at.read = gate();
    at.write = gate();
    const second = gateway.report(key, query(day(8), day(7)));
    await expect.poll(() => at.read?.waiting).toBe(1);
    platform.release();
    expect(outcomeOf(await first)).toBe('200');
    at.claim = gate();
    at.read.open();
    expect(reportIn(await second).meta.rowCount).toBe(2);
    expect([at.write.waiting, at.claim.waiting]).toEqual([1, 1]);
    expect(platform.calls).toHaveLength(1);
    for (const passing of Object.values(at)) passing.open();
  });
});

describe('of several calls for one report', () => {
  it.each([2, 3])('one turn of %s is left for others, on whichever replica', async (maxConcurrent) => {
    const { platform, gateway, key } = await alone({ maxConcurrent });
    platform.hold(({ days }) => days.length > 1);
    const backfill = gateway.report(key, query(day(401), day(2)));
    await platform.arrived(maxConcurrent - 1);
    expect(reportIn(await gateway.report(key, query(day(1), day(1)))).meta.rowCount).toBe(1);
    expect(platform.held).toHaveLength(maxConcurrent - 1);
    platform.release();
    expect(reportIn(await backfill).meta.rowCount).toBe(400);
    expect(platform.calls).toHaveLength(6);
  });
});

describe('whoever waits for a call that is under way', () => {
  it('waits for that call and no other, though the platform has no turn left', async () => {
    const { platform, gateway, key } = await alone({ maxConcurrent: 2 });
    platform.hold(() => true);
    const first = gateway.report(key, query(day(9), day(6), 1));
    await platform.arrived(1);
    const others = [2, 3, 4].map((id) => gateway.report(key, query(day(9), day(6), id)));
    await platform.arrived(2);
    const waiting = gateway.report(key, query(day(8), day(7), 1));
    await platform.arrived(2);
    platform.calls[0]?.answer();
    expect(outcomeOf(await first)).toBe('200');
    // The turn that became free went to the next in line, and is held.
    expect(reportIn(await waiting).meta.rowCount).toBe(2);
    expect(platform.held.map(({ advertiserId }) => advertiserId)).not.toContain('1');
    platform.release();
    expect((await Promise.all(others)).map(outcomeOf)).toEqual(['200', '200', '200']);
  });
});

describe('a purge while the platform is being asked', () => {
  it('makes what was asked for before it worth nothing, on every replica', async () => {
    const { platform, gateways, key } = await three();
    platform.hold(() => true);
    const before = gateways[0].report(key, query(day(9), day(6)));
    await platform.arrived(1);
    platform.revision = 2;
    const first = gateways[0].services.purges.seq;
    await gateways[1].manage('POST', '/cache/purge', { advertiserId: 1 });
    await expect
      .poll(() => gateways.map(({ services }) => services.purges.seq))
      .toEqual(gateways.map(() => first + 1));
    platform.release();
    expect(revisionsIn(await before)).toEqual([2]);
    for (const gateway of gateways) {
      expect(revisionsIn(await gateway.report(key, query(day(9), day(6))))).toEqual([2]);
    }
    expect(platform.calls).toHaveLength(2);
  });

  it('leaves nothing of it for when the platform fails', async () => {
    const { platform, replicas, gateways, key } = await three();
    await gateways[0].report(key, query(day(9), day(0)));
    replicas.clock.advance(7_200_000);
    platform.hold(() => true);
    const asked = gateways[0].report(key, query(day(9), day(0)));
    await platform.arrived(2);
    platform.revision = 2;
    await gateways[0].manage('POST', '/cache/purge', { advertiserId: 1 });
    platform.release();
    // Days that were fresh when it was asked are as void as those that were being fetched.
    expect(revisionsIn(await asked)).toEqual([2]);
  });
});

describe('a purge', () => {
  it.each<[string, object, readonly number[]]>([
    ['of another advertiser', { advertiserId: 2 }, []],
    ['of a day', { from: day(8), to: day(8) }, [8]],
    ['of days from', { advertiserId: 1, from: day(7) }, [7, 6]],
  ])('%s is in force on every replica, for those days and no other', async (_what, scope, gone) => {
    const { platform, gateways, key } = await three();
    for (const gateway of gateways) await gateway.report(key, query(day(9), day(6)));
    expect(platform.calls).toHaveLength(1);
    platform.revision = 2;
    const first = gateways[0].services.purges.seq;
    await gateways[2].manage('POST', '/cache/purge', scope);
    await expect
      .poll(() => gateways.map(({ services }) => services.purges.seq))
      .toEqual(gateways.map(() => first + 1));
    for (const gateway of gateways) {
      const rows = reportIn(await gateway.report(key, query(day(9), day(6)))).data;
      expect(rows.filter(({ impressions }) => impressions === 2).map(({ date }) => date)).toEqual(
        gone.map(day),
      );
    }
    expect(platform.calls.slice(1).flatMap(({ days }) => days)).toEqual(gone.map(day));
  });
});
