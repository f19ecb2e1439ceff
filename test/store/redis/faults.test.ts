import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.js';
import type { RedisStore } from '../../../src/store/redis/redis-store.js';
import { type RedisServer, startRedis } from '../../support/redis.js';
import { waitFor } from '../../support/wait-for.js';
import { change } from '../conformance-registry.js';
import { bodiesOf, forget, keep } from '../entries.js';
import type { TestLog } from '../test-log.js';
import {
  everyCall,
  expectUnavailable,
  FAR_TOO_LONG_MS,
  HASTY,
  openStore,
  TIMEOUT_MS,
  untilItWorks,
  withControl,
} from './open-store.js';

let server: RedisServer;
let store: RedisStore;
let log: TestLog;

function withStore(options: Parameters<typeof openStore>[1] = {}): void {
  beforeEach(async () => {
    server = await startRedis();
    ({ store, log } = await openStore(server.url, options));
  });
}

afterEach(async () => {
  const startedMs = performance.now();
  await store.close();
  expect(performance.now() - startedMs).toBeLessThan(FAR_TOO_LONG_MS);
  await server.close();
});

const entry = (key: string, text: string) => ({ key, value: Buffer.from(text), ttlMs: 60_000, version: 1 });

describe('a Redis that stands still', () => {
  withStore(HASTY);

  it('holds no call for longer than the timeout, and is used again when it goes on', async () => {
    await keep(store.cache, [entry('{k}1', 'kept')]);
    server.pause();
    await expectUnavailable(everyCall(store));
    server.resume();
    expect(await untilItWorks(() => bodiesOf(store.cache, ['{k}1']))).toHaveLength(1);
    expect(await untilItWorks(() => store.registry.load())).toMatchObject({ epoch: expect.any(String) });
  });

  it('is not asked any more after a while, until it answers a probe', async () => {
    server.pause();
    while (store.health().ok) await bodiesOf(store.cache, ['{k}1']).catch(() => null);
    expect(store.health().reason).toContain(`no answer within ${TIMEOUT_MS} ms`);
    const refusedAtOnce = await Promise.race([
      bodiesOf(store.cache, ['{k}1']).catch((error: unknown) => error),
      // Already due: whatever waits for a timer or for the network comes later than this.
      new Promise((resolve) => setImmediate(() => setImmediate(resolve, 'too late'))),
    ]);
    expect(refusedAtOnce).toBeInstanceOf(StoreUnavailable);
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: expect.stringContaining('does not answer') }),
    );
    server.resume();
    // Nobody calls: the probes find out.
    await waitFor('a healthy store', () => store.health().ok);
    expect(await bodiesOf(store.cache, ['{k}1'])).toEqual([null]);
    expect(log.lines).toContainEqual(
      expect.objectContaining({ level: 'info', message: expect.stringContaining('answers again') }),
    );
  });

  it('at the start, is reported in time', async () => {
    server.pause();
    const startedMs = performance.now();
    await expect(openStore(server.url, { connectTimeoutMs: 300 })).rejects.toThrow(StoreUnavailable);
    expect(performance.now() - startedMs).toBeLessThan(FAR_TOO_LONG_MS);
    server.resume();
  });

  it('does not hold up the end', async () => {
    server.pause();
    await store.close(); // afterEach asserts the time, for this and for all others
    await expectUnavailable(everyCall(store));
    expect(store.health()).toMatchObject({
      ok: false,
      reason: expect.stringContaining('the store is closed'),
    });
  });
});

describe('a Redis that is gone', () => {
  withStore();

  it('fails calls under way and later ones, at once, and is found again without a restart of this process', async () => {
    server.pause();
    const underWay = expectUnavailable(everyCall(store));
    await server.kill();
    await underWay;
    await expectUnavailable(everyCall(store));
    expect(store.health()).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/ECONNREFUSED|closed|ECONNRESET|EPIPE/),
    });
    expect(log.lines.filter(({ message }) => message.includes('was lost')).length).toBeGreaterThan(0);

    await server.restart();
    await untilItWorks(() => keep(store.cache, [entry('{k}1', 'new')]));
    expect(await bodiesOf(store.cache, ['{k}1'])).toEqual([Buffer.from('new')]);
    await untilItWorks(() => store.registry.load());
    await expect.poll(() => store.health()).toEqual({ ok: true });
  });

  it('is told as away while only the connection of the days is lost', async () => {
    await withControl(server.url, async (control) => {
      const clients = String(await control.client('LIST'));
      const [, id = ''] = clients.match(/^id=(\d+) .*name=dsp-gateway:days /m) ?? [];
      await control.config('SET', 'maxclients', 1);
      expect(await control.client('KILL', 'ID', id)).toBe(1);
      await expect
        .poll(() => store.health())
        .toMatchObject({ ok: false, reason: expect.stringMatching(/^days: not connected/) });
      await control.config('SET', 'maxclients', 100);
    });
    await expect.poll(() => store.health()).toEqual({ ok: true });
  });

  it('comes back without scripts, which are then sent again', async () => {
    await store.leases.claim(['{k}1'], 'ann', 60_000);
    await store.registry.commit(change({ a: '1' }));
    await withControl(server.url, (control) => control.script('FLUSH'));
    expect(await store.leases.renew(['{k}1'], 'ann', 60_000)).toEqual([true]);
    expect(await store.registry.commit(change({ a: '2' }, { a: 1 }))).toEqual({ version: 2 });
    await server.restart();
    expect(await untilItWorks(() => store.leases.claim(['{k}1'], 'bob', 60_000))).toEqual([true]);
    expect(await untilItWorks(() => store.registry.commit(change({ a: '1' }, { a: 0 })))).toEqual({
      version: 1,
    });
  });

  it('at the start, is reported with its address and what is wrong', async () => {
    await server.kill();
    const opening = openStore(server.url);
    await expect(opening).rejects.toThrow(StoreUnavailable);
    await expect(opening).rejects.toThrow(new RegExp(`127.0.0.1:${server.port}/0: .*ECONNREFUSED`));
  });
});

describe('a Redis that refuses', () => {
  withStore();

  it('writes as a replica, is connected to anew, for its name may lead to another by now', async () => {
    await withControl(server.url, async (control) => {
      const connections = async () =>
        String(await control.client('LIST')).match(/^id=\d+(?=.*name=dsp-gateway:data)/gm);
      const before = await connections();
      await control.replicaof('127.0.0.1', 1);
      await expect(keep(store.cache, [entry('{k}1', 'lost')])).rejects.toThrow('READONLY');
      await control.replicaof('NO', 'ONE');
      await untilItWorks(() => keep(store.cache, [entry('{k}1', 'kept')]));
      await untilItWorks(() => store.registry.commit(change({ a: '1' })));
      expect(await connections()).not.toEqual(before);
    });
  });
});

describe('what others put under our keys', () => {
  withStore();

  it('is null when it is no entry, can be replaced, and does not spoil its neighbours', async () => {
    await keep(store.cache, [entry('{k}1', 'mine')]);
    await withControl(server.url, async (control) => {
      await control.lpush('dgw:5:cache:{k}2', 'a', 'b');
      await control.hset('dgw:5:cache:{k}3', 'a', 'b');
      await control.set('dgw:5:cache:{k}4', '');
    });
    const keys = ['{k}2', '{k}1', '{k}3', '{k}4'];
    const mine = [null, Buffer.from('mine'), null, null];
    expect(await bodiesOf(store.cache, keys)).toEqual(mine);
    await keep(
      store.cache,
      keys.map((key) => entry(key, 'mine again')),
    );
    expect(await bodiesOf(store.cache, keys)).toEqual(keys.map(() => Buffer.from('mine again')));
    await forget(store.cache, keys);
    expect(await bodiesOf(store.cache, keys)).toEqual(keys.map(() => null));
  });
});

describe('cache entries that are being replaced', () => {
  withStore();

  it('are there at every moment, the old ones or the new ones', async () => {
    const { store: writer } = await openStore(server.url, { timeoutMs: 10_000 });
    const { store: reader } = await openStore(server.url, { timeoutMs: 10_000 });
    const keys = Array.from({ length: 10 }, (_, at) => `{k}${at}`);
    const write = (version: number) =>
      keep(
        writer.cache,
        keys.map((key) => ({ key, value: Buffer.alloc(20_000, version), ttlMs: 60_000, version })),
      );
    await write(0);
    let writing = true;
    const versions = async () => (await bodiesOf(reader.cache, keys)).map((value) => value?.[0] ?? 'absent');
    const reads = Promise.all(
      [1, 2, 3].map(async () => {
        while (writing) expect(new Set(await versions()).size).toBe(1);
      }),
    );
    for (let version = 1; version <= 20; version += 1) await write(version);
    writing = false;
    await reads;
    expect(await versions()).toEqual(keys.map(() => 20));
    await Promise.all([writer.close(), reader.close()]);
  });
});

describe('the keys in Redis', () => {
  withStore();

  it('do not grow with what was deleted', async () => {
    const { store: forgetful } = await openStore(server.url, { tombstonesMax: 3 });
    for (let at = 0; at < 10; at += 1) {
      await forgetful.registry.commit(change({ [`r${at}`]: '1' }));
      await forgetful.registry.commit(change({ [`r${at}`]: null }));
    }
    await withControl(server.url, async (control) => {
      expect(await control.zcard('dgw:1:{registry}:revisions')).toBe(3);
      expect(await control.zcard('dgw:1:{registry}:tombstones')).toBe(3);
      expect(await control.hlen('dgw:1:{registry}:records')).toBe(0);
    });
    await forgetful.close();
  });

  it('are prefixed and versioned; those of the cache and of leases expire, those of the registry do not', async () => {
    await keep(store.cache, [entry('{series}:2026-11-01', 'v')]);
    await store.leases.claim(['{series}:2026-11-01'], 'ann', 60_000);
    await store.registry.commit(change({ a: '1', b: '2' }, undefined, ['line']));
    await store.registry.commit(change({ b: null }));
    await withControl(server.url, async (control) => {
      const keys = (await control.keys('*')).sort();
      const lifetimes = await Promise.all(keys.map((key) => control.pttl(key)));
      expect(keys).toEqual([
        'dgw:1:lease:{series}:2026-11-01',
        'dgw:1:{registry}:audit',
        'dgw:1:{registry}:meta',
        'dgw:1:{registry}:records',
        'dgw:1:{registry}:revisions',
        'dgw:1:{registry}:tombstones',
        'dgw:5:cache:{series}:2026-11-01',
      ]);
      const [lease = 0, ...registry] = lifetimes;
      const cache = registry.pop() ?? 0;
      for (const left of [cache, lease]) expect(left > 0 && left <= 60_000).toBe(true);
      expect(registry).toEqual([-1, -1, -1, -1, -1]);
    });
  });
});
