import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createClock } from '../../../src/lib/clock.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { createRedisStore, type RedisStore } from '../../../src/store/redis/redis-store.js';
import { waitFor } from '../../support/wait-for.js';
import { change } from '../conformance-registry.js';
import { bodiesOf, keep } from '../entries.js';
import { createTestLog } from '../test-log.js';
import { everyCall, expectUnavailable, openStore, TIMEOUT_MS, untilItWorks } from './open-store.js';
import { startCluster, startSentinels } from './topologies.js';

describe('Redis by sentinels', () => {
  it('is found, and found again where the sentinels have moved it', async () => {
    const { sentinelPort, name, primary, replica, close } = await startSentinels();
    onTestFinished(close);
    const connection = { sentinels: [{ host: '127.0.0.1', port: sentinelPort }], name };
    const { store, log } = await openStore('', { connection, registryTimeoutMs: 2_000, timeoutMs: 1_000 });
    await keep(store.cache, [{ key: '{k}1', value: Buffer.from('v'), ttlMs: 600_000, version: 1 }]);
    await store.registry.commit(change({ a: '1' }));
    const { epoch, version } = await store.registry.load();
    const heard: string[] = [];
    store.bus.subscribe('news', (message) => void heard.push(message));
    expect(log.lines).toEqual([]); // confirmed by the replica, among others

    // The hardest way to go: its connections stay open.
    primary.pause();
    expect(await untilItWorks(() => store.registry.commit(change({ a: '2' }, { a: 1 })))).toEqual({
      version: 2,
    });
    expect(await store.registry.changes(epoch, version)).toBeNull();
    expect(await store.registry.load()).toMatchObject({ epoch, version: 2 });
    expect(await untilItWorks(() => bodiesOf(store.cache, ['{k}1']))).toEqual([Buffer.from('v')]);
    await waitFor('the message', async () => {
      await untilItWorks(() => store.bus.publish('news', 'moved'));
      return heard.includes('moved');
    });
    const control = new Redis(replica.url);
    expect(await control.hget('dgw:1:{registry}:records', 'a')).toBe('2');
    control.disconnect();
    await store.close();
  });

  it('is reported in time when no sentinel answers', async () => {
    const connection = { sentinels: [{ host: '127.0.0.1', port: 1 }], name: 'main' };
    const opening = openStore('', { connection, connectTimeoutMs: 100 });
    await expect(opening).rejects.toThrow(StoreUnavailable);
    await expect(opening).rejects.toThrow(/main by sentinels 127.0.0.1:1.*unreachable/);
  });
});

describe('a Redis cluster', () => {
  it('serves every call, wherever its slot is, and loses only one node’s share with that node', async () => {
    const { servers, close } = await startCluster(3);
    onTestFinished(close);
    const [{ port }] = servers as [(typeof servers)[0]];
    const open = (timeoutMs: number) => openCluster(port, timeoutMs);
    const store = await open(10_000);
    const other = await open(10_000);

    const tags = Array.from({ length: 12 }, (_, at) => `{series ${at}}`);
    const entries = (tag: string) =>
      ['1', '2'].map((day) => ({
        key: tag + day,
        value: Buffer.from(tag + day),
        ttlMs: 600_000,
        version: 1,
      }));
    await Promise.all(tags.map((tag) => keep(store.cache, entries(tag))));
    for (const tag of tags) {
      expect(await bodiesOf(other.cache, [`${tag}2`, `${tag}3`, `${tag}1`])).toEqual([
        Buffer.from(`${tag}2`),
        null,
        Buffer.from(`${tag}1`),
      ]);
      expect(await store.leases.claim([`${tag}1`, `${tag}2`], 'ann', 600_000)).toEqual([true, true]);
      expect(await other.leases.claim([`${tag}2`], 'bob', 600_000)).toEqual([false]);
      await store.leases.release([`${tag}1`, `${tag}2`], 'ann');
    }
    expect(await store.registry.commit(change({ a: '1' }, { a: 0 }, ['line']))).toEqual({ version: 1 });
    const { epoch, version } = await other.registry.load();
    await store.registry.commit(change({ a: null }, { a: 1 }));
    expect((await other.registry.changes(epoch, version))?.changed).toEqual(new Map([['a', null]]));
    await Promise.all(tags.map(() => Promise.all(everyCall(store))));
    const adds = tags.map((group) => ({ group, field: 'calls', by: 1 }));
    await store.counters.add('all', adds, [], 600_000);
    expect(await other.counters.read(tags)).toEqual(tags.map(() => new Map([['calls', 1]])));
    for (const tag of tags) {
      await store.documents.create(tag, tag, 600_000);
      expect(await other.documents.get(tag)).toBe(tag);
      const share = { want: 1, capacity: 1, refillPerMs: 0, nowMs: 0, ttlMs: 600_000 };
      expect(await store.quotas.take(tag, share)).toMatchObject({ granted: 1 });
      expect(await other.quotas.take(tag, share)).toMatchObject({ granted: 0 });
      await store.presence.beat(tag, tag, 600_000);
    }
    expect(await other.presence.list()).toHaveLength(tags.length);
    await hears(store, other);
    await expect.poll(() => store.health()).toEqual({ ok: true });

    await withoutOneNode(servers, tags, await open(TIMEOUT_MS));
    await Promise.all([store.close(), other.close()]);
  });

  it('is reported in time when no node answers', async () => {
    const opening = openCluster(1, TIMEOUT_MS);
    await expect(opening).rejects.toThrow(StoreUnavailable);
    await expect(opening).rejects.toThrow(/cluster 127.0.0.1:1/);
  });
});

function openCluster(port: number, timeoutMs: number): Promise<RedisStore> {
  return createRedisStore({
    connection: { cluster: [{ host: '127.0.0.1', port }] },
    timeoutMs,
    registryTimeoutMs: timeoutMs,
    logger: createTestLog(),
    clock: createClock(),
  });
}

async function hears(listener: RedisStore, speaker: RedisStore): Promise<void> {
  const heard: string[][] = [[], []];
  // Two at once: the second comes while the connection for the first is being made.
  for (const at of [0, 1])
    listener.bus.subscribe(`channel ${at}`, (message) => void heard[at]?.push(message));
  await waitFor('a message on each channel', async () => {
    for (const at of [0, 1]) await speaker.bus.publish(`channel ${at}`, 'hello');
    return heard.every((messages) => messages.length > 0);
  });
}

async function withoutOneNode(
  servers: Awaited<ReturnType<typeof startCluster>>['servers'],
  tags: readonly string[],
  store: RedisStore,
) {
  servers[1]?.pause();
  const reading = await Promise.allSettled(tags.map((tag) => bodiesOf(store.cache, [`${tag}1`])));
  const outcomes = reading.map(({ status }) => status);
  expect(outcomes).toContain('fulfilled');
  expect(outcomes).toContain('rejected');
  for (const outcome of reading) {
    if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(StoreUnavailable);
  }
  for (const server of servers) server.pause();
  await expectUnavailable(everyCall(store));
  for (const server of servers) server.resume();
  for (const tag of tags) await untilItWorks(() => bodiesOf(store.cache, [`${tag}1`]));
  await untilItWorks(() => store.registry.load());
  await store.close();
}
