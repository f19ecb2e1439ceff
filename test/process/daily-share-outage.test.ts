/** A daily share of platform calls, of two gateways on a Redis that is away for a while. */
import { describe, it } from 'vitest';
import { ask, newTeam, REPORT, simulatorOf } from '../support/ask.js';
import { openRedisScene } from '../support/on-redis.js';
import { type Gateway, startGateway } from '../support/processes.js';
import type { RedisServer } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const LIMIT = 30;
const MEANWHILE = 9;

interface Outage {
  readonly how: string;
  begin(redis: RedisServer): Promise<void>;
  end(redis: RedisServer): Promise<void>;
}

const OUTAGES: readonly Outage[] = [
  {
    how: 'killed, and started again without its data',
    begin: (redis) => redis.kill(),
    end: (redis) => redis.restart(),
  },
  {
    how: 'stopped, and continued with the commands that waited',
    begin: async (redis) => redis.pause(),
    end: async (redis) => redis.resume(),
  },
];

/** Uncached reports of different advertisers, one after another. */
function createAsker(key: string) {
  let advertiser = 0;
  return async (gateway: Gateway, count: number): Promise<void> => {
    for (let left = count; left > 0; left -= 1) {
      advertiser += 1;
      await ask(`${gateway.data}${REPORT}?advertiserId=${advertiser}&_period=yesterday`, { key });
    }
  };
}

describe.concurrent('a daily share of two replicas', () => {
  it.for(OUTAGES)('is not exceeded after Redis was $how', async ({ begin, end }, { expect }) => {
    const { platform, redis, env } = await openRedisScene();
    const [one, two] = await Promise.all([startGateway(env), startGateway(env)]);
    const { key } = await newTeam(one, {
      id: 'growth',
      limits: { requestsPerMinute: 10_000, upstreamCallsPerDay: LIMIT },
    });
    const me = async (gateway: Gateway) => ask(`${gateway.data}/gateway/v1/me`, { key });
    const leftAt = async (gateway: Gateway) =>
      (await me(gateway)).json<{ left: { upstreamCallsPerDay: number } }>().left.upstreamCallsPerDay;
    await waitFor('the key on both', async () => (await me(two)).status === 200);
    const calls = async () =>
      (await simulatorOf(platform.url).calls()).filter(({ path }) => path.includes('/report/')).length;
    const askFor = createAsker(key);

    await askFor(one, 4);
    await waitFor('the other to know', async () => (await leftAt(two)) === LIMIT - 4);
    await begin(redis);
    // Fewer than its part of the 26 that are left; the first has no calls meanwhile.
    await askFor(two, MEANWHILE);
    expect(await calls()).toBe(4 + MEANWHILE);
    await end(redis);
    // The team asks the first alone: the second charges what it used by itself.
    await waitFor('all of it charged', async () => (await leftAt(one)) === LIMIT - 4 - MEANWHILE);
    // It keeps to its part until the other has had time to charge, so some of these may be refused at first.
    await waitFor('all of the share used', async () => {
      await askFor(one, 1);
      return (await calls()) >= LIMIT;
    });
    await askFor(one, 5);
    await askFor(two, 5);
    expect(await calls()).toBe(LIMIT);
  });
});
