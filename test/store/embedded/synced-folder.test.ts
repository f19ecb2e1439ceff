import { describe, expect, it } from 'vitest';
import { createSyncedFolder } from '../../../src/store/embedded/synced-folder.js';
import { createFaultyDisk } from './faulty-disk.js';
import { inFolder } from './registry-in-folder.js';

describe('a folder whose names are to be on the disk', () => {
  it('is settled at no cost while nothing has failed, and once only after something has', () =>
    inFolder(async (folder) => {
      const disk = createFaultyDisk();
      const names = createSyncedFolder(folder, disk.open);
      await names.confirm();
      await names.settle();
      expect(disk.done).toEqual(['open', 'sync']);
      disk.fail('sync', 'EIO', 2);
      await expect(names.confirm()).rejects.toThrow('EIO');
      await expect(names.settle()).rejects.toThrow('EIO');
      disk.done.length = 0;
      await names.settle();
      await names.settle();
      expect(disk.done).toEqual(['open', 'sync']);
    }));

  it('is not settled by a call that had begun before the one that failed', () =>
    inFolder(async (folder) => {
      const disk = createFaultyDisk();
      const names = createSyncedFolder(folder, disk.open);
      const letGo = disk.hold('sync');
      const before = names.confirm();
      while (disk.done.at(-1) !== 'open') await new Promise(setImmediate);
      disk.fail('open', 'EMFILE');
      await expect(names.confirm()).rejects.toThrow('EMFILE');
      letGo();
      await before;
      disk.done.length = 0;
      await names.settle();
      expect(disk.done).toEqual(['open', 'sync']);
    }));
});
