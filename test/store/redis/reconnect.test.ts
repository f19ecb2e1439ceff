import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.js';
import { connect, disconnect } from '../../../src/store/redis/connect.js';
import { StoreRefused } from '../../../src/store/refused.js';
import { waitFor } from '../../support/wait-for.js';
import { change } from '../conformance-registry.js';
import { bodiesOf, keep } from '../entries.js';
import { countConnections, openStore, startServer, untilItWorks, withControl } from './open-store.js';

describe('reconnect', () => {
  const put = (text: string) => [{ key: '{k}1', value: Buffer.from(text), ttlMs: 60_000, version: 1 }];

  it('moves cache, leases, registry and bus to another server, and lets go of the first', async () => {
    const [first, second] = [await startServer(), await startServer()];
    const { store } = await openStore(first.url);
    await keep(store.cache, put('first'));
    await store.registry.commit(change({ a: '1' }));
    const { epoch } = await store.registry.load();
    const heard: string[] = [];
    let gaps = 0;
    store.bus.subscribe(
      'news',
      (message) => void heard.push(message),
      () => void gaps++,
    );
    await waitFor('the subscription', () => gaps > 0);

    await store.reconnect({ url: second.url });
    await waitFor('the notice of a gap', () => gaps > 1);
    expect(await bodiesOf(store.cache, ['{k}1'])).toEqual([null]);
    expect(await store.registry.changes(epoch, 1)).toBeNull();
    expect((await store.registry.load()).epoch).not.toBe(epoch);
    await waitFor('the message', async () => {
      await store.bus.publish('news', 'moved');
      return heard.includes('moved');
    });
    await expect.poll(() => countConnections(first.url)).toBe(0);
    await store.close();
  });

  it('loses no call that is under way', async () => {
    const [first, second] = [await startServer(), await startServer()];
    const { store } = await openStore(first.url, { timeoutMs: 10_000 });
    await withControl(first.url, (control) => control.call('CLIENT', 'PAUSE', 200, 'ALL'));
    const underWay = Promise.all([
      bodiesOf(store.cache, ['{k}1']),
      store.leases.claim(['{k}1'], 'ann', 60_000),
    ]);
    const moving = store.reconnect({ url: second.url });
    expect(await underWay).toEqual([[null], [true]]);
    await moving;
    await store.close();
  });

  it('stays where it was when the other cannot be used', async () => {
    const [first, second] = [await startServer(), await startServer()];
    const { store } = await openStore(first.url);
    await keep(store.cache, put('first'));
    await second.kill();
    await expect(store.reconnect({ url: second.url })).rejects.toThrow(StoreUnavailable);
    const evicting = await startServer('--maxmemory-policy', 'allkeys-lru');
    await expect(store.reconnect({ url: evicting.url })).rejects.toThrow(StoreRefused);
    await expect(store.reconnect({ url: 'nonsense' })).rejects.toThrow(StoreRefused);
    expect(await bodiesOf(store.cache, ['{k}1'])).toEqual([Buffer.from('first')]);
    expect(await store.registry.commit(change({ a: '1' }))).toEqual({ version: 1 });
    await store.close();
  });

  it('helps when the first is gone, and one wish after another is honoured', async () => {
    const [first, second] = [await startServer(), await startServer()];
    const { store } = await openStore(first.url);
    await first.kill();
    const bad = store.reconnect({ url: first.url });
    const good = store.reconnect({ url: second.url });
    await expect(bad).rejects.toThrow(StoreUnavailable);
    await good;
    await untilItWorks(() => keep(store.cache, put('second')));
    await expect.poll(() => store.health()).toEqual({ ok: true });
    await store.close();
  });
});

describe('a client that the library ends while it connects anew', () => {
  it('is connected again, until it is closed', async () => {
    const server = await startServer();
    const client = (await connect({ url: server.url }, 'data', 10_000)) as Redis;
    // As its failover detector does when the sentinels tell of another primary.
    const { connector } = client as unknown as { connector: { disconnect(): void } };
    client.once('connecting', () => connector.disconnect());
    const ended = new Promise((resolve) => client.once('end', resolve));
    client.disconnect(true);
    await ended;
    await expect.poll(() => client.status).toBe('ready');
    expect(await client.ping()).toBe('PONG');

    await disconnect(client, 10_000);
    await expect.poll(() => countConnections(server.url)).toBe(0);
    expect(client.status).toBe('end');
  });
});
