import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createClock } from '../../../src/lib/clock.js';
import { createMemoryPresence } from '../../../src/store/embedded/embedded-store.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { createRedisStore, type RedisStore } from '../../../src/store/redis/redis-store.js';
import { completeTeam } from '../../../src/teams/auth/team.js';
import { createLimits, type Limits } from '../../../src/teams/limits/limits.js';
import { createReplicas, type Replicas } from '../../../src/teams/limits/replicas.js';
import { createRecordedLog } from '../../support/recorded-log.js';
import { type RedisServer, startRedis } from '../../support/redis.js';
import { waitFor } from '../../support/wait-for.js';

const { logger } = createRecordedLog();

describe('replicas', () => {
  it('count those that joined, and split a number among them', async () => {
    const presence = createMemoryPresence(createClock());
    const open = () => createReplicas({ presence, logger, beatMs: 5 });
    const [one, two, three, watcher] = [open(), open(), open(), open()];
    onTestFinished(() =>
      Promise.all([one, two, three, watcher].map((replica) => replica.leave())).then(() => {}),
    );
    expect([one.count, one.share(8)]).toEqual([1, 8]);
    for (const replica of [one, two, three]) await replica.join();
    expect(three.count).toBe(3);
    const all = [one, two, three, watcher];
    await seen(all, 3);
    const shares = (whole: number) => [one, two, three].map((replica) => replica.share(whole)).sort();
    expect([shares(8), shares(9), shares(1), shares(2)]).toEqual([
      [2, 3, 3],
      [3, 3, 3],
      [1, 1, 1],
      [1, 1, 1],
    ]);
    await two.leave();
    await seen([one, three, watcher], 2);
    expect([one.share(9), three.share(9)].sort()).toEqual([4, 5]);
  });

  it('keep the last count while the store is away, and leave without it', async () => {
    const presence = createMemoryPresence(createClock());
    let away = false;
    const guarded = {
      ...presence,
      list: () => (away ? Promise.reject(new StoreUnavailable('away')) : presence.list()),
      leave: (id: string) => (away ? Promise.reject(new StoreUnavailable('away')) : presence.leave(id)),
    };
    await presence.beat('another', '', 60_000);
    const replica = createReplicas({ presence: guarded, logger, beatMs: 60_000 });
    await replica.join();
    expect(replica.count).toBe(2);
    away = true;
    await replica.join();
    expect(replica.count).toBe(2);
    await replica.leave();
  });

  it('are counted on when the store is back and lists only those that have reached it', async () => {
    const presence = createMemoryPresence(createClock());
    let away = false;
    const guarded = {
      ...presence,
      list: () => (away ? Promise.reject(new StoreUnavailable('away')) : presence.list()),
    };
    await presence.beat('another', '', 60_000);
    let failures = 0;
    const onAway = () => {
      failures += 1;
    };
    const replica = createReplicas({ presence: guarded, logger, beatMs: 60_000, lapseMs: 1000, onAway });
    await replica.join();
    expect([replica.count, failures]).toEqual([2, 0]);
    away = true;
    await replica.join();
    await presence.leave('another');
    away = false;
    await replica.join();
    expect([replica.count, failures]).toEqual([2, 1]);
    await waitFor('the other to be given up', async () => {
      await replica.join();
      return replica.count === 1;
    });
    await replica.leave();
  });
});

async function seen(replicas: readonly Replicas[], count: number): Promise<void> {
  await waitFor('every replica to see all', () => replicas.every((replica) => replica.count === count));
}

describe('three replicas on one Redis', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.close());

  interface Replica extends Limits {
    readonly store: RedisStore;
  }

  async function openThree(prefix: string): Promise<[Replica, Replica, Replica]> {
    const open = async (): Promise<Replica> => {
      const store = await createRedisStore({
        connection: { url: server.url },
        prefix,
        timeoutMs: 2000,
        registryTimeoutMs: 2000,
        logger,
        clock: createClock(),
      });
      const limits = createLimits({ store, clock: createClock(), logger, teamOf: () => undefined });
      onTestFinished(async () => {
        await limits.close();
        await store.close();
      });
      await limits.replicas.join();
      return { ...limits, store };
    };
    const three: [Replica, Replica, Replica] = [await open(), await open(), await open()];
    await seen(
      three.map(({ replicas }) => replicas),
      3,
    );
    return three;
  }

  it.each([600])('accept %i requests a minute together, within a tenth', async (requestsPerMinute) => {
    const three = await openThree(`rate-${requestsPerMinute}`);
    const team = completeTeam({ id: 'growth', limits: { requestsPerMinute } });
    const startedMs = performance.now();
    let accepted = 0;
    // Each asks for twice its part, in waves of ten at once.
    for (let wave = 0; wave < (2 * requestsPerMinute) / 30; wave++) {
      await Promise.all(
        three.flatMap(({ teams }) =>
          Array.from({ length: 10 }, async () => {
            let leave = () => {};
            await Promise.resolve()
              .then(() =>
                teams.enter({ team }, (over) => {
                  leave = over;
                }),
              )
              .then(
                () => {
                  accepted += 1;
                },
                (error: unknown) => expect(error).toMatchObject({ code: 'rate_limited' }),
              );
            leave();
          }),
        ),
      );
    }
    const cameBack = ((performance.now() - startedMs) / 60_000) * requestsPerMinute;
    expect(accepted).toBeGreaterThanOrEqual(requestsPerMinute * 0.9);
    expect(accepted).toBeLessThanOrEqual(requestsPerMinute + cameBack);
  });

  it('keep to a third each when Redis is gone', async () => {
    const three = await openThree('gone');
    const team = completeTeam({ id: 'growth', limits: { requestsPerMinute: 300, maxConcurrent: 10_000 } });
    await server.kill();
    const startedMs = performance.now();
    const accepted = await Promise.all(
      three.map(async ({ teams }) => {
        for (let taken = 0; ; taken++) {
          try {
            await teams.enter({ team }, (leave) => leave());
          } catch (error) {
            expect(error).toMatchObject({ code: 'rate_limited' });
            return taken;
          }
        }
      }),
    );
    const cameBack = Math.ceil(((performance.now() - startedMs) / 60_000) * 100);
    for (const taken of accepted) {
      expect(taken).toBeGreaterThanOrEqual(100);
      expect(taken).toBeLessThanOrEqual(100 + cameBack);
    }
  });
});
