/** A Redis that refuses writes for its memory is used up: that of the registry, or that of the cache alone. */
import { Redis } from 'ioredis';
import type { Gateway } from '../../../support/processes.js';
import { startRedis } from '../../../support/redis.js';
import { faultsAfter } from '../check.js';
import { newDiary, startWorks } from '../works.js';
import { openWorld, type World } from '../world.js';
import { type Found, inWorld, type Limit } from './limit.js';
import { missingTeams, others, startProbe, told, waitUntilTold } from './probe.js';

const NO_EVICTION = ['--maxmemory-policy', 'noeviction'];
const [MADE, REFUSED] = ['201', '503 not_ready'];

export const REDIS_FULL: Limit = {
  name: 'Redis out of memory',
  what: 'The Redis of the registry (noeviction) has no memory left for writes among changes and writes, and gets some again.',
  play: async ({ chance }) => {
    const world = await openWorld({
      ...{ name: 'Redis, full', what: '', count: 2, env: {}, victim: 'either' },
      redisArgs: ['--appendonly', 'yes', '--appendfsync', 'always', ...NO_EVICTION],
    });
    return await inWorld(world, () => play(world, world.redis?.url ?? '', chance, REFUSED));
  },
};

export const CACHE_REDIS_FULL: Limit = {
  name: 'Cache’s Redis out of memory',
  what: 'The Redis of the cache (noeviction) has no memory left for writes: changes are taken all the same.',
  play: async ({ chance }) => {
    const registry = await startRedis();
    try {
      const world = await openWorld({
        ...{ name: 'Redis, cache full', what: '', count: 2, victim: 'either', redisArgs: NO_EVICTION },
        env: { REDIS_REGISTRY_URL: registry.url },
      });
      return await inWorld(world, () => play(world, world.redis?.url ?? '', chance, MADE));
    } finally {
      await registry.close();
    }
  },
};

/** @param meanwhile what changes are told */
async function play(world: World, url: string, chance: () => number, meanwhile: string): Promise<Found> {
  const client = new Redis(url);
  const diary = newDiary();
  const gateway = world.gateways[0] as Gateway;
  const stop = startWorks(world, diary, { chance, imports: false });
  const probe = await startProbe(world);
  let worstMs = 0;
  try {
    await waitUntilTold(gateway, probe.changes, MADE);
    await client.config('SET', 'maxmemory', '1');
    await waitUntilTold(gateway, probe.changes, meanwhile, 5);
    await waitUntilTold(gateway, probe.reports, '200', 10);
    const freedMs = performance.now();
    await client.config('SET', 'maxmemory', '0');
    await waitUntilTold(gateway, probe.changes, MADE);
    worstMs = performance.now() - freedMs;
  } finally {
    await probe.stop();
    await stop();
    client.disconnect();
  }
  const allowed = [...new Set([MADE, meanwhile])];
  const faults = [
    ...probe.faults,
    ...others('a change', probe.changes, allowed),
    ...others('a report', probe.reports, ['200']),
    ...(await missingTeams(world, probe)),
    ...(await faultsAfter(world, diary)),
  ];
  return {
    ...{ times: 1, faults },
    worst: `${Math.round(worstMs)} ms until a change was taken again`,
    note: `${diary.steps} changes and writes acknowledged; changes ${told(probe.changes)}; reports ${told(probe.reports)}; a caller waited ${Math.round(probe.worstMs)} ms at most`,
  };
}
