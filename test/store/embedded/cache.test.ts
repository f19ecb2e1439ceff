/** Cache entries on the disk: their bound, their generations, what is made of damage, and what a start makes of the folder. */
import { readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createClock } from '../../../src/lib/clock.js';
import { openCacheFolder } from '../../../src/store/embedded/cache-folder.js';
import { entryKey } from '../../../src/store/embedded/disk-cache.js';
import type { CacheStore } from '../../../src/store/port.js';
import { DAY, MINUTE } from '../../support/test-clock.js';
import { bodiesOf, keep } from '../entries.js';
import { createTestLog } from '../test-log.js';
import { idOf, withCache, writeOf } from './cache-rig.js';
import { inFolder } from './in-folder.js';

const isThere = async (cache: CacheStore, some: readonly number[]) =>
  (await cache.read(some.map(idOf))).map((entry) => entry !== null);

describe('an older generation', () => {
  it('gives what the newer one has not, and what it gave is in the newer one then', () =>
    withCache(async (rig) => {
      const { cache, rotate } = rig;
      await cache.write([0, 1, 2].map((at) => writeOf(at)));
      await rotate();
      expect(rig.kinds()).toBe('');
      expect(await isThere(cache, [0, 1, 3])).toEqual([true, true, false]);
      await expect.poll(rig.kinds).toBe('ww');
      await rotate();
      expect(await isThere(rig.another(), [0, 1, 2])).toEqual([true, true, false]);
    }));

  it('is hidden by what is newer, also by that which is over or removed', () =>
    withCache(async (rig) => {
      const { cache, rotate, clock } = rig;
      await cache.write([0, 1, 2].map((at) => writeOf(at, { ttlMs: 9 * DAY, version: 2 })));
      await rotate();
      await cache.write([
        writeOf(0, { version: 3, bytes: Buffer.from('newer') }),
        writeOf(1, { version: 3, ttlMs: 0 }),
        writeOf(2, { version: 1, bytes: Buffer.from('older') }),
      ]);
      await cache.write([writeOf(2, { version: 1, ttlMs: 0 })]);
      const found = await cache.read([0, 1, 2].map(idOf));
      expect(found.map((entry) => entry?.bytes.length ?? null)).toEqual([5, null, 1000]);
      clock.pass(2 * MINUTE);
      expect(await isThere(cache, [0, 2])).toEqual([false, true]);
    }));

  it('promotes no entry that was removed after it was read', () =>
    withCache(async (rig) => {
      await rig.cache.write([0, 1].map((at) => writeOf(at, { version: 2 })));
      await rig.rotate();
      let goOn: (hasRoom: boolean) => void = () => {};
      const wait = new Promise<boolean>((resolve) => {
        goOn = resolve;
      });
      rig.hasRoom = wait;
      expect(await isThere(rig.cache, [0, 1])).toEqual([true, true]);
      rig.hasRoom = true;
      await rig.cache.write([writeOf(0, { version: 2, ttlMs: 0 })]);
      goOn(true);
      await expect.poll(rig.kinds).toBe('w');
      expect(await isThere(rig.cache, [0, 1])).toEqual([false, true]);
    }));
});

describe('a disk that is almost full', () => {
  it('takes no more entries, and gives those that are there', () =>
    withCache(async (rig) => {
      await rig.cache.write([writeOf(0)]);
      rig.hasRoom = false;
      await expect(rig.cache.write([writeOf(1)])).rejects.toMatchObject({
        name: 'StoreUnavailable',
        why: 'no-room',
      });
      expect(await isThere(rig.cache, [0, 1])).toEqual([true, false]);
    }));
});

describe('a record that was changed on the disk', () => {
  it('is given as no entry, for the reader to see, and can be written again', () =>
    withCache(async ({ cache, damage }) => {
      const texts = async () => (await cache.read([0, 1].map(idOf))).map((found) => String(found?.bytes));
      await cache.write([0, 1].map((at) => writeOf(at, { bytes: Buffer.from('kept') })));
      await damage(entryKey(idOf(0)));
      expect(await texts()).toEqual(['', 'kept']);
      await cache.write([writeOf(0, { bytes: Buffer.from('kept') })]);
      expect(await texts()).toEqual(['kept', 'kept']);
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
