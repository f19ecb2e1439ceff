import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { OPEN_CHARGES_MAX } from '../../../src/store/charges-port.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import type { RedisStore } from '../../../src/store/redis/redis-store.js';
import { MINUTE } from '../../support/test-clock.js';
import { openStore, serverOfFile, withControl } from './open-store.js';

const PRESENT_ENDS = 'dgw:1:present:{presence}:ends';
const ENDS = { counters: 'dgw:1:{tallies}:ends', documents: 'dgw:1:{notes}:ends' };

const server = serverOfFile();
let store: RedisStore;

beforeEach(async () => {
  ({ store } = await openStore(server.url, { timeoutMs: 10_000, registryTimeoutMs: 10_000 }));
});

afterEach(() => store.close());

const count = (id: string, group: string) =>
  store.counters.add(id, [{ group, field: 'calls', by: 1 }], [], MINUTE);

/** As if the time of everything there were over. */
const endAll = (ends: string) =>
  withControl(server.url, async (control) => {
    for (const member of await control.zrange(ends, '0', '-1')) await control.zadd(ends, '1', member);
  });

const keysLike = (pattern: string) => withControl(server.url, (control) => control.keys(pattern));

describe('documents and counters in Redis', () => {
  it('do not expire by themselves, for what expires is evicted when a cache beside them fills the server', async () => {
    await count('1', 'a');
    await store.documents.create('n', 'text', MINUTE);
    await store.documents.replace('n', 'text', 'changed', MINUTE);
    await withControl(server.url, async (control) => {
      const keys = await control.keys('*');
      expect(await Promise.all(keys.map((key) => control.pttl(key)))).toEqual(keys.map(() => -1));
      await control.config('SET', 'maxmemory-policy', 'volatile-lru');
      await control.config('SET', 'maxmemory', '4mb');
    });
    for (let at = 0; at < 60; at += 1) {
      const value = Buffer.alloc(100_000);
      await withControl(server.url, (control) => control.set(`dgw:3:cache:{k}${at}`, value, 'PX', MINUTE));
    }
    expect((await keysLike('dgw:3:cache:*')).length).toBeLessThan(60);
    expect(await store.documents.get('n')).toBe('changed');
    expect(await store.counters.read(['a'])).toEqual([new Map([['calls', 1]])]);
    await withControl(server.url, (control) => control.config('SET', 'maxmemory', '0'));
  });

  it('are deleted by later writes once they have ended, and nothing of them stays', async () => {
    for (let at = 0; at < 5; at += 1) {
      await count(`${at}`, `group ${at}`);
      await store.documents.create(`document ${at}`, 'text', MINUTE);
    }
    await Promise.all([...Object.values(ENDS), 'dgw:1:{tallies}:batches'].map(endAll));
    await count('later', 'group');
    await store.documents.create('document', 'text', MINUTE);
    expect((await keysLike('*')).sort()).toEqual([
      'dgw:1:{notes}:bytes',
      ENDS.documents,
      'dgw:1:{notes}:note:document',
      'dgw:1:{tallies}:batches',
      'dgw:1:{tallies}:book:group',
      ENDS.counters,
    ]);
    await withControl(server.url, async (control) => {
      expect(await control.zrange('dgw:1:{tallies}:batches', '0', '-1')).toEqual(['later']);
      expect(await control.zcard(ENDS.counters)).toBe(1);
      expect(await control.zcard(ENDS.documents)).toBe(1);
    });
  });

  it('have room up to a bound, and small ones when large ones find none any more', async () => {
    await store.close();
    ({ store } = await openStore(server.url, { documentsMaxBytes: 40_000 }));
    const { documents } = store;
    const large = (size: number) => 'x'.repeat(size);
    const noRoom = expect.objectContaining({ name: 'StoreUnavailable', why: 'no-room' });
    await documents.create('one', 'begun', MINUTE);
    expect(await documents.replace('one', 'begun', large(20_000), MINUTE)).toBe(true);
    await documents.create('two', 'begun', MINUTE);
    await expect(documents.replace('two', 'begun', large(20_000), MINUTE)).rejects.toEqual(noRoom);
    await expect(documents.create('three', large(20_000), MINUTE)).rejects.toEqual(noRoom);
    expect(await documents.replace('two', 'begun', 'not kept', MINUTE)).toBe(true);
    const small = Array.from({ length: 30 }, (_, at) => `small ${at}`);
    const made = await Promise.allSettled(small.map((key) => documents.create(key, large(1_000), MINUTE)));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(19);
    expect(await documents.get('one')).toBe(large(20_000));
    expect(await documents.replace('one', large(20_000), null, 0)).toBe(true);
    expect(await documents.create('three', large(10_000), MINUTE)).toBeNull();
  });

  it('have room again once those before them have ended', async () => {
    await store.close();
    ({ store } = await openStore(server.url, { documentsMaxBytes: 10_000 }));
    for (const key of ['one', 'two', 'three', 'four', 'five', 'six', 'seven'])
      await store.documents.create(key, 'x'.repeat(1_000), MINUTE);
    await expect(store.documents.create('long', 'x'.repeat(5_000), MINUTE)).rejects.toThrow(StoreUnavailable);
    await endAll(ENDS.documents);
    expect(await store.documents.create('long', 'x'.repeat(5_000), MINUTE)).toBeNull();
    await withControl(server.url, async (control) => {
      expect(await control.get('dgw:1:{notes}:bytes')).toBe('5000');
    });
  });

  it('take nothing of a batch of which a part cannot be taken, and all of it when it can', async () => {
    const both = ['good', 'foreign'].map((group) => ({ group, field: 'calls', by: 1 }));
    await store.counters.add('1', both, [], MINUTE);
    await withControl(server.url, (control) => control.set('dgw:1:{tallies}:book:foreign', 'not a group'));
    await expect(store.counters.add('2', both, [], MINUTE)).rejects.toThrow(StoreUnavailable);
    expect(await store.counters.read(['good'])).toEqual([new Map([['calls', 1]])]);
    await withControl(server.url, (control) => control.del('dgw:1:{tallies}:book:foreign'));
    await store.counters.add('2', both, [], MINUTE);
    expect(await store.counters.read(['good', 'foreign'])).toEqual([
      new Map([['calls', 2]]),
      new Map([['calls', 1]]),
    ]);
  });

  it('begin anew where something ended lies, of whatever type', async () => {
    await withControl(server.url, async (control) => {
      await control.set('dgw:1:{tallies}:book:a', 'left over');
      await control.lpush('dgw:1:{notes}:note:n', 'left over');
    });
    await count('1', 'a');
    expect(await store.counters.read(['a'])).toEqual([new Map([['calls', 1]])]);
    expect(await store.documents.create('n', 'text', MINUTE)).toBeNull();
    expect(await store.documents.get('n')).toBe('text');
  });
});

describe('charges in Redis', () => {
  const charge = (id: string, purse = 'p') =>
    store.charges.charge({ id, purse, amount: 1, max: 9, note: '', ttlMs: MINUTE });

  it('do not expire by themselves, and are deleted by later ones once they have ended', async () => {
    for (const id of ['a', 'b', 'open']) await charge(id, `purse of ${id}`);
    for (const id of ['a', 'b']) await store.charges.end(id, 'kept');
    await withControl(server.url, async (control) => {
      const keys = await control.keys('*');
      expect(keys).toHaveLength(4);
      expect(await Promise.all(keys.map((key) => control.pttl(key)))).toEqual(keys.map(() => -1));
    });
    await endAll('dgw:1:{charges}:ends');
    await endAll('dgw:1:{charges}:ended');
    await charge('later');
    await store.charges.end('later', 'back');
    await withControl(server.url, async (control) => {
      expect(await control.hgetall('dgw:1:{charges}:purses')).toEqual({ p: '0' });
      expect(await control.zrange('dgw:1:{charges}:ends', '0', '-1')).toEqual(['p']);
      expect(await control.zrange('dgw:1:{charges}:ended', '0', '-1')).toEqual(['later']);
    });
    expect((await store.charges.open()).map(({ id }) => id)).toEqual(['open']);
  });

  it('are refused once too many are open', async () => {
    await withControl(server.url, async (control) => {
      const many = Array.from({ length: OPEN_CHARGES_MAX }, (_, at) => [`${at}`, '1\np\n']);
      await control.hset('dgw:1:{charges}:open', Object.fromEntries(many));
    });
    await expect(charge('b')).rejects.toMatchObject({ name: 'StoreUnavailable', why: 'no-room' });
    await store.charges.end('0', 'kept');
    expect(await charge('b')).toEqual({ kind: 'made', charged: 1 });
  });
});

describe('quotas and presence in Redis', () => {
  it('do not expire by themselves, and are deleted once they have ended', async () => {
    const take = { want: 1, capacity: 1, refillPerMs: 0, nowMs: 0, ttlMs: MINUTE };
    await store.quotas.take('q', take);
    await store.presence.beat('a', '', 9 * MINUTE);
    await store.presence.beat('b', '', MINUTE);
    await withControl(server.url, async (control) => {
      const keys = await control.keys('*');
      expect(keys).toHaveLength(6);
      expect(await Promise.all(keys.map((key) => control.pttl(key)))).toEqual(keys.map(() => -1));
      await control.zadd(PRESENT_ENDS, '1', 'dgw:1:{presence}:b');
      expect(await store.presence.list()).toEqual([{ id: 'a', info: '' }]);
      expect(await control.smembers('dgw:1:{presence}')).toEqual(['a']);
      expect(await control.exists('dgw:1:{presence}:b')).toBe(0);
    });
    await endAll('dgw:1:{quotas}:ends');
    expect(await store.quotas.take('q', { ...take, want: 0 })).toMatchObject({ left: 1 });
    await store.quotas.take('another', take);
    expect((await keysLike('*quota*')).sort()).toEqual([
      'dgw:1:{quotas}:bucket:another',
      'dgw:1:{quotas}:ends',
    ]);
  });

  it('count replicas of the first version too, whose presence expires, and are not made to expire by them', async () => {
    await store.presence.beat('new', '', MINUTE);
    await withControl(server.url, async (control) => {
      await control.set('dgw:1:{presence}:old', '', 'PX', 5000);
      await control.sadd('dgw:1:{presence}', 'old');
      await control.pexpire('dgw:1:{presence}', 5000);
      expect((await store.presence.list()).map(({ id }) => id)).toEqual(['new', 'old']);
      await store.presence.beat('new', '', MINUTE);
      expect(await control.pttl('dgw:1:{presence}')).toBe(-1);
      await control.del('dgw:1:{presence}:old');
      expect((await store.presence.list()).map(({ id }) => id)).toEqual(['new']);
    });
  });

  it('keep the sums of a bucket to the last digit', async () => {
    const take = { want: 1, capacity: 1e9, refillPerMs: 0.1, nowMs: 1.7e12 + 0.3, ttlMs: MINUTE };
    await store.quotas.take('q', { ...take, want: 123_456_789 });
    await store.quotas.take('q', { ...take, nowMs: take.nowMs + 1 / 3 });
    const passedMs = take.nowMs + 1 / 3 - take.nowMs;
    await withControl(server.url, async (control) => {
      const [used, at] = await control.hmget('dgw:1:{quotas}:bucket:q', 'used', 'at');
      expect(Number(used)).toBe(123_456_789 - passedMs * 0.1 + 1);
      expect(Number(at)).toBe(take.nowMs + 1 / 3);
    });
  });
});
