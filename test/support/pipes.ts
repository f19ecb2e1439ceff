/** Real pipes of the system: what a shell's `|` makes, which a child process's stream is not. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEachFile } from './after-file.js';

export interface Pipe {
  /** The end to write to, in the mode a shell gives it. */
  readonly writeEnd: number;
  /** What is in it now, without waiting for more. */
  read(maxBytes?: number): string;
  /** The reader goes away. */
  closeReader(): void;
  /** This process lets go of the end to write to; whoever inherited it keeps it. */
  closeWriter(): void;
}

const left = new Set<() => void>();
afterEachFile(() => {
  for (const close of left) close();
  left.clear();
});

/** Closed with the test file. */
export function openPipe(): Pipe {
  const folder = mkdtempSync(join(tmpdir(), 'dgw-pipe-'));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeEnd = openSync(path, constants.O_WRONLY);
  // Its two ends are open: nobody else can come by this name.
  rmSync(folder, { recursive: true });
  const open = new Set([reader, writeEnd]);
  const close = (fd: number) => {
    if (open.delete(fd)) closeSync(fd);
  };
  left.add(() => [...open].forEach(close));
  return {
    writeEnd,
    read(maxBytes = 1_048_576) {
      const bytes = Buffer.alloc(maxBytes);
      try {
        return bytes.toString('utf8', 0, readSync(reader, bytes));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return '';
        throw error;
      }
    },
    closeReader: () => close(reader),
    closeWriter: () => close(writeEnd),
  };
}
