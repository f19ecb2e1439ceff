import { Agent } from 'undici';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createClock } from '../../../src/lib/clock.js';
import { createBudget } from '../../../src/platform/budget.js';
import { createPlatformClient, type PlatformClient } from '../../../src/platform/client.js';
import { createPause } from '../../../src/platform/pace.js';
import { readBody } from '../../../src/platform/read-body.js';
import { startSimulator } from '../../../src/simulator/simulator.js';
import type { Simulator } from '../../../src/simulator/simulator-api.js';
import { openOnRedis } from '../../support/on-redis.js';
import { type RedisServer, startRedis } from '../../support/redis.js';
import { unlimited } from '../../support/unlimited.js';
import { ALICE, type Credential, openCredential, PROBE, staged, TOKEN_PATH } from './credential-harness.js';

let server: RedisServer;
let scenes = 0;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.close());

interface Replica extends Credential {
  readonly client: PlatformClient;
}

/** A replica with a connection of its own to Redis, and the client of the platform on top. */
async function openReplica(simulator: Simulator): Promise<Replica> {
  // Real time: the leases are the server's.
  const clock = createClock();
  const store = await openOnRedis(server, `recover-${scenes}`);
  const baseUrl = new URL(simulator.url);
  const credential = await openCredential({ store, clock, baseUrl, account: simulator.account });
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  const client = createPlatformClient({
    agent,
    rules: { baseUrl, loginPaths: ['/login'] },
    tokens: credential.tokenRecovery,
    budget: createBudget({ maxConcurrent: () => 8, maxQueued: 1000 }),
    ...unlimited(),
    pause: createPause(clock, 900_000),
    clock,
    logger: credential.log.logger,
    retry: { attempts: 2, baseMs: 10 },
    userAgent: 'dsp-gateway/test',
    onCall: () => {},
  });
  return { ...credential, client };
}

async function openReplicas(): Promise<{ simulator: Simulator; replicas: [Replica, Replica, Replica] }> {
  scenes += 1;
  const simulator = await startSimulator({ switches: { rateLimitPerMinute: 0 } });
  onTestFinished(() => simulator.close());
  const first = await openReplica(simulator);
  await first.rotation.rotate(staged(simulator.token), true, ALICE);
  return { simulator, replicas: [first, await openReplica(simulator), await openReplica(simulator)] };
}

const ask = ({ client }: Replica) =>
  client.send(
    { method: 'GET', target: PROBE, team: 'growth', kind: 'read', timeoutMs: 20_000 },
    async (response) => {
      await readBody(response.body, undefined, 1_000_000);
      return response.status;
    },
  );

describe('three replicas whose token is revoked', () => {
  it('recover it with one token request, and no caller sees anything of it', async () => {
    const { simulator, replicas } = await openReplicas();
    expect(await Promise.all(replicas.map(ask))).toEqual([200, 200, 200]);
    simulator.revoke(simulator.token);
    const answers = await Promise.all(
      replicas.flatMap((replica) => Array.from({ length: 40 }, () => ask(replica))),
    );
    expect(answers).toEqual(Array.from({ length: 120 }, () => 200));
    expect(simulator.calls.filter(({ path }) => path === TOKEN_PATH)).toHaveLength(1);
    await Promise.all(replicas.map(({ keeper }) => keeper.refresh()));
    expect(new Set(replicas.map(({ keeper }) => keeper.vault().active?.id)).size).toBe(1);
  });
});
