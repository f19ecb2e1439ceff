/** Two processes find one dead holder: the slower one comes to remove its lock when the faster has made another. */
import * as files from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { createTestLog } from '../test-log.js';
import { inFolder } from './in-folder.js';

/** What happens just before a lock is taken away. */
let meanwhile: (() => Promise<void>) | null = null;

vi.mock('node:fs/promises', async (original) => {
  const real = await original<typeof files>();
  return {
    ...real,
    async rename(from: string, to: string) {
      const happens = meanwhile;
      meanwhile = null;
      await happens?.();
      return real.rename(from, to);
    },
  };
});

/** Loaded anew, with that: files share a process. And loaded anew by whoever comes after. */
vi.resetModules();
const { lockFolder } = await import('../../../src/store/embedded/folder-lock.js');
const { StoreRefused } = await import('../../../src/store/refused.js');
afterAll(() => {
  vi.doUnmock('node:fs/promises');
  vi.resetModules();
});

const DEAD = JSON.stringify({ id: 'dead', pid: 1, host: 'x', realm: 'another kernel', startedAt: '7' });

it('a lock that was made since the dead one was judged stays, and is respected', () =>
  inFolder(async (folder) => {
    const path = join(folder, 'lock');
    const lock = () => lockFolder(folder, { logger: createTestLog(), staleAfterMs: 1 });
    await files.writeFile(path, DEAD);
    const faster: Awaited<ReturnType<typeof lock>>[] = [];
    meanwhile = async () => {
      await files.rm(path);
      faster.push(await lock());
    };
    await expect(lock()).rejects.toThrow(StoreRefused);
    const [held] = faster;
    expect(await held?.held()).toBe(true);
    expect(await files.readdir(folder)).toEqual(['lock']);
    await held?.release();
  }));
