import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.js';
import { change } from '../conformance-registry.js';
import { createFaultyDisk } from './faulty-disk.js';
import { contents, inFolder, JOURNAL, openRegistryIn } from './registry-in-folder.js';

describe('the registry on a failing disk', () => {
  it('acknowledges nothing before the disk has it', () =>
    inFolder(async (folder) => {
      const disk = createFaultyDisk();
      const { registry, close } = await openRegistryIn(folder, { open: disk.open });
      const { epoch } = await registry.load();
      const letGo = disk.hold('sync');
      let acknowledged = false;
      const committing = registry.commit(change({ a: '1' }, undefined, ['line'])).then(() => {
        acknowledged = true;
      });
      while (disk.done.at(-1) !== 'write') await new Promise(setImmediate);
      await new Promise(setImmediate);
      expect(acknowledged).toBe(false);
      expect((await registry.load()).records.size).toBe(0);
      expect((await registry.changes(epoch, 0))?.changed.size).toBe(0);
      expect(await registry.readAudit(1)).toEqual([]);
      letGo();
      await committing;
      expect((await registry.load()).records.size).toBe(1);
      await close();
    }));

  it.each([
    { operation: 'write', code: 'ENOSPC' },
    { operation: 'write', code: 'EIO' },
    { operation: 'sync', code: 'EIO' },
  ] as const)(
    'refuses a commit on $code of a $operation, changes nothing, and goes on when it can',
    ({ operation, code }) =>
      inFolder(async (folder) => {
        const disk = createFaultyDisk();
        const { registry, log, close } = await openRegistryIn(folder, { open: disk.open });
        await registry.commit(change({ a: '1' }, undefined, ['made']));
        const before = await registry.load();

        disk.fail(operation, code);
        const failing = registry.commit(change({ a: '2' }, { a: 1 }, ['not made']));
        await expect(failing).rejects.toThrow(StoreUnavailable);
        await expect(failing).rejects.toThrow(code);
        expect(await registry.load()).toEqual(before);
        expect(registry.health()).toMatchObject({ ok: false, reason: expect.stringContaining(code) });
        expect(log.lines.at(-1)).toMatchObject({ level: 'error' });

        expect(await registry.commit(change({ a: '3' }, { a: 1 }, ['made too']))).toEqual({ version: 2 });
        expect(registry.health()).toEqual({ ok: true });
        await close();
        const { snapshot, audit } = await contents(folder);
        expect(snapshot.records).toEqual(new Map([['a', { value: '3', revision: 2 }]]));
        expect(audit).toEqual(['made too', 'made']);
      }),
  );

  it('does not trust a file whose sync failed: it is written anew before the next commit', () =>
    inFolder(async (folder) => {
      const disk = createFaultyDisk();
      const { registry, close } = await openRegistryIn(folder, { open: disk.open });
      await registry.commit(change({ a: '1' }));
      disk.fail('sync', 'EIO');
      await expect(registry.commit(change({ a: '2' }))).rejects.toThrow(StoreUnavailable);
      disk.done.length = 0;
      await registry.commit(change({ a: '3' }));
      // The new file, its folder, the commit.
      expect(disk.done).toEqual(['open', 'write', 'write', 'sync', 'open', 'sync', 'write', 'sync']);
      await close();
    }));

  it('does not count on a new file before its folder is on the disk', () =>
    inFolder(async (folder) => {
      const disk = createFaultyDisk();
      const { registry, close } = await openRegistryIn(folder, { open: disk.open });
      await registry.commit(change({ a: '1' }));
      disk.fail('sync', 'EIO');
      await expect(registry.commit(change({ a: '2' }))).rejects.toThrow('EIO');
      disk.fail('sync', 'EIO', 1, 1); // the file's sync is spared, the folder's fails
      await expect(registry.commit(change({ a: '3' }))).rejects.toThrow('EIO');
      disk.done.length = 0;
      await registry.commit(change({ a: '4' }, { a: 1 }));
      expect(disk.done).toEqual(['open', 'write', 'write', 'sync', 'open', 'sync', 'write', 'sync']);
      await close();
      expect((await contents(folder)).snapshot.records.get('a')).toEqual({ value: '4', revision: 2 });
    }));

  it('refuses commits for as long as the file can be neither put back nor written anew', () =>
    inFolder(async (folder) => {
      const disk = createFaultyDisk();
      const { registry, close } = await openRegistryIn(folder, { open: disk.open });
      await registry.commit(change({ a: '1' }));
      disk.fail('write', 'ENOSPC', 2);
      disk.fail('truncate', 'EIO');
      await expect(registry.commit(change({ a: '2' }))).rejects.toThrow('ENOSPC');
      await expect(registry.commit(change({ a: '3' }))).rejects.toThrow('ENOSPC'); // the new file's
      expect((await registry.load()).records.get('a')?.value).toBe('1');
      expect(await registry.commit(change({ a: '4' }, { a: 1 }))).toEqual({ version: 2 });
      await close();
      expect((await contents(folder)).snapshot.records.get('a')).toEqual({ value: '4', revision: 2 });
      expect(await readdir(folder)).toEqual([JOURNAL]);
    }));

  it('gives commits that were written together one fate, also those in conflict with one that failed', () =>
    inFolder(async (folder) => {
      const disk = createFaultyDisk();
      const { registry, close } = await openRegistryIn(folder, { open: disk.open });
      const letGo = disk.hold('sync');
      const first = registry.commit(change({ a: '1' }));
      while (disk.done.at(-1) !== 'write') await new Promise(setImmediate);
      const second = registry.commit(change({ b: '1' }, { b: 0 }));
      const third = registry.commit(change({ b: '2' }, { b: 0 }));
      letGo();
      await first;
      disk.fail('write', 'ENOSPC');
      await expect(second).rejects.toThrow(StoreUnavailable);
      await expect(third).rejects.toThrow(StoreUnavailable);
      expect(await registry.commit(change({ b: '3' }, { b: 0 }))).toEqual({ version: 2 });
      await close();
    }));

  it('keeps a journal that could not be shortened', () =>
    inFolder(async (folder) => {
      const disk = createFaultyDisk();
      const { registry, log, close } = await openRegistryIn(folder, {
        open: disk.open,
        rewriteAfterBytes: 0,
      });
      disk.fail('open', 'ENOSPC', 1_000);
      for (let at = 0; at < 20; at += 1) await registry.commit(change({ a: `${at}` }));
      expect(log.lines).toContainEqual(
        expect.objectContaining({ level: 'warn', message: expect.stringContaining('shortened') }),
      );
      expect(registry.health()).toEqual({ ok: true });
      await close();
      expect((await contents(folder)).snapshot.records).toEqual(
        new Map([['a', { value: '19', revision: 20 }]]),
      );
    }));

  it('refuses commits once it is closed, after ending those begun', () =>
    inFolder(async (folder) => {
      const { registry, close } = await openRegistryIn(folder);
      const begun = [registry.commit(change({ a: '1' })), registry.commit(change({ b: '2' }))];
      await close();
      expect(await Promise.all(begun)).toEqual([{ version: 1 }, { version: 2 }]);
      await expect(registry.commit(change({ a: '3' }))).rejects.toThrow(StoreUnavailable);
      expect((await contents(folder)).snapshot.version).toBe(2);
    }));
});
