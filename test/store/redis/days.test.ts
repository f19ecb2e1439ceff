/** The days of reports as stored in Redis: damage, foreign values, a server without room, lost scripts and commands. */
import { expect, it, onTestFinished } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.js';
import { monthWrite } from '../conformance-days.js';
import { openStore, serverOfFile, startServer, withControl } from './open-store.js';

const server = serverOfFile();
const HASH = 'dgw:1:days:{s}:2026-03';
const PLACE = { series: 's', month: '2026-03' };
const WANTED = [{ month: '2026-03', days: [1, 2] }];

async function openDays(url = server.url) {
  const { store } = await openStore(url);
  onTestFinished(() => store.close());
  return store.days;
}

async function openFilled() {
  const days = await openDays();
  const parts = new Map([['a', Buffer.from('rows of a')]]);
  const named = new Map([1, 2].map((day) => [day, { name: 'a', bytes: 9 }]));
  const earlier = new Map([[1, Buffer.from('earlier')]]);
  expect(await days.write([monthWrite(0, 'index', { parts, named, earlier })])).toEqual([null]);
  return days;
}

it('a changed bit of an index, of earlier revisions or of a part is absence, never another value', async () => {
  const days = await openFilled();
  await withControl(server.url, async (control) => {
    for (const field of ['i', 'e:01', 'p:a']) {
      const value = (await control.hgetBuffer(HASH, field)) as Buffer;
      for (let at = field === 'i' ? 6 : 0; at < value.length; at += 1) {
        const damaged = Buffer.from(value);
        damaged[at] = (damaged[at] as number) ^ (1 << (at % 8));
        await control.hset(HASH, field, damaged);
        const [found] = await days.read('s', WANTED);
        const past = await days.earlier(PLACE, [1]);
        const part = (await days.parts(PLACE, ['a'])).get('a');
        expect({
          index: found?.index?.toString(),
          earlier: past?.earlier.get(1)?.toString(),
          part: part?.toString(),
        }).toEqual({
          index: field === 'i' ? undefined : 'index',
          earlier: field === 'e:01' ? undefined : 'earlier',
          part: field === 'p:a' ? undefined : 'rows of a',
        });
        for (const one of found?.parts.values() ?? []) expect(one.toString()).toBe('rows of a');
      }
      await control.hset(HASH, field, value);
    }
  });
});

it('a part under the name of another, and a month under the name of another, are absent', async () => {
  const days = await openFilled();
  await withControl(server.url, async (control) => {
    await control.hset(HASH, 'p:b', (await control.hgetBuffer(HASH, 'p:a')) as Buffer);
    expect([...(await days.parts(PLACE, ['a', 'b'])).keys()]).toEqual(['a']);
    await control.copy(HASH, 'dgw:1:days:{s}:2026-04');
    expect((await days.read('s', [{ month: '2026-04', days: [1] }]))[0]).toMatchObject({
      index: null,
      parts: new Map(),
    });
  });
});

it('a damaged index is replaced by the next write, with the stamp that was read', async () => {
  const days = await openFilled();
  await withControl(server.url, async (control) => {
    const value = (await control.hgetBuffer(HASH, 'i')) as Buffer;
    for (const damaged of [value.subarray(0, 20), value.subarray(0, 3), Buffer.alloc(0)]) {
      await control.hset(HASH, 'i', damaged);
      const [found] = await days.read('s', WANTED);
      expect(found?.index ?? null).toBeNull();
      expect(await days.write([monthWrite(found?.stamp ?? 0, 'again')])).toEqual([null]);
      expect((await days.read('s', WANTED))[0]?.index?.toString()).toBe('again');
    }
  });
});

it('a key of another type is absence, and the next write replaces it', async () => {
  const days = await openDays();
  await withControl(server.url, async (control) => {
    await control.set(HASH, 'text');
    await control.set('dgw:1:days:{s}:locks', 'text');
    expect(await days.read('s', WANTED)).toEqual([null]);
    const known = [{ month: '2026-03', days: [1], stamp: 0 }];
    const claimed = await days.claim('s', { owner: 'one', names: ['a'], leaseMs: 1000, known });
    expect(claimed).toMatchObject({ held: [true], changed: new Map() });
    expect(await days.write([monthWrite(0, 'index')])).toEqual([null]);
    expect((await days.read('s', WANTED))[0]?.index?.toString()).toBe('index');
  });
});

it('a server without memory answers reads, grants locks, and refuses a write as a whole', async () => {
  const full = await startServer('--maxmemory', '3mb', '--maxmemory-policy', 'noeviction');
  const days = await openDays(full.url);
  await days.write([monthWrite(0, 'index', { earlier: new Map([[1, Buffer.from('earlier')]]) })]);
  await withControl(full.url, async (control) => {
    for (let at = 0; ; at += 1) {
      const isTaken = await control.set(`fill ${at}`, 'x'.repeat(10_000)).catch(() => null);
      if (isTaken === null) break;
    }
  });
  const [found] = await days.read('s', WANTED);
  expect(found?.index?.toString()).toBe('index');
  const claim = { owner: 'one', names: ['a'], leaseMs: 1000, known: [] };
  expect((await days.claim('s', claim)).held).toEqual([true]);
  for (const size of [10, 100_000]) {
    const change = { earlier: new Map([[1, null]]), parts: new Map([['a', Buffer.alloc(size)]]) };
    const writing = days.write([monthWrite(found?.stamp ?? 0, 'next', change)]);
    await expect(writing).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(writing).rejects.toMatchObject({ why: 'no-room' });
  }
  const past = await days.earlier(PLACE, [1]);
  expect(past?.index?.toString()).toBe('index');
  expect(past?.earlier.get(1)?.toString()).toBe('earlier');
});

it('a full server lets months go, and earlier revisions and parts', async () => {
  const full = await startServer('--maxmemory-policy', 'noeviction');
  const days = await openDays(full.url);
  const other = { ...PLACE, month: '2026-04' };
  const earlier = new Map([1, 2].map((day) => [day, Buffer.alloc(20_000, day)]));
  const parts = new Map([['a', Buffer.from('rows of a')]]);
  await days.write([
    monthWrite(0, 'index', { earlier, parts }),
    { ...monthWrite(0, 'index', { earlier }), ...other },
  ]);
  const stampNow = async (place: typeof PLACE) => (await days.whole(place))?.stamp ?? 0;
  await withControl(full.url, async (control) => {
    await control.config('SET', 'maxmemory', '100kb');
    await expect(control.set('more', 'x')).rejects.toThrow('OOM');
  });
  // A list that became shorter is set, and its day's other list goes.
  const shorter = new Map([
    [1, Buffer.from('shorter')],
    [2, null],
  ]);
  const removal = { earlier: shorter, dropped: ['a'], isRemoval: true as const };
  expect(await days.write([monthWrite(await stampNow(PLACE), 'next', removal)])).toEqual([null]);
  const left = await days.whole(PLACE);
  expect([
    left?.index?.toString(),
    left?.earlier.get(1)?.toString(),
    left?.earlier.size,
    left?.parts.size,
  ]).toEqual(['next', 'shorter', 1, 0]);
  expect(await days.remove(other, await stampNow(other))).toBe(true);
  expect((await days.months(null, 9)).map(({ month }) => month)).toEqual(['2026-03']);
  // None is missing.
  expect(await days.relist(() => false)).toBe(0);
});

it('months that are stored, but not in the list of months, are found and put back into it', async () => {
  const days = await openFilled();
  await days.write([{ ...monthWrite(0, 'index'), series: 'of {odd} name' }]);
  await days.claim('s', { owner: 'one', names: ['a'], leaseMs: 60_000, known: [] });
  await withControl(server.url, (control) => control.del('dgw:1:days'));
  expect(await days.months(null, 9)).toEqual([]);
  expect(await days.relist(() => false)).toBe(2);
  expect((await days.months(null, 9)).map(({ series }) => series).sort()).toEqual(['of {odd} name', 's']);
  expect(await days.relist(() => false)).toBe(0);
});

it('a search for missing months is traced as the commands that it sends', async () => {
  const names: string[] = [];
  const { store } = await openStore(server.url, { onCall: ({ name }) => void names.push(name) });
  onTestFinished(() => store.close());
  names.length = 0;
  await store.days.relist(() => false);
  expect(names).toContain('scan');
  expect(names.filter((name) => name === 'ping')).toEqual([]);
});

it('above 90 % of its memory a server takes no days, so that teams and tokens have room; it is read, and days can go', async () => {
  const full = await startServer('--maxmemory', '24mb', '--maxmemory-policy', 'noeviction');
  const { store } = await openStore(full.url);
  onTestFinished(() => store.close());
  const { days } = store;
  const parts = new Map([['a', Buffer.from('rows of a')]]);
  const named = new Map([[1, { name: 'a', bytes: 9 }]]);
  await days.write([
    monthWrite(0, 'index', { parts, named, earlier: new Map([[1, Buffer.from('earlier')]]) }),
  ]);
  const write = (series: string) =>
    days.write([
      { ...monthWrite(0, 'index', { parts: new Map([['b', Buffer.alloc(1_048_576, series)]]) }), series },
    ]);
  const fill = async () => {
    for (let at = 0; at < 100; at += 1) await write(`s${at}`);
  };
  await expect(fill()).rejects.toMatchObject({
    why: 'no-room',
    message: expect.stringContaining('for days of reports'),
  });
  expect(days.room()).toMatchObject({ maxBytes: 24 * 1_048_576 });
  await expect
    .poll(() => days.room()?.excessBytes ?? 0, { timeout: 20_000 })
    .toBeGreaterThan(-10 * 1_048_576);
  expect(days.room()?.excessBytes).toBeLessThan(0.06 * 24 * 1_048_576);
  const [found] = await days.read('s', WANTED);
  expect(found?.parts.get('a')?.toString()).toBe('rows of a');
  // A mark, and the removal of what is there, add nothing.
  const change = { earlier: new Map([[1, null]]), dropped: ['a'] };
  expect(await days.write([monthWrite(found?.stamp ?? 0, 'next', change)])).toEqual([null]);
  expect(await days.whole(PLACE)).toMatchObject({ earlier: new Map(), parts: new Map() });
  await store.registry.commit({ writes: new Map([['key', 'active']]) });
});

it('a large part that is gone before its index comes is not named by it', async () => {
  const days = await openFilled();
  const [found] = await days.read('s', WANTED);
  await withControl(server.url, async (control) => {
    const parts = new Map([['large', Buffer.alloc(100_000, 'x')]]);
    // A key of another type takes no part that goes ahead.
    await control.rename(HASH, 'aside');
    await control.set(HASH, 'text');
    await expect(days.write([monthWrite(found?.stamp ?? 0, 'next', { parts })])).rejects.toThrow(
      StoreUnavailable,
    );
    await control.rename('aside', HASH);
    expect((await days.read('s', WANTED))[0]?.index?.toString()).toBe('index');
  });
});

it('a lost script is sent again', async () => {
  const days = await openFilled();
  await withControl(server.url, (control) => control.script('FLUSH'));
  const [found] = await days.read('s', WANTED);
  expect(found?.parts.get('a')?.toString()).toBe('rows of a');
  await withControl(server.url, (control) => control.script('FLUSH'));
  expect(await days.write([monthWrite(found?.stamp ?? 0, 'next')])).toEqual([null]);
});

it('locks of owners that ended are removed once there are many', async () => {
  const days = await openDays();
  const claim = { owner: 'one', leaseMs: 1, known: [] };
  const names = (from: number) => Array.from({ length: 150 }, (_, at) => `n${from + at}`);
  await days.claim('s', { ...claim, names: names(0) });
  await days.claim('s', { ...claim, names: ['long'], leaseMs: 60_000 });
  await expect
    .poll(async () => {
      await days.claim('s', { ...claim, owner: 'two', names: names(150), leaseMs: 60_000 });
      return withControl(server.url, (control) => control.hlen('dgw:1:days:{s}:locks'));
    })
    .toBe(151);
});

it('a miss takes few commands of the server', async () => {
  const days = await openFilled();
  const countOf = () =>
    withControl(server.url, async (control) => {
      const stats = await control.info('commandstats');
      const names =
        /cmdstat_(hget|hset|hmget|hdel|evalsha|eval|time|pttl|persist|type|hlen|pexpire|zadd|publish|hexists):calls=(\d+)/g;
      return [...stats.matchAll(names)].reduce((sum, [, , calls]) => sum + Number(calls), 0);
    });
  const miss = async (name: string) => {
    const [found] = await days.read('s', WANTED);
    const known = [{ month: '2026-03', days: [1, 2], stamp: found?.stamp ?? 0 }];
    await days.claim('s', { owner: name, names: ['a', 'b'], leaseMs: 4000, known });
    const parts = new Map([[name, Buffer.from('rows')]]);
    const named = new Map([1, 2].map((day) => [day, { name, bytes: 4 }]));
    const release = { owner: name, names: ['a', 'b'], news: { channel: 'news', message: 'fetched' } };
    const [done] = await days.write([monthWrite(found?.stamp ?? 0, name, { parts, named, release })]);
    expect(done).toBeNull();
  };
  await miss('first');
  const before = await countOf();
  for (let at = 0; at < 10; at += 1) await miss(`n${at}`);
  expect(((await countOf()) - before) / 10).toBeLessThanOrEqual(19);
});
