/** One Redis for all, filled to the brim: by the cache of two replicas, and by what is nobody's. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.js';
import type { RedisStore, RedisStoreOptions } from '../../../src/store/redis/redis-store.js';
import type { RedisServer } from '../../support/redis.js';
import { HOUR } from '../../support/test-clock.js';
import { monthWrite, PLACE } from '../conformance-days.js';
import { writePins } from '../conformance-pins.js';
import { bodiesOf, keep } from '../entries.js';
import { openStore, startServer, untilItWorks, withControl } from './open-store.js';

const MB = 1024 * 1024;
const POLICIES = ['noeviction', 'volatile-lru', 'volatile-ttl'];

async function openReplica(server: RedisServer, options: Partial<RedisStoreOptions> = {}) {
  const opened = await openStore(server.url, { timeoutMs: 5000, registryTimeoutMs: 5000, ...options });
  onTestFinished(() => opened.store.close());
  return opened;
}

async function openPair(maxmemory: string, policy: string, options: Partial<RedisStoreOptions> = {}) {
  const server = await startServer('--maxmemory', maxmemory, '--maxmemory-policy', policy);
  const [one, other] = [await openReplica(server, options), await openReplica(server, options)];
  return { server, one: one.store, other: other.store, log: one.log };
}

/** Writes as much as it can of so many entries; what is not kept is not an error of the writer's. */
async function fillCache(stores: readonly RedisStore[], entries: number, bytes = 100_000): Promise<void> {
  for (let at = 0; at < entries; at += 1) {
    const write = {
      key: `{k${at % 50}}${at}`,
      value: Buffer.alloc(bytes, at),
      ttlMs: 30 * 24 * HOUR,
      version: 1,
    };
    const { cache } = stores[at % stores.length] as RedisStore;
    await keep(cache, [write]).catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error;
    });
  }
}

const usedOf = ({ url }: RedisServer) =>
  withControl(url, async (control) => Number(/used_memory:(\d+)/.exec(await control.info('memory'))?.[1]));

const daily = { capacity: 20, refillPerMs: 0, nowMs: 0, ttlMs: 48 * HOUR };

describe.each(POLICIES)('a Redis for all with %s, filled by the cache', (policy) => {
  it('forgets no quota and nobody who is there, takes every change, and keeps what is new', async () => {
    const { server, one, other } = await openPair('16mb', policy);
    await one.quotas.take('calls', { ...daily, want: 20 });
    await one.presence.beat('one', '', HOUR);
    await other.presence.beat('other', '', HOUR);
    await one.registry.commit({ writes: new Map([['key', 'active']]) });
    await fillCache([one, other], 200);

    expect(await other.quotas.take('calls', { ...daily, want: 20 })).toMatchObject({ granted: 0, left: 0 });
    expect((await other.presence.list()).map(({ id }) => id)).toEqual(['one', 'other']);
    await other.registry.commit({ writes: new Map([['key', 'revoked']]), audit: ['revoked'] });
    expect((await one.registry.load()).records.get('key')?.value).toBe('revoked');
    expect(await one.documents.create('document', 'x'.repeat(MB), HOUR)).toBeNull();
    await one.counters.add('batch', [{ group: 'b', field: 'f', by: 1 }], [], HOUR);
    expect(await one.leases.claim(['{k}lease'], 'one', HOUR)).toEqual([true]);
    expect(await usedOf(server)).toBeLessThan(12 * MB);
    expect([one.health(), other.health()]).toEqual([
      expect.objectContaining({ ok: true }),
      expect.objectContaining({ ok: true }),
    ]);
    const fresh = { key: '{new}1', value: Buffer.alloc(100_000, 7), ttlMs: HOUR, version: 1 };
    await untilItWorks(() => keep(one.cache, [fresh]));
    expect((await bodiesOf(other.cache, ['{new}1']))[0]).toHaveLength(100_000);
  });
});

describe('the bound of the cache', () => {
  it('is what is set, whatever the server allows', async () => {
    const { server, one, other } = await openPair('0', 'noeviction', { cacheMaxBytes: 6 * MB });
    await fillCache([one, other], 100);
    expect(await usedOf(server)).toBeLessThan(8 * MB);
    expect(one.memory?.()).toMatchObject({ maxBytes: null, cacheMaxBytes: 6 * MB, full: false });
  });

  it('leaves an eighth of the server to what must be written, whatever is set', async () => {
    const { server, one, other } = await openPair('16mb', 'noeviction', { cacheMaxBytes: 64 * MB });
    await fillCache([one, other], 200);
    expect(await usedOf(server)).toBeLessThan(15 * MB);
    expect(one.memory?.().cacheMaxBytes).toBe(14 * MB);
    await one.registry.commit({ writes: new Map([['key', 'revoked']]) });
  });

  it('is left to the server where it does not tell its memory', async () => {
    const server = await startServer();
    await withControl(server.url, (control) =>
      control.call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-info'),
    );
    const connection = { url: server.url.replace('//', '//app:secret@') };
    const { store } = await openReplica(server, { connection, cacheMaxBytes: MB });
    await fillCache([store], 20);
    expect((await bodiesOf(store.cache, ['{k19}19']))[0]).toHaveLength(100_000);
  });
});

describe('a Redis that others have filled', () => {
  async function fillWithForeignKeys({ url }: RedisServer): Promise<void> {
    await withControl(url, async (control) => {
      for (let at = 0; ; at += 1) {
        const reply = await control.set(`foreign:${at}`, 'x'.repeat(100_000)).catch(String);
        if (reply !== 'OK') return;
      }
    });
  }

  it.each(['noeviction', 'volatile-lru'])(
    'under %s is told as what it is, until it has room again',
    async (policy) => {
      // Of its looks at the memory.
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      onTestFinished(() => void vi.useRealTimers());
      const { server, one, log } = await openPair('8mb', policy);
      await one.registry.commit({ writes: new Map([['key', 'active']]) });
      await fillWithForeignKeys(server);
      const big = { writes: new Map([['key', 'r'.repeat(200_000)]]) };
      const refused = await one.registry.commit(big).then(
        () => expect.unreachable(),
        (error: unknown) => error,
      );
      expect(refused).toMatchObject({
        name: 'StoreUnavailable',
        why: 'no-room',
        message: expect.stringContaining('no memory left'),
      });
      expect(one.health()).toMatchObject({
        ok: true,
        reason: expect.stringContaining('no memory left'),
      });
      expect(log.lines.filter(({ level }) => level === 'error')).toEqual([
        expect.objectContaining({ message: expect.stringContaining('no memory left') }),
      ]);
      expect((await one.registry.load()).records.get('key')?.value).toBe('active');
      await withControl(server.url, (control) => control.config('SET', 'maxmemory', '64mb'));
      await one.registry.commit(big);
      vi.advanceTimersByTime(2000);
      await expect.poll(() => one.health()).not.toHaveProperty('reason');
      expect(one.memory?.().full).toBe(false);
    },
  );
});

describe('days and pins in a Redis that fills', () => {
  it.each(POLICIES.filter((policy) => policy !== 'noeviction'))(
    'are all kept under %s, whatever expires beside them',
    async (policy) => {
      const { server, one } = await openPair('24mb', policy);
      const months = ['2026-01', '2026-02', '2026-03', '2026-04'];
      for (const month of months) {
        const parts = new Map([['a', Buffer.alloc(MB, month)]]);
        expect(await one.days.write([{ ...monthWrite(0, 'index', { parts }), month }])).toEqual([null]);
        await keepPin(one.pins, month);
      }
      await withControl(server.url, async (control) => {
        for (let at = 0; at < 300; at += 1)
          await control.set(`foreign:${at}`, 'x'.repeat(100_000), 'EX', 3600);
        expect(Number(/^evicted_keys:(\d+)/m.exec(await control.info('stats'))?.[1])).toBeGreaterThan(100);
      });
      for (const month of months) {
        const found = await one.days.parts({ ...PLACE, month }, ['a']);
        expect(found.get('a')?.length).toBe(MB);
      }
      const { bodies } = await one.pins.read('p', months);
      expect(bodies.map((body) => body?.length)).toEqual(months.map(() => MB));
    },
  );

  it('leave the registry room: pins are refused before it is full', async () => {
    const { one } = await openPair('24mb', 'noeviction');
    const fill = async () => {
      for (let at = 0; at < 100; at += 1) await keepPin(one.pins, `${at}`);
    };
    await expect(fill()).rejects.toMatchObject({
      why: 'no-room',
      message: expect.stringContaining('for pins'),
    });
    await one.registry.commit({ writes: new Map([['team/late', '{}']]) });
    expect((await one.registry.load()).records.get('team/late')?.value).toBe('{}');
  });
});

const keepPin = (pins: RedisStore['pins'], name: string) =>
  writePins(pins, 'p', { added: new Map([[name, Buffer.alloc(MB, name)]]) });
