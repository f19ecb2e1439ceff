/**
 * lmdb-js writes more than 100 bytes into 100 when a write fails for lack of room, and malloc then aborts the process. It
 * is not let write where the disk has no room: what is refused was never seen by lmdb.
 */
import { execFile } from 'node:child_process';
import { open, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createDiskRoom, FULL_BELOW_BYTES } from '../../src/store/embedded/data-folder.js';
import { openEnvironment } from '../../src/store/embedded/environment.js';
import { inFolder } from '../store/embedded/in-folder.js';
import { createTestLog } from '../store/test-log.js';

const run = promisify(execFile);

it('a write on a full disk is refused before lmdb sees it, and taken when there is room', () =>
  inFolder(async (folder) => {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', folder]);
    const options = { mapBytes: 2 ** 20, durable: true, logger: createTestLog() };
    const environment = await openEnvironment({ folder: join(folder, 'state'), ...options });
    const filler = await open(join(folder, 'filler'), 'w');
    try {
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
    } finally {
      await filler.close();
      await environment.close();
      await run('umount', ['--lazy', folder]);
    }
  }));

it('all writes under way have room together, and it is given back when they end', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 0, max: 2 ** 20 }), { minLength: 1, maxLength: 12 }),
      fc.nat(16 * 2 ** 20),
      async (sizes, beyond) => {
        const free = FULL_BELOW_BYTES + beyond;
        const room = createDiskRoom(() => free);
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
