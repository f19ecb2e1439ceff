import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { inspect, promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { faultOf } from '../../../src/cli/exit.js';
import { DamagedRecord } from '../../../src/lib/record.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { StoreRefused } from '../../../src/store/refused.js';
import { waitFor } from '../../support/wait-for.js';
import { change } from '../conformance-registry.js';
import { bodiesOf, keep } from '../entries.js';
import {
  countConnections,
  everyCall,
  openStore,
  serverOfFile,
  startServer,
  withControl,
} from './open-store.js';

const server = serverOfFile();

const setPolicy = (policy: string) =>
  withControl(server.url, (control) => control.config('SET', 'maxmemory-policy', policy));

describe('the eviction policy at the start', () => {
  it.each(['allkeys-lru', 'allkeys-lfu', 'allkeys-random'])(
    '%s is refused, with what to set instead',
    async (policy) => {
      const { url } = server;
      await setPolicy(policy);
      const opening = openStore(url);
      await expect(opening).rejects.toThrow(StoreRefused);
      await expect(opening).rejects.toThrow(`maxmemory-policy ${policy}`);
      await expect(opening).rejects.toThrow(/noeviction.*volatile-\*.*REDIS_REGISTRY_URL/);
      while ((await countConnections(url)) > 0); // all are closed in the end; the test's timeout says if not
    },
  );

  it.each(['noeviction', 'volatile-lru', 'volatile-ttl'])('%s is fine', async (policy) => {
    await setPolicy(policy);
    const { store, log } = await openStore(server.url);
    expect(log.lines).toEqual([]);
    await store.close();
  });

  it('is found by INFO where CONFIG is forbidden', async () => {
    const bad = await startServer('--maxmemory-policy', 'allkeys-lru', '--rename-command', 'CONFIG', '');
    await expect(openStore(bad.url)).rejects.toThrow('maxmemory-policy allkeys-lru');
    const good = await startServer('--maxmemory-policy', 'volatile-lru', '--rename-command', 'CONFIG', '');
    const { store, log } = await openStore(good.url);
    expect(log.lines).toEqual([]);
    await store.close();
  });

  it('is asked for in a warning where INFO is forbidden too; everything else works there', async () => {
    const { url, port } = server;
    await withControl(url, (control) =>
      control.call('ACL', 'SETUSER', 'app', 'on', '>word', '~*', '&*', '+@all', '-config', '-info'),
    );
    const { store, log } = await openStore(`redis://app:word@127.0.0.1:${port}`);
    expect(log.lines).toMatchObject([
      { level: 'warn', message: expect.stringContaining('noeviction or volatile-*') },
    ]);
    const { epoch } = await store.registry.load();
    expect(await store.registry.commit(change({ a: '1' }, { a: 0 }, ['line']))).toEqual({ version: 1 });
    expect((await store.registry.changes(epoch, 0))?.changed.size).toBe(1);
    await Promise.all(everyCall(store));
    await store.close();
  });

  it('does not matter for a cache whose registry is elsewhere', async () => {
    const cache = await startServer('--maxmemory-policy', 'allkeys-lru');
    const registry = server;
    const { store } = await openStore(cache.url, { registryConnection: { url: registry.url } });
    await keep(store.cache, [{ key: '{k}1', value: Buffer.from('v'), ttlMs: 60_000, version: 1 }]);
    await store.registry.commit(change({ a: '1' }));
    await store.quotas.take('q', { want: 1, capacity: 1, refillPerMs: 0, nowMs: 0, ttlMs: 60_000 });
    await store.presence.beat('me', '', 60_000);
    await store.documents.create('n', '', 60_000);
    await store.counters.add('batch', [{ group: 'b', field: 'f', by: 1 }], [], 60_000);
    await store.charges.charge({ id: 'c', purse: 'p', amount: 1, max: 1, note: '', ttlMs: 60_000 });
    await store.charges.end('c', 'kept');
    const keysOf = (url: string) => withControl(url, async (control) => (await control.keys('*')).sort());
    expect(await keysOf(cache.url)).toEqual([
      'dgw:1:present:{presence}:ends',
      'dgw:1:{presence}',
      'dgw:1:{presence}:me',
      'dgw:1:{quotas}:bucket:q',
      'dgw:1:{quotas}:ends',
      'dgw:5:cache:{k}1',
    ]);
    expect(await keysOf(registry.url)).toEqual([
      'dgw:1:{charges}:ended',
      'dgw:1:{charges}:ends',
      'dgw:1:{charges}:purses',
      'dgw:1:{notes}:bytes',
      'dgw:1:{notes}:ends',
      'dgw:1:{notes}:note:n',
      'dgw:1:{registry}:meta',
      'dgw:1:{registry}:records',
      'dgw:1:{registry}:revisions',
      'dgw:1:{tallies}:batches',
      'dgw:1:{tallies}:book:b',
      'dgw:1:{tallies}:ends',
    ]);
    // Each fails alone.
    await cache.kill();
    while (store.health().ok) await bodiesOf(store.cache, ['{k}1']).catch(() => null);
    expect(store.health().reason).toMatch(/^cache: /);
    expect(await store.registry.commit(change({ a: '2' }))).toEqual({ version: 2 });
    await store.close();
  });
});

describe('a process that uses Redis', () => {
  it('can end when it has closed the store, or could not open it', async () => {
    const script = fileURLToPath(new URL('try-to-open.mjs', import.meta.url));
    // It ends by itself, or the test does not.
    const args = [script, server.url, 'redis://127.0.0.1:1'];
    expect((await promisify(execFile)(process.execPath, args)).stdout).toBe('closed\nStoreUnavailable\n');
  });
});

describe('subscriptions', () => {
  it('that were refused are tried again', async () => {
    const { url, port } = server;
    await withControl(url, async (control) => {
      await control.call('ACL', 'SETUSER', 'deaf', 'on', '>word', '~*', '+@all');
      const { store, log } = await openStore(`redis://deaf:word@127.0.0.1:${port}`);
      const heard: string[] = [];
      store.bus.subscribe('news', (message) => void heard.push(message));
      await waitFor('a line in the log', () => log.lines.length > 0);
      expect(log.lines).toMatchObject([
        { level: 'warn', fields: { fault: expect.stringContaining('NOPERM') } },
      ]);
      await control.call('ACL', 'SETUSER', 'deaf', '&*');
      await waitFor('a message', async () => {
        await control.publish('dgw:1:bus:news', 'at last');
        return heard.length > 0;
      });
      expect(log.lines).toHaveLength(1);
      await store.close();
    });
  });
});

describe('passwords', () => {
  it('are used, and never logged nor shown in an error', async () => {
    const { port } = await startServer('--requirepass', 'right-SECRET');
    const { store, log } = await openStore(`redis://:right-SECRET@127.0.0.1:${port}`);
    expect(await bodiesOf(store.cache, ['{k}1'])).toEqual([null]);
    await store.close();

    const opening = openStore(`redis://:wrong-SECRET@127.0.0.1:${port}`).catch((error: unknown) => error);
    const error = (await opening) as StoreUnavailable;
    expect(error).toBeInstanceOf(StoreUnavailable);
    expect(error.message).toContain('WRONGPASS');
    expect(inspect(error, { depth: 10, showHidden: true }) + log.text()).not.toContain('SECRET');
  });

  it('that are changed while the store runs show in its health and its log, without being shown', async () => {
    const server = await startServer('--requirepass', 'first-SECRET');
    const { store, log } = await openStore(`redis://:first-SECRET@127.0.0.1:${server.port}`);
    await withControl(`redis://:first-SECRET@127.0.0.1:${server.port}`, async (control) => {
      await control.config('SET', 'requirepass', 'second-SECRET');
      await control.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    });
    await waitFor('a refused password', () => /WRONGPASS/.test(store.health().reason ?? ''));
    await expect(bodiesOf(store.cache, ['{k}1'])).rejects.toThrow(StoreUnavailable);
    await store.reconnect({ url: `redis://:second-SECRET@127.0.0.1:${server.port}` });
    expect(await bodiesOf(store.cache, ['{k}1'])).toEqual([null]);
    await expect.poll(() => store.health()).toEqual({ ok: true });
    expect(log.text()).not.toContain('SECRET');
    await store.close();
  });
});

describe('rediss://', () => {
  it('speaks TLS, and says no password to a server that does not', async () => {
    const said: Buffer[] = [];
    const listener = createServer((socket) => {
      socket.on('data', (bytes) => said.push(bytes));
      socket.on('error', () => socket.destroy());
      socket.once('data', () => socket.end('-ERR what?\r\n'));
    }).listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    await expect(openStore(`rediss://:SECRET@127.0.0.1:${port}`)).rejects.toThrow(StoreUnavailable);
    listener.close();
    const bytes = Buffer.concat(said);
    // RFC 8446, 5.1: a record of the handshake.
    expect(bytes[0]).toBe(22);
    expect(bytes.includes('SECRET')).toBe(false);
  });
});

describe('a registry that is damaged', () => {
  it('is refused by a word for it', async () => {
    const { store } = await openStore(server.url);
    await store.registry.load();
    await withControl(server.url, async (control) => {
      const [meta = ''] = await control.keys('*{registry}:meta');
      await control.hset(meta, 'version', 'none');
    });
    await expect(store.registry.load()).rejects.toThrow(StoreRefused);
    await expect(store.registry.load()).rejects.toThrow(/damaged.*restore Redis from a backup/);
    await store.close();
  });

  it('and a damaged record is a fault of one line', async () => {
    const { lines, code } = await faultOf(new DamagedRecord('key/a'));
    expect(lines).toEqual(['the record key/a is damaged; restore the store from a backup']);
    expect(code).toBe(78);
  });
});
