/** Contract: usage is exact after a clean stop, adds up over replicas, and loses at most 5 s to `kill -9`. */
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { admin, ask, newTeam, REPORT } from '../support/ask.js';
import { type Gateway, startGateway, startPlatform } from '../support/processes.js';
import { startRedis } from '../support/redis.js';
import { waitFor } from '../support/wait-for.js';

const QUERY = `${REPORT}?advertiserId=1&_period=yesterday`;
/** What the contract allows to be lost. */
const LOST_MS = 5000;

const shared = () => ({
  GATEWAY_MASTER_KEY: randomBytes(32).toString('base64'),
  ADMIN_TOKEN: 'an-admin-token-for-tests',
});

/** Requests of a team as the store knows them. */
async function requestsOf(gateway: Gateway, team: string): Promise<number> {
  const { usage } = await admin<{ usage: { requests: number }[] }>(gateway, 'GET', `/usage?team=${team}`);
  return usage.reduce((sum, { requests }) => sum + requests, 0);
}

async function askTimes(gateway: Gateway, key: string, count: number): Promise<void> {
  for (let at = 0; at < count; at++) expect((await ask(gateway.data + QUERY, { key })).status).toBe(200);
}

describe.concurrent('usage', () => {
  it('is exact after a clean stop', async ({ expect }) => {
    const platform = await startPlatform();
    const first = await startGateway(platform.env);
    const { key } = await newTeam(first, { id: 'counted' });
    await askTimes(first, key, 37);
    expect((await first.end('SIGTERM')).code).toBe(0);
    const second = await startGateway({ ...platform.env, GATEWAY_DATA_DIR: first.dataDir });
    expect(await requestsOf(second, 'counted')).toBe(37);
    const { usage } = (await ask(`${second.data}/gateway/v1/me`, { key })).json<{ usage: object[] }>();
    expect(usage).toMatchObject([
      { requests: 37, hits: 36, misses: 1, upstreamCalls: 1, upstreamCallsSaved: 36 },
    ]);
    await second.end('SIGTERM');
  });

  it('loses nothing older than 5 s to kill -9, and counts nothing twice', async ({ expect }) => {
    const platform = await startPlatform();
    const first = await startGateway(platform.env);
    const { key } = await newTeam(first, { id: 'counted' });
    const askedAt: number[] = [];
    const killed = pause(LOST_MS + 2000).then(() => {
      first.signal('SIGKILL');
      return Date.now();
    });
    for (;;) {
      const answer = await ask(first.data + QUERY, { key }).catch(() => null);
      if (answer === null) break;
      askedAt.push(Date.now());
      await pause(5);
    }
    const killedAt = await killed;
    await first.exited;
    const second = await startGateway({ ...platform.env, GATEWAY_DATA_DIR: first.dataDir });
    const kept = await requestsOf(second, 'counted');
    const old = askedAt.filter((at) => at < killedAt - LOST_MS).length;
    expect(old).toBeGreaterThan(0);
    expect(kept).toBeGreaterThanOrEqual(old);
    // One more may have been counted whose answer never arrived.
    expect(kept).toBeLessThanOrEqual(askedAt.length + 1);
    await second.end('SIGTERM');
  });

  it('adds up over two replicas on one Redis, also when it is away for a while', async ({ expect }) => {
    const platform = await startPlatform();
    const redis = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    try {
      const env = { ...platform.env, ...shared(), REDIS_URL: redis.url };
      const [one, two] = await Promise.all([startGateway(env), startGateway(env)]);
      const { key } = await newTeam(one, { id: 'counted' });
      await waitFor('the key on the other', async () => {
        return (await ask(`${two.data}/gateway/v1/me`, { key })).status === 200;
      });
      await Promise.all([askTimes(one, key, 20), askTimes(two, key, 30)]);
      await waitFor('all of it in the store', async () => (await requestsOf(two, 'counted')) === 50);
      redis.pause();
      await Promise.all([askTimes(one, key, 7), askTimes(two, key, 5)]);
      const { usage } = (await ask(`${one.data}/gateway/v1/me`, { key })).json<{ usage: unknown }>();
      expect(usage).toBeNull();
      // Longer than the time between two batches: one of each replica is in doubt.
      await pause(3000);
      redis.resume();
      await waitFor(
        'all of it in the store',
        async () => (await requestsOf(one, 'counted').catch(() => 0)) === 62,
      );
      await askTimes(two, key, 3);
      for (const gateway of [one, two]) await gateway.end('SIGTERM');
      const third = await startGateway(env);
      expect(await requestsOf(third, 'counted')).toBe(65);
      await third.end('SIGTERM');
    } finally {
      await redis.close();
    }
  });
});
