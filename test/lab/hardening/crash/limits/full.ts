/** A disk, or a Redis, with no room left among changes and writes, and then some again. */
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { Gateway } from '../../../../support/processes.js';
import { startRedis } from '../../../../support/redis.js';
import { faultsAfter } from '../check.js';
import { newDiary, startWorks } from '../works.js';
import { openWorld, type World } from '../world.js';
import { type Found, inWorld, type Limit } from './limit.js';
import { missingTeams, others, startProbe, told, waitUntilTold } from './probe.js';
import { makeSmallDisk } from './small-disk.js';

/** Above what is kept free for changes (32 MiB), so that there is room at first. */
const DISK_MIB = 96;
const TIMES = 2;
const NO_EVICTION = ['--maxmemory-policy', 'noeviction'];
const [MADE, REFUSED] = ['201', '503 not_ready'];

interface Room {
  fill(): Promise<unknown>;
  free(): Promise<unknown>;
}

/** What was answered while there was no room may not be remembered, as with a Redis that is killed: hence `either`. */
const KIND = { what: '', victim: 'either', env: {} } as const;

export const FULL_DISK: Limit = {
  name: 'Disk full',
  what: 'The disk of the data folder and its cache is filled by a file among changes and writes, and freed.',
  async play(chance) {
    const disk = await makeSmallDisk(DISK_MIB);
    if (typeof disk === 'string') return disk;
    const env = { GATEWAY_DATA_DIR: join(disk.folder, 'data') };
    try {
      const world = await openWorld({ ...KIND, name: 'Embedded, small disk', count: 1, env });
      return await inWorld(world, () => playFull(world, disk, chance, REFUSED));
    } finally {
      await disk.remove();
    }
  },
};

export const REDIS_FULL: Limit = {
  name: 'Redis out of memory',
  what: 'The Redis of the registry (noeviction) has no memory left for writes among changes and writes, and gets some again.',
  async play(chance) {
    const redisArgs = ['--appendonly', 'yes', '--appendfsync', 'always', ...NO_EVICTION];
    const world = await openWorld({ ...KIND, name: 'Redis, full', count: 2, redisArgs });
    return await inWorld(world, () => playFullRedis(world, chance, REFUSED));
  },
};

export const CACHE_REDIS_FULL: Limit = {
  name: 'Cache’s Redis out of memory',
  what: 'The Redis of the cache (noeviction) has no memory left for writes: changes are taken all the same.',
  async play(chance) {
    const registry = await startRedis();
    const env = { REDIS_REGISTRY_URL: registry.url };
    try {
      const kind = { ...KIND, name: 'Redis, cache full', count: 2, redisArgs: NO_EVICTION, env };
      return await inWorld(await openWorld(kind), (world) => playFullRedis(world, chance, MADE));
    } finally {
      await registry.close();
    }
  },
};

async function playFullRedis(world: World, chance: () => number, meanwhile: string): Promise<Found> {
  const client = new Redis(world.redis?.url ?? '');
  const limit = (bytes: string) => () => client.config('SET', 'maxmemory', bytes);
  try {
    return await playFull(world, { fill: limit('1'), free: limit('0') }, chance, meanwhile);
  } finally {
    client.disconnect();
  }
}

/** @param meanwhile what changes are told */
async function playFull(world: World, room: Room, chance: () => number, meanwhile: string): Promise<Found> {
  const diary = newDiary();
  const faults: string[] = [];
  let [worstMs, note] = [0, ''];
  for (let turn = 0; turn < TIMES; turn += 1) {
    const gateway = world.gateways[0] as Gateway;
    const stop = startWorks(world, diary, { chance, imports: false });
    const probe = await startProbe(world);
    try {
      await waitUntilTold(gateway, probe.changes, MADE);
      await room.fill();
      await waitUntilTold(gateway, probe.changes, meanwhile, 5);
      await waitUntilTold(gateway, probe.reports, '200', 10);
      const freedMs = performance.now();
      await room.free();
      await waitUntilTold(gateway, probe.changes, MADE);
      worstMs = Math.max(worstMs, performance.now() - freedMs);
    } finally {
      await probe.stop();
      await stop();
    }
    faults.push(...probe.faults, ...others('a change', probe.changes, [MADE, meanwhile]));
    faults.push(...others('a report', probe.reports, ['200']));
    faults.push(...(await missingTeams(world, probe)), ...(await faultsAfter(world, diary)));
    note = `changes of the last time ${told(probe.changes)}; reports ${told(probe.reports)}`;
  }
  return {
    times: TIMES,
    faults,
    worst: `${Math.round(worstMs)} ms until a change was taken again`,
    note: `${diary.steps} changes and writes acknowledged; ${note}`,
  };
}
