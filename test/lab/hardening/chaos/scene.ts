/** A fleet on one kind of Redis, with the faults that can be had there. */
import { Redis } from 'ioredis';
import { startCluster, startSentinels } from '../../../store/redis/topologies.js';
import type { Fault, FaultProxy } from '../../../support/fault-proxy.js';
import { startFaultProxy } from '../../../support/fault-proxy.js';
import { type RedisServer, startRedis } from '../../../support/redis.js';
import { endLater, type Fleet, GATEWAYS, startFleet } from './fleet.js';

export interface Trouble {
  readonly name: string;
  /** One sentence. */
  readonly what: string;
  /** Refusals that it explains: '503 not_ready'. */
  readonly codes: readonly string[];
  /** Whether promises that hold where the store answers are put off. */
  readonly isOfStore: boolean;
  on(): Promise<void>;
  off(): Promise<void>;
}

export interface Scene {
  readonly fleet: Fleet;
  readonly troubles: readonly Trouble[];
  /** Fetch locks that are held. */
  locks(): Promise<string[]>;
  end(): Promise<void>;
}

const PLATFORM = [
  ...['502 upstream_error', '502 upstream_invalid_response', '503 upstream_circuit_open'],
  ...['503 overloaded', '504 upstream_timeout', '503 credential_unavailable'],
];
/** What is limited across replicas is refused without the store. */
const STORE = ['503 not_ready', '503 write_guard_unavailable'];
const NONE: Fault = { kind: 'none' };

/** One server, each gateway by a proxy of its own. */
export async function openPlainScene(seed: number): Promise<Scene> {
  const redis = await startRedis({ args: ['--appendonly', 'yes'] });
  endLater(redis.close);
  const proxies: FaultProxy[] = [];
  for (let at = 0; at < GATEWAYS; at += 1) proxies.push(await startFaultProxy(redis.port, seed + at));
  const fleet = await startFleet(
    seed,
    { envOf: (at) => ({ REDIS_URL: `redis://127.0.0.1:${proxies[at]?.port}` }) },
    proxies,
  );
  return {
    fleet,
    troubles: [calm(), ...ofPlatform(fleet), ...ofRedis(proxies, redis)],
    locks: () => locksOn([redis]),
    async end() {
      await fleet.end();
      await redis.close();
    },
  };
}

const calm = (): Trouble => ({
  name: 'No fault',
  what: 'Load and operators alone.',
  codes: [],
  isOfStore: false,
  on: async () => {},
  off: async () => {},
});

function ofPlatform({ platformProxy }: Fleet): Trouble[] {
  const one = (name: string, what: string, fault: Fault): Trouble => ({
    name: `Platform: ${name}`,
    what,
    codes: PLATFORM,
    isOfStore: false,
    on: () => platformProxy.set(fault),
    off: () => platformProxy.set(NONE),
  });
  return [
    one('late', 'Every answer comes 1.4 s late, of 2 s that a call may take.', { kind: 'latency', ms: 700 }),
    one('resets', 'Connections are reset 300 bytes into an answer.', { kind: 'reset', afterBytes: 300 }),
    one('half-open', 'Connections stay open, and nothing comes over them.', { kind: 'half-open' }),
    one('truncated answers', 'Answers end in good order after 400 bytes.', {
      kind: 'truncate',
      afterBytes: 400,
    }),
    one('slow drip', 'Answers come by 100 bytes a second.', { kind: 'drip', bytesPerSecond: 100 }),
    one('full stop', 'Nobody listens.', { kind: 'stop' }),
  ];
}

function ofRedis(proxies: readonly FaultProxy[], redis: RedisServer): Trouble[] {
  const all = (fault: Fault) => async () => {
    for (const proxy of proxies) await proxy.set(fault);
  };
  const one = (name: string, what: string, on: () => Promise<void>, off = all(NONE)): Trouble => ({
    name: `Redis: ${name}`,
    what,
    codes: STORE,
    isOfStore: true,
    on,
    off,
  });
  return [
    one('1.9 s late', 'Every answer comes 1.9 s late.', all({ kind: 'latency', ms: 950 })),
    one('2.1 s late', 'Every answer comes 2.1 s late.', all({ kind: 'latency', ms: 1_050 })),
    one(
      'stands still',
      'The server is stopped where it stands (SIGSTOP), and goes on.',
      async () => redis.pause(),
      async () => redis.resume(),
    ),
    one('resets', 'Connections are reset, and each new one at once.', all({ kind: 'reset', afterBytes: 0 })),
    one(
      'killed',
      'The server is killed (kill -9), and started again with its file.',
      () => redis.kill(),
      () => redis.restart(),
    ),
    {
      ...one(
        'messages in another order',
        'What gateways tell one another comes up to 0.4 s late, in another order, and some of it twice.',
        all({ kind: 'shuffle' }),
      ),
      codes: [],
      isOfStore: false,
    },
    one('one replica cut off', 'The connections of one gateway stay open, and nothing passes.', async () => {
      await proxies[1]?.set({ kind: 'half-open' });
    }),
  ];
}

/** A primary, its replica and a sentinel: the primary is killed, once. */
export async function openSentinelScene(seed: number): Promise<Scene> {
  const { primary, replica, sentinelPort, name, close } = await startSentinels();
  endLater(close);
  const fleet = await startFleet(seed, {
    yaml: { redis: { sentinels: [{ host: '127.0.0.1', port: sentinelPort }], sentinelName: name } },
    envOf: () => ({}),
  });
  return {
    fleet,
    troubles: [
      {
        name: 'Redis: failover by Sentinel',
        what: 'The primary is killed (kill -9), and its replica takes over.',
        codes: STORE,
        isOfStore: true,
        on: () => primary.kill(),
        off: async () => {},
      },
    ],
    locks: () => locksOn([replica]),
    async end() {
      await fleet.end();
      await close();
    },
  };
}

/** Two primaries; the slots of the registry and others go from one to the other and back, under load. */
export async function openClusterScene(seed: number): Promise<Scene> {
  const { servers, close } = await startCluster(2);
  endLater(close);
  const fleet = await startFleet(seed, {
    yaml: { redis: { cluster: servers.map(({ port }) => ({ host: '127.0.0.1', port })) } },
    envOf: () => ({}),
  });
  const [first, second] = servers as [RedisServer, RedisServer];
  const slotOf = (key: string) =>
    withRedis(first, async (client) => Number(await client.call('CLUSTER', 'KEYSLOT', key)));
  return {
    fleet,
    troubles: [
      {
        name: 'Redis: slots move in a Cluster',
        what: 'The slot of the registry goes with its keys to the other node, and back.',
        codes: STORE,
        isOfStore: true,
        on: async () => moveSlot(first, second, await slotOf('{registry}')),
        off: async () => moveSlot(second, first, await slotOf('{registry}')),
      },
    ],
    locks: () => locksOn(servers),
    async end() {
      await fleet.end();
      await close();
    },
  };
}

/** The keys of a slot, live: as redis-cli's reshard does. From whichever has it to the other. */
async function moveSlot(a: RedisServer, b: RedisServer, slot: number): Promise<void> {
  const idOf = (server: RedisServer) =>
    withRedis(server, async (client) => String(await client.call('CLUSTER', 'MYID')));
  const [idA, idB] = [await idOf(a), await idOf(b)];
  const hasA = await withRedis(a, async (client) => {
    const lines = String(await client.call('CLUSTER', 'NODES')).split('\n');
    const own = lines.find((line) => line.includes('myself')) ?? '';
    return own
      .split(' ')
      .slice(8)
      .some((range) => {
        const [from = -1, to = from] = range.split('-').map(Number);
        return from <= slot && slot <= to;
      });
  });
  const [from, to, fromId, toId] = hasA ? [a, b, idA, idB] : [b, a, idB, idA];
  await withRedis(to, (client) => client.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId));
  await withRedis(from, async (client) => {
    await client.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
    for (;;) {
      const keys = (await client.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[];
      if (keys.length === 0) break;
      await client.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'KEYS', ...keys);
    }
  });
  for (const server of [to, from])
    await withRedis(server, (client) => client.call('CLUSTER', 'SETSLOT', slot, 'NODE', toId));
}

async function withRedis<T>({ port }: RedisServer, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(port, '127.0.0.1');
  client.on('error', () => {});
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}

async function locksOn(servers: readonly RedisServer[]): Promise<string[]> {
  const found = await Promise.all(
    servers.map((server) => withRedis(server, (client) => client.keys('dgw:1:lease:*:lease'))),
  );
  return found.flat();
}
