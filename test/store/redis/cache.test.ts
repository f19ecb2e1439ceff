/** How cache entries lie in Redis, and what is made of it when a part of it is lost, old or somebody else's. */
import type { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Clock, createClock } from '../../../src/lib/clock.js';
import { STAMP_BYTES } from '../../../src/store/entry-stamp.js';
import type { CachePlace, CacheWrite } from '../../../src/store/port.js';
import type { RedisStore } from '../../../src/store/redis/redis-store.js';
import { commandsDuring } from '../../support/redis-monitor.js';
import { MINUTE } from '../../support/test-clock.js';
import { openStore, serverOfFile, withControl } from './open-store.js';

const LARGE = 256 * 1024 + 1;
/** Of a body with a field of its own. */
const MIDDLE = 1025;
const HASH = 'dgw:4:cache:{s}:2026-03';
const OWN_KEY = 'dgw:4:cache-body:{s}:7:2026-03:01';

const server = serverOfFile();

async function open(clock?: Clock): Promise<RedisStore> {
  const { store } = await openStore(server.url, {
    timeoutMs: 10_000,
    ...(clock === undefined ? {} : { clock }),
  });
  onTestFinished(() => store.close());
  return store;
}

const looking = <T>(use: (control: Redis) => Promise<T>) => withControl(server.url, use);
const day = (date: string): CachePlace => ({ series: 's', group: date.slice(0, 7), field: date.slice(8) });
const FIRST = day('2026-03-01');
const FACTS = Buffer.from('{"columns":[]}');

function writeOf(date: string, changes: Partial<CacheWrite> = {}): CacheWrite {
  return {
    ...day(date),
    version: 5,
    ttlMs: MINUTE,
    header: Buffer.from('header'),
    body: Buffer.from(date),
    facts: FACTS,
    ...changes,
  };
}

const bodies = async (store: RedisStore, dates: readonly string[]) =>
  (await store.cache.read(dates.map(day))).map((entry) => entry?.body.toString() ?? null);

/** The commands that a server is sent meanwhile, but those of scripts. */
async function commandsOf(use: () => Promise<unknown>): Promise<(readonly string[])[]> {
  const seen = await commandsDuring(server.url, use);
  // A look at the memory is no part of a call.
  return seen.filter(({ args, source }) => source !== 'lua' && args[0] !== 'info').map(({ args }) => args);
}

describe('a month of a series', () => {
  it('is one hash: heads with small bodies behind them, larger bodies, and facts once for all', async () => {
    const store = await open();
    const [small, larger] = [Buffer.alloc(MIDDLE - 1, 's'), Buffer.alloc(MIDDLE, 'l')];
    await store.cache.write([
      writeOf('2026-03-01', { body: small }),
      writeOf('2026-03-02', { body: larger }),
      writeOf('2026-04-01'),
    ]);
    await looking(async (control) => {
      expect((await control.keys('*')).sort()).toEqual([
        'dgw:4:cache:{s}:2026-03',
        'dgw:4:cache:{s}:2026-04',
      ]);
      const fields = (await control.hkeys(HASH)).sort();
      expect(fields).toEqual(['d:02', expect.stringMatching(/^f:[0-9a-f]{32}$/), 'h:01', 'h:02']);
      expect(await control.hstrlen(HASH, 'h:01')).toBe(STAMP_BYTES + 'header'.length + small.length);
      expect(await control.hstrlen(HASH, 'h:02')).toBe(STAMP_BYTES + 'header'.length);
    });
  });

  it('packs small days that are written together into one small field', async () => {
    const store = await open();
    const dates = Array.from({ length: 9 }, (_, at) => `2026-03-0${at + 1}`);
    const bodyOf = (date: string) => Buffer.from(`{"date":"${date}","spent":1}`.repeat(30));
    const writes = dates.map((date) => writeOf(date, { body: bodyOf(date), isPacked: true }));
    await store.cache.write([...writes, writeOf('2026-03-10', { body: Buffer.alloc(MIDDLE * 2, 'l') })]);
    await looking(async (control) => {
      const [pack = '', facts = ''] = (await control.hkeys(HASH)).filter((name) => name.startsWith('f:'));
      const sizes = [await control.hstrlen(HASH, pack), await control.hstrlen(HASH, facts)];
      expect(Math.max(...sizes)).toBeLessThan(1000);
      expect(await control.hstrlen(HASH, 'h:09')).toBe(STAMP_BYTES);
    });
    const reader = await open();
    for (const one of [store, reader]) {
      const found = await one.cache.read([...dates.map(day), day('2026-03-10')]);
      expect(found.slice(0, 9).map((entry) => entry?.body)).toEqual(dates.map(bodyOf));
      expect(found[0]).toEqual({
        version: 5,
        header: Buffer.from('header'),
        body: bodyOf('2026-03-01'),
        facts: FACTS,
      });
      expect(found[1]?.facts).toBe(found[2]?.facts);
    }
  });

  it('reads the newest of days that were packed repeatedly, and keeps no unused pack', async () => {
    const store = await open();
    const dates = Array.from({ length: 9 }, (_, at) => `2026-03-0${at + 1}`);
    const write = (some: readonly string[], version: number, text: string) =>
      store.cache.write(
        some.map((date) => writeOf(date, { version, body: Buffer.from(`${text} ${date}`), isPacked: true })),
      );
    const fieldCount = () => looking((control) => control.hlen(HASH));
    await write(dates, 5, 'a');
    await write(dates.slice(4), 7, 'b');
    await write(dates.slice(2), 6, 'c');
    const reader = await open();
    expect(await bodies(reader, dates)).toEqual(
      dates.map((date, at) => `${at < 2 ? 'a' : at < 4 ? 'c' : 'b'} ${date}`),
    );
    expect(await fieldCount()).toBe(9 + 3);
    await write(dates, 8, 'd');
    expect(await bodies(await open(), dates)).toEqual(dates.map((date) => `d ${date}`));
    expect(await fieldCount()).toBe(9 + 1);
    await looking(async (control) => {
      const [pack = ''] = (await control.hkeys(HASH)).filter((name) => name.startsWith('f:'));
      await control.hdel(HASH, pack);
    });
    expect(await bodies(await open(), dates)).toEqual(dates.map(() => null));
    await write(dates, 7, 'e');
    expect(await bodies(store, dates)).toEqual(dates.map((date) => `e ${date}`));
  });

  it('is read by one call of a script, facts and packs included, ninety days in one round trip', async () => {
    const writer = await open();
    const dates = ['01', '02', '03', '04'].flatMap((month) =>
      Array.from({ length: 23 }, (_, at) => `2026-${month}-${String(at + 1).padStart(2, '0')}`),
    );
    const isPacked = { isPacked: true } as const;
    await writer.cache.write(
      dates.map((date) => writeOf(date, date < '2026-03' ? isPacked : { body: Buffer.from(date) })),
    );
    await writer.cache.read([FIRST]);
    const reader = await open();
    const commands = await commandsOf(async () => {
      expect(await bodies(reader, dates)).toEqual(dates);
    });
    // The first sends the script to the connection.
    expect(commands.map(([name, _script, keyCount]) => [name, keyCount])).toEqual([['eval', '8']]);
    const few = await commandsOf(() => reader.cache.read([day('2026-01-05'), day('2026-02-05')]));
    expect(few.map(([name]) => name)).toEqual(['evalsha']);
  });

  it('is written in one transaction, in which no large body goes through the script', async () => {
    const store = await open();
    const commands = await commandsOf(() =>
      store.cache.write([
        writeOf('2026-03-01'),
        writeOf('2026-03-02', { body: Buffer.alloc(MIDDLE, 'x') }),
        writeOf('2026-03-03', { body: Buffer.alloc(LARGE, 'x') }),
      ]),
    );
    expect(commands.map(([name]) => name)).toEqual(['multi', 'eval', 'hsetnx', 'set', 'hsetnx', 'exec']);
    expect(commands[1]?.join(' ')).not.toContain('xxx');
    expect(commands[1]?.slice(2).join(' ').length).toBeLessThan(1000);
  });

  it('lives as long as the longest of its entries: its lifetime is raised, and never shortened', async () => {
    const store = await open();
    const left = () => looking((control) => control.pttl(HASH));
    await store.cache.write([writeOf('2026-03-01', { ttlMs: 9 * MINUTE }), writeOf('2026-03-02')]);
    expect(await left()).toBeGreaterThan(8 * MINUTE);
    await store.cache.write([writeOf('2026-03-02', { ttlMs: MINUTE })]);
    expect(await left()).toBeGreaterThan(8 * MINUTE);
    await store.cache.write([writeOf('2026-03-02', { ttlMs: 20 * MINUTE })]);
    expect(await left()).toBeGreaterThan(19 * MINUTE);
    // What is not taken raises nothing.
    await store.cache.write([writeOf('2026-03-02', { version: 4, ttlMs: 90 * MINUTE })]);
    expect(await left()).toBeLessThanOrEqual(20 * MINUTE);
  });

  it('loses fields that are over, and facts that nobody refers to, with the next write', async () => {
    let passedMs = 0;
    const real = createClock();
    const store = await open({ ...real, now: () => real.now() + passedMs });
    await store.cache.write([
      writeOf('2026-03-01', { facts: Buffer.from('{"old":1}') }),
      writeOf('2026-03-02', { facts: Buffer.from('{"replaced":1}'), ttlMs: 9 * MINUTE }),
    ]);
    passedMs = 2 * MINUTE;
    await store.cache.write([writeOf('2026-03-02', { ttlMs: 9 * MINUTE })]);
    await looking(async (control) => {
      expect((await control.hkeys(HASH)).sort()).toEqual([expect.stringMatching(/^f:/), 'h:02']);
    });
    expect(await bodies(store, ['2026-03-01', '2026-03-02'])).toEqual([null, '2026-03-02']);
  });
});

describe('an entry of which a part is lost', () => {
  const lost: readonly [string, number, (control: Redis) => Promise<unknown>][] = [
    ['its head', 10, (control) => control.hdel(HASH, 'h:01')],
    ['its body', MIDDLE, (control) => control.hdel(HASH, 'd:01')],
    ['a part of its head and its body', 50, cutHead],
    ['its body, which has a key of its own', LARGE, (control) => control.del(OWN_KEY)],
    ['its body of another type', LARGE, (control) => replaceByList(control, OWN_KEY)],
    ['its facts', 10, (control) => control.hdel(HASH, ...facts)],
    ['everything', 10, (control) => control.del(HASH)],
    ['the hash to another type', 10, (control) => replaceByList(control, HASH)],
  ];
  const facts: string[] = [];

  it.each(lost)(
    'is absent without %s, and can be written again, be it by an older write',
    async (_, bytes, lose) => {
      const writer = await open();
      const body = Buffer.alloc(bytes, 'x');
      await writer.cache.write([writeOf('2026-03-01', { body })]);
      await looking(async (control) => {
        facts.splice(0, facts.length, ...(await control.hkeys(HASH)).filter((name) => name.startsWith('f:')));
        await lose(control);
      });
      const reader = await open();
      expect(await reader.cache.read([FIRST])).toEqual([null]);
      await reader.cache.write([writeOf('2026-03-01', { body, version: 4 })]);
      const [found] = await (await open()).cache.read([FIRST]);
      expect([found?.version, found?.body.equals(body)]).toEqual([4, true]);
    },
  );
});

describe('what another release keeps in the same hash', () => {
  it('is left alone: fields nobody knows, heads of another form, and facts', async () => {
    const store = await open();
    await store.cache.write([writeOf('2026-03-01')]);
    await looking(async (control) => {
      await control.hset(
        HASH,
        'x:later',
        'unknown',
        'h:02',
        'a head of another form, of some length',
        'f:00',
        'its facts',
      );
    });
    await store.cache.write([writeOf('2026-03-03')]);
    expect(await bodies(store, ['2026-03-01', '2026-03-02', '2026-03-03'])).toEqual([
      '2026-03-01',
      null,
      '2026-03-03',
    ]);
    await looking(async (control) => {
      expect(await control.hmget(HASH, 'x:later', 'f:00', 'h:02')).toEqual([
        'unknown',
        'its facts',
        'a head of another form, of some length',
      ]);
    });
  });

  it('lies side by side with it in the layout before: neither is read or changed by the other', async () => {
    const store = await open();
    const before = { 'h:01': 'a head', 'd:01': 'a body', 'f:00': 'facts' };
    const old = 'dgw:3:cache:{s}:2026-03';
    await looking((control) => control.hset(old, before));
    expect(await store.cache.read([FIRST])).toEqual([null]);
    await store.cache.write([writeOf('2026-03-01')]);
    expect(await bodies(store, ['2026-03-01'])).toEqual(['2026-03-01']);
    await store.cache.remove([FIRST]);
    await looking(async (control) => {
      expect(await control.hgetall(old)).toEqual(before);
      expect(await control.pttl(old)).toBe(-1);
    });
  });
});

describe('bytes that were changed in Redis', () => {
  it('are given as they are, facts under a name that is not theirs among them: the reader sees it', async () => {
    const store = await open();
    await store.cache.write([writeOf('2026-03-01', { body: Buffer.alloc(MIDDLE, 'x') })]);
    await looking(async (control) => {
      const [facts = ''] = (await control.hkeys(HASH)).filter((name) => name.startsWith('f:'));
      await control.hset(HASH, facts, '{"columns":[0]}', 'd:01', 'changed');
    });
    const reader = await open();
    for (const _ of [1, 2]) {
      const [found] = await reader.cache.read([FIRST]);
      expect([found?.facts.toString(), found?.body.toString()]).toEqual(['{"columns":[0]}', 'changed']);
    }
  });
});

async function cutHead(control: Redis): Promise<void> {
  const head = (await control.hgetBuffer(HASH, 'h:01')) as Buffer;
  await control.hset(HASH, 'h:01', head.subarray(0, STAMP_BYTES + 10));
}

async function replaceByList(control: Redis, key: string): Promise<void> {
  await control.del(key);
  await control.lpush(key, 'a');
}
