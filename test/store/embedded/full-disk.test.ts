/** A disk that is full: a small file system in memory, mounted for the test, which needs root. */
import { execFile } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.js';
import { change } from '../conformance-registry.js';
import { inFolder, openIn } from './in-folder.js';

const run = promisify(execFile);

async function onSmallDisk(mib: number, use: (folder: string) => Promise<void>): Promise<void> {
  if (process.getuid?.() !== 0)
    throw new Error('a file system can be mounted by root alone: run this test as root');
  await inFolder(async (folder) => {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', folder]);
    try {
      await use(join(folder, 'data'));
    } finally {
      // What is still mapped goes with its last user.
      await run('umount', ['--lazy', folder]);
    }
  });
}

describe('a disk that is full', () => {
  it(
    'refuses what does not fit, keeps what did, and takes what fits again',
    () =>
      onSmallDisk(11, async (folder) => {
        const store = await openIn(folder);
        const { registry } = store;
        const kept = new Map<string, string>();
        for (let at = 0; ; at += 1) {
          const value = `${at}`.padEnd(200_000);
          const error: unknown = await registry
            .commit(change({ [`r${at}`]: value }, undefined, [`line ${at}`]))
            .then(
              () => null,
              (reason: unknown) => reason,
            );
          if (error === null) kept.set(`r${at}`, value);
          else expect(error).toBeInstanceOf(StoreUnavailable);
          if (error !== null) break;
        }
        expect(kept.size).toBeGreaterThan(3);
        expect(store.health()).toMatchObject({
          ok: false,
          reason: expect.stringContaining('the disk is full'),
        });
        const check = async () => {
          const { records, version } = await registry.load();
          expect(new Map([...records].map(([id, { value }]) => [id, value]))).toEqual(kept);
          return version;
        };
        expect(await check()).toBe(kept.size);
        // What is deleted leaves pages to be used again, where the deletion itself finds room.
        await run('mount', ['-o', 'remount,size=24m', join(folder, '..')]);
        await registry.commit(change({ after: 'wards' }));
        kept.set('after', 'wards');
        await check();
        expect(store.health()).toEqual({ ok: true });
        await store.close();
        const again = await openIn(folder);
        expect((await again.registry.load()).records.size).toBe(kept.size);
        await again.close();
      }),
    60_000,
  );

  it(
    'takes no documents below the floor, so that the registry finds room',
    () =>
      onSmallDisk(40, async (folder) => {
        const store = await openIn(folder);
        expect(await store.documents.create('a', 'text', 60_000)).toBeNull();
        const filler = join(folder, '..', 'filler');
        await writeFile(filler, Buffer.alloc(12 * 1024 * 1024));
        await expect(store.documents.create('b', 'text', 60_000)).rejects.toMatchObject({ why: 'no-room' });
        await expect(store.documents.replace('a', 'text', 'more', 60_000)).rejects.toMatchObject({
          why: 'no-room',
        });
        expect(await store.documents.get('a')).toBe('text');
        await store.registry.commit(change({ a: '1' }));
        expect(await store.documents.replace('a', 'text', null, 0)).toBe(true);
        await rm(filler);
        expect(await store.documents.create('b', 'text', 60_000)).toBeNull();
        await store.close();
      }),
    60_000,
  );
});
