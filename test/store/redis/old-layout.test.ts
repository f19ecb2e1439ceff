/** Keys as earlier releases wrote them to Redis, put there by hand: what is removed, and what stays. */
import { Cluster, type Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import type { RedisStore } from '../../../src/store/redis/redis-store.js';
import { oldRows, putInRedis } from '../../reports/history/old-pin-records.js';
import { dayOf } from '../../reports/history/on-disk.js';
import { monthWrite } from '../conformance-days.js';
import { writePins } from '../conformance-pins.js';
import { change } from '../conformance-registry.js';
import { keep } from '../entries.js';
import { openStore, serverOfFile, withControl } from './open-store.js';
import { startCluster } from './topologies.js';

const server = serverOfFile();
const never = () => false;

/** @returns asks that are answered by no so many times, then by yes */
function stopsAfter(times: number): () => boolean {
  let asked = 0;
  return () => {
    asked += 1;
    return asked > times;
  };
}

/** Three months of history, one of which the list has lost; four cache entries of two layouts, one with a body of its own. */
async function putOld(to: Redis | Cluster): Promise<void> {
  await to.zadd('dgw:1:history', 0, '2026-03 s', 0, '2026-04 s');
  await to.hset('dgw:1:history:{s}:2026-03', 'h', '\x01\x02\x03\x04\x05\x06\x03', 'p:n1', '\x06rows');
  await to.hset('dgw:1:history:{s}:2026-04', '07', 'heads', '07:n2', 'rows', 'f:00', '{}');
  await to.hset('dgw:1:history:{t u}:2026-05', '07', 'heads');
  await to.hset(
    'dgw:4:cache:{c5:s}:2026-03',
    'h:01',
    '\xd6\x03',
    'h:02',
    '\xd6\x05',
    'd:02',
    'body',
    'f:00',
    '{}',
  );
  await to.hset('dgw:4:cache:{c5:s}:w:2026-03-01:', 'h:rows', '\xd6\x03', 'f:00', '{}');
  await to.set('dgw:4:cache-body:{c5:s}:13:w:2026-03-01::rows', '\xd6\x03body');
  await to.hset('dgw:3:cache:{c4:s}:2026-03', 'h:01', 'head', 'd:01', 'body', 'f:00', '{}');
}

/** One of everything that stays. */
async function putNew(store: RedisStore): Promise<void> {
  await store.registry.commit(change({ a: '1' }, undefined, ['line']));
  await store.days.write([monthWrite(0, 'index')]);
  await store.days.used([{ series: 's', month: '2026-03' }], 1);
  await store.documents.create('document', 'text', 600_000);
  await writePins(store.pins, 't:0', { added: new Map([['a', Buffer.from('rows')]]) });
  await keep(store.cache, [{ key: '{s}a', value: Buffer.from('v'), ttlMs: 600_000, version: 1 }]);
}

it('history and cache entries of earlier releases are removed, and nothing else', async () => {
  const { store } = await openStore(server.url);
  onTestFinished(() => store.close());
  await putNew(store);
  const rows = new Map([['pin.0', oldRows('id', dayOf('2026-11-01', 1, 1_000_000))]]);
  await putInRedis(server.url)('t:0', { index: Buffer.from('index'), rows });
  await withControl(server.url, async (control) => {
    for (const key of [
      'dgw2:1:history:{s}:2026-03',
      'dgw:1:history:s',
      'dgw:2:cache:{s}:1',
      'dgwx3:cache:{s}:1',
    ])
      await control.hset(key, 'h:1', 'somebody else’s');
    const all = async () => {
      const keys = (await control.keys('*')).sort();
      return new Map(
        await Promise.all(keys.map(async (key) => [key, await control.dumpBuffer(key)] as const)),
      );
    };
    const before = await all();
    await putOld(control);
    expect(await store.removeOldLayout(never)).toEqual({ months: 3, cacheEntries: 4 });
    expect(await all()).toEqual(before);
    expect(await store.removeOldLayout(never)).toEqual({ months: 0, cacheEntries: 0 });
  });
});

it('a removal that is stopped leaves the rest to the next one', async () => {
  const { store } = await openStore(server.url);
  onTestFinished(() => store.close());
  await withControl(server.url, async (control) => {
    const pipeline = control.pipeline();
    for (let at = 0; at < 1500; at += 1) pipeline.hset(`dgw:1:history:{s${at}}:2026-03`, 'h', 'heads');
    await pipeline.zadd('dgw:1:history', 0, '2026-03 s0').exec();
    const first = await store.removeOldLayout(stopsAfter(1));
    expect(first.months).toBeGreaterThan(0);
    expect(first.months).toBeLessThan(1500);
    expect(await control.exists('dgw:1:history')).toBe(1);
    const second = await store.removeOldLayout(never);
    expect(first.months + second.months).toBe(1500);
    expect(await control.keys('*')).toEqual([]);
  });
});

it('each node of a cluster is searched', async () => {
  const { servers, close } = await startCluster(3);
  onTestFinished(close);
  const nodes = servers.map(({ port }) => ({ host: '127.0.0.1', port }));
  const { store } = await openStore('', { connection: { cluster: nodes } });
  onTestFinished(() => store.close());
  const control = new Cluster(nodes);
  onTestFinished(() => control.disconnect());
  await putNew(store);
  await putOld(control);
  for (let at = 0; at < 30; at += 1) await control.hset(`dgw:4:cache:{c5:s${at}}:2026-03`, 'h:01', 'x');
  // A client may know a node of a new cluster a little later: the next run searches it.
  const removed = { months: 0, cacheEntries: 0 };
  const removeAgain = async () => {
    const { months, cacheEntries } = await store.removeOldLayout(never);
    removed.months += months;
    removed.cacheEntries += cacheEntries;
    return removed;
  };
  await expect.poll(removeAgain).toEqual({ months: 3, cacheEntries: 34 });
  const left = (await Promise.all(control.nodes('master').map((node) => node.keys('*')))).flat();
  expect(left.filter((key) => /:history|:[34]:cache/.test(key))).toEqual([]);
  expect(left).toContain('dgw:5:cache:{s}a');
});
