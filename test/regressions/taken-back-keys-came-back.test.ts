/**
 * Two ways by which a secret that was taken back was accepted again: a key was rolled twice since a backup, and the
 * backup was imported (the key's new secret was then refused); or another registry took the place of the one in which a
 * key was revoked, and a backup of that one was imported into the other.
 */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.js';
import { withReplicas } from '../engine/replicas.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { outcomeOf, type TestGateway, withGateway } from '../support/start-gateway.js';

const ME = '/gateway/v1/me';
let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

async function openOne(): Promise<TestGateway> {
  const simulator = await startSimulator({ switches: { rateLimitPerMinute: 0 } });
  onTestFinished(() => simulator.close());
  const { all } = await withReplicas({ platform: simulator, redis, count: 1 });
  return all[0] as TestGateway;
}

const restore = async (gateway: TestGateway, backup: object) =>
  gateway.manage('POST', '/registry/import', { ...backup, replace: true });
const tryKey = async (gateway: TestGateway, key: unknown) =>
  outcomeOf(await gateway.call(ME, { key: String(key) }));

describe('a backup that is imported', () => {
  it.each([1, 2, 3])('gives back no secret that was rolled away since, after %i rolls', async (rolls) => {
    const gateway = await withGateway();
    await gateway.manage('POST', '/teams', { id: 'growth' });
    const first = await gateway.manage('POST', '/teams/growth/keys', {});
    const backup = await gateway.manage('GET', '/registry/export');
    let last = first;
    for (let roll = 0; roll < rolls; roll++)
      last = await gateway.manage('POST', `/keys/${first.id}/roll`, {});
    await restore(gateway, backup);
    expect(await tryKey(gateway, first.key)).toMatch(/^401 (expired|invalid)_api_key$/);
    expect(await tryKey(gateway, last.key)).toBe('200');
  });

  it('gives back no key that was revoked before another registry was taken over', async () => {
    const gateway = await openOne();
    await gateway.manage('POST', '/teams', { id: 'growth' });
    const leaked = await gateway.manage('POST', '/teams/growth/keys', {});
    const backup = await gateway.manage('GET', '/registry/export');
    await gateway.manage('DELETE', `/keys/${leaked.id}`);

    const control = new Redis(redis.url);
    onTestFinished(() => control.disconnect());
    const names = await control.keys('*{registry}:*');
    const records = names.find((name) => name.endsWith(':records')) as string;
    const meta = names.find((name) => name.endsWith(':meta')) as string;
    const keys = (await control.hkeys(records)).filter((id) => id.startsWith('key/'));
    await control
      .multi()
      .hdel(records, ...keys)
      .hset(meta, 'epoch', 'another')
      .exec();
    await expect.poll(() => gateway.services.registry.epoch).toBe('another');

    await restore(gateway, backup);
    expect(await tryKey(gateway, leaked.key)).toBe('401 revoked_api_key');
  });
});
