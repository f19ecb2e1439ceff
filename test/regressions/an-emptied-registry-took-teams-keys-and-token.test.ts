/**
 * Redis came back empty under running gateways: they threw away the teams, keys and the token they had in memory,
 * answered 503 `not_ready` until they were restarted, and said `store: ok` and "in step again".
 */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startSimulator } from '../../src/simulator/simulator.js';
import { type Replicas, withReplicas } from '../engine/replicas.js';
import { cacheOf, FINAL } from '../gateway/reports.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { outcomeOf, type TestGateway } from '../support/start-gateway.js';
import { createTestClock } from '../support/test-clock.js';
import { waitFor } from '../support/wait-for.js';

const ME = '/gateway/v1/me';
let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.close());

async function openTwo() {
  const clock = createTestClock();
  const simulator = await startSimulator({ clock, switches: { rateLimitPerMinute: 0 } });
  onTestFinished(() => simulator.close());
  const replicas = await withReplicas({ platform: simulator, clock, redis, count: 2 });
  const control = new Redis(redis.url);
  onTestFinished(() => control.disconnect());
  const [one, two] = replicas.all as [TestGateway, TestGateway];
  return { replicas, one, two, control, simulator };
}

const auditOf = async (gateway: TestGateway) => {
  const { entries } = (await gateway.manage('GET', '/audit?limit=50')) as {
    entries: { action: string; actor: string; after?: unknown }[];
  };
  return entries;
};

/** Waits until a registry is there again, and every replica is in step with it. */
async function mended({ all, agreed }: Replicas): Promise<void> {
  await waitFor('a registry', async () => {
    const loaded = await (all[0] as TestGateway).store.registry.load('leave');
    return loaded.epoch !== '';
  });
  await agreed();
}

describe('a Redis that was emptied under running gateways', () => {
  it('is given back what they know: keys go on, revoked ones stay revoked, purges and token are kept', async () => {
    const { replicas, one, two, control } = await openTwo();
    await one.manage('POST', '/cache/purge', { all: true });
    const leaked = await one.manage('POST', '/teams/team-1/keys', { label: 'leaked' });
    await one.manage('DELETE', `/keys/${leaked.id}`);
    await replicas.agreed();
    const before = { seq: one.services.purges.seq, epoch: one.services.registry.epoch };
    const token = one.services.keeper.active().secret;

    const answers: string[] = [];
    const asking = setInterval(() => {
      void two.call(ME, { key: replicas.key }).then((reply) => answers.push(outcomeOf(reply)));
    }, 5);
    onTestFinished(() => clearInterval(asking));
    await control.flushall();
    await mended(replicas);
    const { length } = answers;
    await waitFor('ten more answers', () => answers.length > length + 10);
    clearInterval(asking);

    expect([...new Set(answers)]).toEqual(['200']);
    for (const gateway of [one, two]) {
      expect(outcomeOf(await gateway.call(ME, { key: replicas.key }))).toBe('200');
      expect(outcomeOf(await gateway.call(ME, { key: String(leaked.key) }))).toBe('401 revoked_api_key');
      expect({ seq: gateway.services.purges.seq, epoch: gateway.services.registry.epoch }).toEqual(before);
      expect(gateway.services.keeper.active().secret).toBe(token);
      expect((await gateway.call('/readyz')).json()).toMatchObject({ ready: true, store: 'ok' });
    }
    const restores = (await auditOf(one)).filter(({ action }) => action === 'registry.restore');
    expect(restores).toMatchObject([{ actor: 'gateway', after: { epoch: before.epoch } }]);
    const said = [...one.log, ...two.log].filter(({ msg }) => msg.includes('had lost the registry'));
    expect(said.length).toBeGreaterThan(0);
    expect(said.every(({ level }) => level === 'error')).toBe(true);
    expect(await one.services.metrics.registry.metrics()).toMatch(
      /dsp_gateway_registry_losses_total\{outcome="restored"\} 1/,
    );
    const { store } = (await one.manage('GET', '/status')) as { store: Record<string, unknown> };
    expect(store.lastLoss).toMatchObject({ outcome: 'restored' });
    // What a gateway that starts now finds is the whole of it.
    expect(cacheOf(await one.report(replicas.key, FINAL))).toMatch(/^fwd=/);
  });
});
