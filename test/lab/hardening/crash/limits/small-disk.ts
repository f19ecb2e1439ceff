/** A disk of its own, in memory, that can be full: root needs no more than mount(8). */
import { execFile } from 'node:child_process';
import { open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { tempFolder } from '../../../../support/processes.js';

const STEP_BYTES = 512 * 1024;
const SLOW_BELOW_BYTES = 16 * 1024 ** 2;

const run = promisify(execFile);

export interface SmallDisk {
  readonly folder: string;
  fill(): Promise<void>;
  free(): Promise<void>;
  /** To be called when nobody uses it any more. */
  remove(): Promise<void>;
}

/** @returns why there is none, as a text, where this user may not mount */
export async function makeSmallDisk(mib: number): Promise<SmallDisk | string> {
  const folder = await tempFolder();
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', folder]);
  } catch (error) {
    return `needs the right to mount a tmpfs: ${String((error as { stderr?: string }).stderr ?? error).trim()}`;
  }
  const filler = join(folder, 'filler');
  return {
    folder,
    async fill() {
      const file = await open(filler, 'w');
      try {
        for (;;) {
          const { bavail, bsize } = await statfs(folder);
          const left = bavail * bsize;
          if (left <= 0) return;
          await file.appendFile(Buffer.alloc(Math.min(left, STEP_BYTES)));
          // As logs fill it, not all at once.
          if (left < SLOW_BELOW_BYTES) await pause(10);
        }
      } catch (error) {
        // Another took the last of it meanwhile.
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        await file.close();
      }
    },
    free: () => rm(filler, { force: true }),
    async remove() {
      await run('umount', [folder]);
    },
  };
}
