/** Cache entries on the disk: their bound, their generations, what is made of damage, and what a start makes of the folder. */
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createClock } from '../../../src/lib/clock.js';
import { openCacheFolder } from '../../../src/store/embedded/cache-folder.js';
import { entryKey } from '../../../src/store/embedded/disk-cache.js';
import type { CachePlace, CacheStore } from '../../../src/store/port.js';
import { DAY, MINUTE } from '../../support/test-clock.js';
import { bodiesOf, keep } from '../entries.js';
import { createTestLog } from '../test-log.js';
import { day, withCache, writeOf } from './cache-rig.js';
import { inFolder } from './in-folder.js';

const isThere = async (cache: CacheStore, places: readonly CachePlace[]) =>
  (await cache.read(places)).map((entry) => entry !== null);

describe('a range of days', () => {
  it('is read by one walk, and by no look for each day', () =>
    withCache(async ({ cache, calls }) => {
      const days = Array.from({ length: 90 }, (_, at) => day(at));
      await cache.write(days.map((place) => writeOf(place)));
      calls.length = 0;
      expect(await isThere(cache, days.toReversed())).toEqual(days.map(() => true));
      expect(calls).toEqual(['range']);
    }));

  it('is ordered by its texts, whatever these are', () => {
    const text = fc.string({ unit: fc.constantFrom('\0', '\u0001', 'a', 'ÿ', '東') });
    const place = fc.record({ series: text, group: text, field: text });
    const compare = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));
    fc.assert(
      fc.property(place, place, (one, other) => {
        const order =
          compare(one.series, other.series) ||
          compare(one.group, other.group) ||
          compare(one.field, other.field);
        expect(Buffer.compare(entryKey(one), entryKey(other))).toBe(order);
      }),
    );
  });
});

describe('an older generation', () => {
  it('gives what the newer one has not, and what it gave is in the newer one then', () =>
    withCache(async (rig) => {
      const { cache, rotate } = rig;
      await cache.write([0, 1, 2].map((at) => writeOf(day(at))));
      await rotate();
      expect(rig.kinds()).toBe('');
      expect(await isThere(cache, [day(0), day(1), day(3)])).toEqual([true, true, false]);
      await expect.poll(rig.kinds).toBe('eef');
      await rotate();
      // Somebody who has not seen the facts before.
      expect(await isThere(rig.another(), [day(0), day(1), day(2)])).toEqual([true, true, false]);
    }));

  it('is hidden by what is newer, also by that which is over or removed', () =>
    withCache(async (rig) => {
      const { cache, rotate, clock } = rig;
      await cache.write([0, 1, 2, 3].map((at) => writeOf(day(at), { ttlMs: 9 * DAY, version: 2 })));
      await rotate();
      await cache.write([
        writeOf(day(0), { version: 3, body: Buffer.from('newer') }),
        writeOf(day(1), { version: 3, ttlMs: 0 }),
        writeOf(day(2), { version: 1, body: Buffer.from('older') }),
      ]);
      await cache.remove([day(3)]);
      const bodies = await cache.read([0, 1, 2, 3].map(day));
      expect(bodies.map((entry) => entry?.body.length ?? null)).toEqual([5, null, 1000, null]);
      clock.pass(2 * MINUTE);
      expect(await isThere(cache, [day(0), day(2)])).toEqual([false, true]);
    }));

  it('promotes no entry that was removed after it was read', () =>
    withCache(async (rig) => {
      await rig.cache.write([0, 1].map((at) => writeOf(day(at), { version: 2 })));
      await rig.rotate();
      let goOn: (hasRoom: boolean) => void = () => {};
      rig.hasRoom = new Promise((resolve) => {
        goOn = resolve;
      });
      expect(await isThere(rig.cache, [day(0), day(1)])).toEqual([true, true]);
      await rig.cache.remove([day(0)]);
      goOn(true);
      await expect.poll(rig.kinds).toBe('ef');
      expect(await isThere(rig.cache, [day(0), day(1)])).toEqual([false, true]);
    }));
});

describe('a disk that is almost full', () => {
  it('takes no more entries, and gives those that are there', () =>
    withCache(async (rig) => {
      await rig.cache.write([writeOf(day(0))]);
      rig.hasRoom = false;
      await expect(rig.cache.write([writeOf(day(1))])).rejects.toMatchObject({
        name: 'StoreUnavailable',
        why: 'no-room',
      });
      expect(await isThere(rig.cache, [day(0), day(1)])).toEqual([true, false]);
    }));
});

describe('facts that were changed on the disk', () => {
  it('are written again with the next entry that needs them', () =>
    withCache(async (rig) => {
      await rig.cache.write([writeOf(day(0))]);
      const facts = { from: Buffer.from('f'), to: Buffer.from('g') };
      const [record] = rig.environment.read((view) => view.range(facts));
      await rig.damage(record?.key as Buffer);
      expect(await isThere(rig.another(), [day(0)])).toEqual([false]);
      await rig.another().write([writeOf(day(0), { version: 2 })]);
      expect(await isThere(rig.another(), [day(0)])).toEqual([true]);
    }));
});

describe('a record that was changed on the disk', () => {
  it('is given as no entry, for the reader to see, alone or among many, and can be written again', () =>
    withCache(async ({ cache, damage }) => {
      const days = Array.from({ length: 10 }, (_, at) => day(at));
      const bodies = async (...asked: number[]) =>
        (await cache.read(asked.map(day))).map((found) => String(found?.body));
      const all = [...days.keys()];
      await cache.write(days.map((place) => writeOf(place, { body: Buffer.from('kept') })));
      await damage(entryKey(day(3)));
      expect(await bodies(...all)).toEqual(all.map((at) => (at === 3 ? '' : 'kept')));
      expect(await bodies(3)).toEqual(['']);
      await cache.write([writeOf(day(3), { body: Buffer.from('kept') })]);
      expect(await bodies(...all)).toEqual(all.map(() => 'kept'));
    }));
});

describe('the folder of the cache at the start', () => {
  const entry = { key: '{s}a', value: Buffer.from('kept'), ttlMs: MINUTE, version: 1 };

  async function open(dataDir: string) {
    const log = createTestLog();
    const clock = createClock();
    const opened = await openCacheFolder(dataDir, 1_000_000, clock, log);
    return { ...opened, log };
  }

  async function startAfter(folder: string, spoil: (path: string) => Promise<unknown>) {
    const first = await open(folder);
    await keep(first.cache, [entry]);
    await first.close();
    await spoil(join(folder, 'cache', '3-1', 'data.mdb'));
    return await open(folder);
  }

  const spoilt: readonly [string, (path: string) => Promise<unknown>][] = [
    ['cut off', async (path) => writeFile(path, (await readFile(path)).subarray(0, 9000))],
    ['empty', (path) => writeFile(path, '')],
    ['changed in the middle of a record', (path) => flipBody(path)],
    ['garbage', async (path) => writeFile(path, (await readFile(path)).fill(0xa5))],
  ];

  it.each(spoilt)('is deleted with a warning when its file is %s, and begins empty', (_, spoil) =>
    inFolder(async (folder) => {
      const store = await startAfter(folder, spoil);
      expect(await bodiesOf(store.cache, ['{s}a'])).toEqual([null]);
      expect(store.log.lines).toMatchObject([
        { level: 'warn', message: 'the cache on the disk is damaged, and begins empty' },
      ]);
      await keep(store.cache, [entry]);
      expect(await bodiesOf(store.cache, ['{s}a'])).toEqual([Buffer.from('kept')]);
      await store.close();
    }),
  );

  it('is deleted with a warning when another release has written it in another form', () =>
    inFolder(async (folder) => {
      const store = await startAfter(folder, async () => {
        await rename(join(folder, 'cache', '3-1'), join(folder, 'cache', '2-1'));
        await writeFile(join(folder, 'cache', 'data.mdb'), 'as releases before had it');
      });
      expect(await readdir(join(folder, 'cache'))).toEqual(['3-1']);
      expect(await bodiesOf(store.cache, ['{s}a'])).toEqual([null]);
      expect(store.log.lines).toMatchObject([
        { level: 'warn', message: 'the cache on the disk is of another release, and begins empty' },
      ]);
      await store.close();
    }));

  it('takes no more than it may, as entries come', () =>
    inFolder(async (folder) => {
      const store = await open(folder);
      const key = (at: number) => `{s}${at}`;
      for (let at = 0; at < 300; at += 1)
        await keep(store.cache, [{ ...entry, key: key(at), value: Buffer.alloc(9000), ttlMs: MINUTE + at }]);
      const keys = Array.from({ length: 300 }, (_, at) => key(at));
      const left = async () => (await bodiesOf(store.cache, keys)).filter((body) => body !== null).length;
      await expect.poll(left).toBeLessThan(150);
      expect(await bodiesOf(store.cache, [key(299)])).not.toEqual([null]);
      expect(await left()).toBeGreaterThan(20);
      const names = await readdir(join(folder, 'cache'));
      expect(names.length).toBeLessThanOrEqual(2);
      const sizes = names.map(async (name) => (await stat(join(folder, 'cache', name, 'data.mdb'))).size);
      expect((await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)).toBeLessThan(1_600_000);
      await store.close();
    }));
});

/** Flips a bit of a body, wherever it lies in the file. */
async function flipBody(path: string): Promise<void> {
  const bytes = await readFile(path);
  for (let at = bytes.indexOf('kept'); at >= 0; at = bytes.indexOf('kept', at + 1))
    bytes[at] = (bytes[at] as number) ^ 1;
  await writeFile(path, bytes);
}
