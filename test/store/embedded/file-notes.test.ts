import { readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.js';
import { createFaultyDisk } from './faulty-disk.js';
import { openNotesIn } from './files-in-folder.js';
import { inFolder } from './registry-in-folder.js';

const MINUTE = 60_000;
const NOON = Date.parse('2026-11-21T12:00:00Z');

const filesIn = async (folder: string) => (await readdir(join(folder, 'notes'))).sort();

/** The path of the one note in a folder. */
async function onlyFile(folder: string): Promise<string> {
  const names = await filesIn(folder);
  expect(names).toHaveLength(1);
  return join(folder, 'notes', names[0] ?? '');
}

describe('notes on the disk', () => {
  it('are there again for the next process, until they end', () =>
    inFolder(async (folder) => {
      let nowMs = NOON;
      const realTime = () => nowMs;
      const first = await openNotesIn(folder, { realTime });
      await first.notes.create('a', 'one', 2 * MINUTE);
      // By it a sweep finds what has ended without opening it.
      expect((await stat(await onlyFile(folder))).mtimeMs).toBe(NOON + 2 * MINUTE);
      await first.notes.create('b', 'one', 9 * MINUTE);
      await first.notes.replace('b', 'one', 'two ✓', 9 * MINUTE);
      await first.notes.create('c', 'one', 9 * MINUTE);
      await first.notes.replace('c', 'one', null, 0);
      await first.close();

      nowMs += 2 * MINUTE - 1;
      const second = await openNotesIn(folder, { realTime });
      const all = () => Promise.all(['a', 'b', 'c'].map((key) => second.notes.get(key)));
      expect(await all()).toEqual(['one', 'two ✓', null]);
      nowMs += 1;
      expect(await all()).toEqual([null, 'two ✓', null]);
      await second.close();
    }));

  it('leave no file when they are deleted, and names tell nothing of their keys', () =>
    inFolder(async (folder) => {
      const { notes, close } = await openNotesIn(folder);
      await notes.create('team a/../key', 'one', MINUTE);
      expect(await filesIn(folder)).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
      await notes.replace('team a/../key', 'one', null, 0);
      expect(await filesIn(folder)).toEqual([]);
      await close();
    }));

  it('are swept once they have ended, whatever time their files have', () =>
    inFolder(async (folder) => {
      let nowMs = NOON;
      const { notes, log, close } = await openNotesIn(folder, { realTime: () => nowMs });
      await notes.create('damaged', 'x', MINUTE);
      await writeFile(await onlyFile(folder), 'not a note');
      await utimes(await onlyFile(folder), 0, 0);
      await notes.create('ended', 'x', MINUTE);
      await notes.create('restored', 'x', 99 * MINUTE);
      for (const name of await filesIn(folder)) {
        const path = join(folder, 'notes', name);
        if ((await readFile(path)).includes(`"endsAtMs":${NOON + 99 * MINUTE}`)) await utimes(path, 1, 1);
      }
      nowMs += 9 * MINUTE;
      await notes.create('early', 'x', 99 * MINUTE);
      await close(); // waits for a sweep that has begun
      expect(await filesIn(folder)).toHaveLength(4);

      const again = await openNotesIn(folder, { realTime: () => nowMs });
      nowMs += 10 * MINUTE;
      await again.notes.create('late', 'x', MINUTE);
      await again.close();
      expect(await filesIn(folder)).toHaveLength(4); // damaged, restored, early, late
      expect(log.lines).toEqual([]);
      expect(again.log.lines).toMatchObject([{ level: 'warn', message: expect.stringContaining('removed') }]);
      const last = await openNotesIn(folder, { realTime: () => nowMs });
      expect(await last.notes.get('restored')).toBe('x');
      await last.close();
    }));

  it('do not count what a crash left of one that was being written', () =>
    inFolder(async (folder) => {
      const first = await openNotesIn(folder);
      await first.notes.create('a', 'one', MINUTE);
      const path = await onlyFile(folder);
      await first.close();
      await writeFile(`${path}.new`, 'half of');
      const second = await openNotesIn(folder);
      expect(await second.notes.get('a')).toBe('one');
      expect(await onlyFile(folder)).toBe(path);
      await second.close();
    }));

  it('that are damaged are said to be, and are no fault of the others', () =>
    inFolder(async (folder) => {
      const { notes, close } = await openNotesIn(folder);
      await notes.create('a', 'one', MINUTE);
      const path = await onlyFile(folder);
      const whole = await readFile(path);
      for (const bytes of [
        whole.subarray(0, whole.length - 1),
        Buffer.alloc(0),
        Buffer.concat([whole, whole]),
      ]) {
        await writeFile(path, bytes);
        for (const call of [
          notes.get('a'),
          notes.create('a', 'two', MINUTE),
          notes.replace('a', 'one', 'two', MINUTE),
        ]) {
          await expect(call).rejects.toThrow(StoreUnavailable);
          await expect(call).rejects.toThrow(path);
        }
      }
      expect(notes.health()).toEqual({ ok: true });
      expect(await notes.create('b', 'one', MINUTE)).toBeNull();
      await close();
    }));

  it('are refused when another process has taken the folder, and once they are closed', () =>
    inFolder(async (folder) => {
      const { notes, close } = await openNotesIn(folder);
      await notes.create('a', 'one', MINUTE);
      await rm(join(folder, 'lock'));
      await expect(notes.create('b', 'one', MINUTE)).rejects.toThrow('another process');
      await expect(notes.replace('a', 'one', 'two', MINUTE)).rejects.toThrow(StoreUnavailable);
      const begun = notes.get('a');
      await close();
      expect(await begun).toBe('one');
      await expect(notes.get('a')).rejects.toThrow(StoreUnavailable);
      expect(await filesIn(folder)).toHaveLength(1);
    }));
});

describe('notes on a disk that fails', () => {
  it.each([
    { operation: 'open', code: 'EMFILE' },
    { operation: 'write', code: 'ENOSPC' },
    { operation: 'sync', code: 'EIO' },
  ] as const)('are not made on $code of a $operation, and leave what was there', ({ operation, code }) =>
    inFolder(async (folder) => {
      const disk = createFaultyDisk();
      const { notes, log, close } = await openNotesIn(folder, { open: disk.open });
      await notes.create('a', 'one', MINUTE);
      disk.fail(operation, code);
      await expect(notes.replace('a', 'one', 'two', MINUTE)).rejects.toThrow(code);
      expect(notes.health()).toMatchObject({ ok: false, reason: expect.stringContaining(code) });
      expect(log.lines.at(-1)).toMatchObject({ level: 'error' });
      expect(await notes.get('a')).toBe('one');
      expect(notes.health()).toEqual({ ok: true });
      expect(log.lines.at(-1)).toMatchObject({ level: 'info' });
      await onlyFile(folder);
      expect(await notes.replace('a', 'one', 'two', MINUTE)).toBe(true);
      await close();
    }),
  );

  it('are safe before they are acknowledged: the file, then its name', () =>
    inFolder(async (folder) => {
      const disk = createFaultyDisk();
      const { notes, close } = await openNotesIn(folder, { open: disk.open });
      disk.done.length = 0;
      await notes.create('a', 'one', MINUTE);
      expect(disk.done).toEqual(['open', 'write', 'sync', 'open', 'sync']);
      disk.done.length = 0;
      await notes.replace('a', 'one', null, 0);
      expect(disk.done).toEqual(['open', 'sync']);
      await close();
    }));

  it('are not shown before their name is on the disk', () =>
    inFolder(async (folder) => {
      const disk = createFaultyDisk();
      const { notes, close } = await openNotesIn(folder, { open: disk.open });
      disk.fail('sync', 'EIO', 3, 1); // the file's is spared; the folder's fails three times
      await expect(notes.create('a', 'one', MINUTE)).rejects.toThrow('EIO');
      await expect(notes.get('a')).rejects.toThrow('EIO');
      await expect(notes.create('b', 'one', MINUTE)).rejects.toThrow('EIO');
      disk.done.length = 0;
      expect(await notes.get('a')).toBe('one');
      expect(disk.done).toEqual(['open', 'sync']);
      expect(await notes.get('b')).toBeNull();
      expect(disk.done).toEqual(['open', 'sync']);
      await close();
    }));
});
