/** A disk that is full: a small file system in memory, mounted for the test, which needs root. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDiskRoom, FULL_BELOW_BYTES } from '../../../src/store/embedded/data-folder.js';
import { openEnvironment } from '../../../src/store/embedded/environment.js';
import { StoreUnavailable } from '../../../src/store/port.js';
import { change } from '../conformance-registry.js';
import { createTestLog } from '../test-log.js';
import { firstLine, startScript } from './child.js';
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

describe('an environment on a disk with little room', () => {
  const options = { mapBytes: 2 ** 20, durable: true, timeoutMs: 200, logger: createTestLog() };
  const [KEY, VALUE] = [Buffer.from('key'), Buffer.from('value')];

  it('a write on a full disk is refused before lmdb sees it, and taken when there is room', () =>
    onSmallDisk(16, async (folder) => {
      await mkdir(folder);
      const environment = await openEnvironment({ folder: join(folder, 'state'), ...options });
      const filler = await open(join(folder, 'filler'), 'w');
      const write = (name: string) =>
        environment.write([{ key: Buffer.from(name), value: Buffer.alloc(1000) }]);
      await write('before');
      const { bavail, bsize } = await statfs(folder);
      await filler.appendFile(Buffer.alloc(bavail * bsize));
      // In its own words lmdb's is "Attempting to write page".
      await expect(write('meanwhile')).rejects.toMatchObject({
        why: 'no-room',
        message: expect.stringContaining('bytes are free, and 8 MiB have to stay so'),
      });
      // Its places of readers would be mapped where there is no room for them: SIGBUS.
      await expect(openEnvironment({ folder: join(folder, 'new'), ...options })).rejects.toMatchObject({
        name: 'StoreRefused',
        message: expect.stringContaining('its disk is full'),
      });
      await filler.truncate(0);
      await write('after');
      const has = (name: string) => environment.read((view) => view.has(Buffer.from(name)));
      expect(['before', 'meanwhile', 'after'].map(has)).toEqual([true, false, true]);
      await filler.close();
      await environment.close();
    }));

  it('a write that waits too long for another process is not known to be refused', () =>
    // Less than the room that is left free for what must not be refused.
    onSmallDisk(16, async (folder) => {
      await mkdir(folder);
      const environment = await openEnvironment({ folder, ...options });
      const holder = await startScript('hold-writers.mjs', folder);
      try {
        expect(await firstLine(holder)).toBe('held');
        const writing = environment.write([{ key: KEY, value: VALUE }]);
        await expect(writing).rejects.toMatchObject({ name: 'StoreUnavailable', why: 'away' });
        const gone = once(holder, 'exit');
        holder.stdin.end();
        await gone;
        await expect.poll(() => environment.read((view) => view.get(KEY))).toEqual(VALUE);
      } finally {
        holder.kill('SIGKILL');
        await environment.close();
      }
    }));
});

it('all writes under way have room together, and it is given back when they end', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 2 ** 20 }), { minLength: 1, maxLength: 12 }),
      fc.nat(16 * 2 ** 20),
      async (sizes, beyond) => {
        const room = createDiskRoom(
          () => FULL_BELOW_BYTES + beyond,
          () => 0,
        );
        let end = () => {};
        const gate = new Promise<void>((resolve) => {
          end = resolve;
        });
        let underWayBytes = 0;
        const all = sizes.map((size) =>
          room.take([{ value: Buffer.alloc(size) }], () => {
            underWayBytes += size;
            return gate;
          }),
        );
        expect(underWayBytes).toBeLessThanOrEqual(beyond);
        end();
        await Promise.allSettled(all);
        const alone = room.take([{ value: null }], async () => 'done');
        if (beyond >= 2 ** 20) expect(await alone).toBe('done');
        else await Promise.allSettled([alone]);
      },
    ),
  ));

it('looks at an ample disk once in a while, and before each write at one that has little left', async () => {
  const MIB = 1024 ** 2;
  let [free, now, looks] = [FULL_BELOW_BYTES + (1024 + 44) * MIB, 0, 0];
  const room = createDiskRoom(
    () => {
      looks += 1;
      return free;
    },
    () => now,
  );
  const take = (mib: number) => room.take([{ value: Buffer.alloc(mib * MIB) }], async () => {});
  await take(1);
  await take(1);
  expect(looks).toBe(1);
  now += 250;
  await take(1);
  expect(looks).toBe(2);
  // What was written since counts as gone: twice 22 MiB leave less than is ample.
  await take(22);
  expect(looks).toBe(3);
  free = FULL_BELOW_BYTES + MIB;
  now += 250;
  await expect(take(1)).rejects.toThrow('no space left on the disk');
  free = FULL_BELOW_BYTES + 4 * MIB;
  await take(1);
  expect(looks).toBe(5);
});
