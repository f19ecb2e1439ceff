import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort, type RedisServer, redisProgram, startRedis } from '../../support/redis.js';
import { waitFor } from '../../support/wait-for.js';

/** A client that gives each of its commands all the time it takes. */
async function ask<T>(port: number, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(port, '127.0.0.1');
  client.on('error', () => {
    // The server may not listen yet: the client tries again.
  });
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}

/** A primary, a replica in step with it, and one sentinel that moves to the replica soon after the primary dies. */
export async function startSentinels() {
  const primary = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
  const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(primary.port)] });
  const folder = await mkdtemp(join(tmpdir(), 'dgw-sentinel-'));
  const name = 'main';
  const sentinelPort = await freePort();
  const settings = join(folder, 'sentinel.conf');
  await writeFile(
    settings,
    [
      `port ${sentinelPort}`,
      'bind 127.0.0.1',
      `dir ${folder}`,
      `sentinel monitor ${name} 127.0.0.1 ${primary.port} 1`,
      `sentinel down-after-milliseconds ${name} 300`,
      `sentinel failover-timeout ${name} 2000`,
    ].join('\n'),
  );
  await ask(primary.port, async (client) => {
    await waitFor('the replica', async () => /state=online/.test(await client.info('replication')));
    await client.set('first', 'write');
    if ((await client.wait(1, 20_000)) !== 1) throw new Error('the replica does not follow');
  });
  const sentinel = spawn(redisProgram(), [settings, '--sentinel'], { stdio: 'ignore' });
  await ask(sentinelPort, async (client) => {
    await waitFor(
      'a known replica',
      async () => ((await client.call('SENTINEL', 'REPLICAS', name)) as unknown[]).length > 0,
    );
  });
  return {
    sentinelPort,
    name,
    primary,
    replica,
    async close() {
      await end(sentinel);
      await rm(folder, { recursive: true, force: true });
      await Promise.all([primary.close(), replica.close()]);
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

const SLOTS = 16_384;

/** A cluster of primaries that share the slots evenly, in the order given. */
export async function startCluster(
  nodes: number,
): Promise<{ servers: RedisServer[]; close(): Promise<void> }> {
  const servers = await Promise.all(Array.from({ length: nodes }, startClusterNode));
  const [first, ...others] = servers as [RedisServer, ...RedisServer[]];
  const share = Math.ceil(SLOTS / nodes);
  await Promise.all(
    servers.map((server, at) =>
      ask(server.port, async (client) => {
        const slots = Array.from(
          { length: Math.min(share, SLOTS - at * share) },
          (_, slot) => at * share + slot,
        );
        await client.call('CLUSTER', 'ADDSLOTS', ...slots);
        // Nodes of different epochs need not agree on them first.
        await client.call('CLUSTER', 'SET-CONFIG-EPOCH', at + 1);
      }),
    ),
  );
  await ask(first.port, async (client) => {
    for (const { port } of others) await client.call('CLUSTER', 'MEET', '127.0.0.1', port);
  });
  await Promise.all(
    servers.map((server) =>
      ask(server.port, async (client) => {
        const ready = new RegExp(`cluster_state:ok[^]*cluster_known_nodes:${nodes}`);
        await waitFor('the cluster', async () => ready.test(String(await client.call('CLUSTER', 'INFO'))));
      }),
    ),
  );
  return {
    servers,
    async close() {
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

/** The nodes talk to each other on the port 10000 above, which must be one and be free too. */
async function startClusterNode(): Promise<RedisServer> {
  for (let left = 20; ; left -= 1) {
    const port = await freePort();
    if (port + 10_000 > 65_535) continue;
    const args = [
      '--cluster-enabled',
      'yes',
      '--cluster-node-timeout',
      '2000',
      '--cluster-require-full-coverage',
      'no',
    ];
    try {
      return await startRedis({ port, args });
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}
