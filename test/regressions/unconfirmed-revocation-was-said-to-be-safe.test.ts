/**
 * A revocation that was acknowledged while replication was split is lost with the primary; the answer said nothing of it.
 */
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createClock } from '../../src/lib/clock.js';
import { startSimulator } from '../../src/simulator/simulator.js';
import { createRedisStore } from '../../src/store/redis/redis-store.js';
import { createRecordedLog } from '../support/recorded-log.js';
import { type RedisServer, startRedis } from '../support/redis.js';
import { ADMIN_TOKEN, gatewayAt } from '../support/start-gateway.js';

let primary: RedisServer;
let replica: RedisServer;
beforeAll(async () => {
  primary = await startRedis({ args: ['--repl-diskless-sync-delay', '0'] });
  replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(primary.port)] });
});
afterAll(async () => {
  await replica.close();
  await primary.close();
});

async function openGateway(minReplicas: number) {
  const store = await createRedisStore({
    connection: { url: primary.url },
    prefix: `min-${minReplicas}`,
    timeoutMs: 300,
    registryTimeoutMs: 20_000,
    minReplicas,
    clock: createClock(),
    logger: createRecordedLog().logger,
  });
  const simulator = await startSimulator({ switches: { rateLimitPerMinute: 0 } });
  const gateway = await gatewayAt(simulator, { sharedStore: store });
  onTestFinished(async () => {
    await simulator.close();
    await store.close();
  });
  const ask = async (method: 'POST' | 'DELETE', path: string, payload?: object) => {
    const response = await gateway.admin.inject({
      method,
      url: `/admin/v1${path}`,
      headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
      ...(payload === undefined ? {} : { payload }),
    });
    return { status: response.statusCode, body: response.payload === '' ? null : response.json() };
  };
  /** Makes teams until the replica confirms: it may have synchronised just now. */
  const ready = () =>
    expect
      .poll(async () => (await ask('POST', '/teams', { id: `t-${Math.random()}`.replace('.', '') })).body)
      .not.toHaveProperty('unconfirmed');
  return { gateway, ask, ready };
}

it('a change that too few replicas have confirmed is a 2xx that says so, with a body where there is none else', async () => {
  const { gateway, ask, ready } = await openGateway(1);
  await ready();
  await ask('POST', '/teams', { id: 'cut' });
  const { body: first } = await ask('POST', '/teams/cut/keys', {});
  const { body: second } = await ask('POST', '/teams/cut/keys', {});
  expect(first).not.toHaveProperty('unconfirmed');
  expect(await ask('DELETE', `/keys/${first.id}`)).toEqual({ status: 204, body: null });
  replica.pause();
  onTestFinished(() => replica.resume());
  const unconfirmed = { replicas: 0, wanted: 1 };
  expect(await ask('DELETE', `/keys/${second.id}`)).toEqual({ status: 200, body: { unconfirmed } });
  expect(await ask('POST', '/teams', { id: 'more' })).toMatchObject({
    status: 201,
    body: { id: 'more', unconfirmed },
  });
  // It is made all the same.
  const { code } = (await gateway.call('/gateway/v1/me', { key: second.key })).json();
  expect(code).toBe('revoked_api_key');
});

it('without the setting answers are as they were', async () => {
  const { ask } = await openGateway(0);
  await ask('POST', '/teams', { id: 'cut' });
  const { body } = await ask('POST', '/teams/cut/keys', {});
  replica.pause();
  onTestFinished(() => replica.resume());
  expect(await ask('DELETE', `/keys/${body.id}`)).toEqual({ status: 204, body: null });
});
