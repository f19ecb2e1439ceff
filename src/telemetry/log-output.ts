/** The file descriptor that log lines go to, and the one system call on it that does not wait. */
import { constants, fstatSync, openSync, write } from 'node:fs';
import { isatty } from 'node:tty';

export type Write = (
  fd: number,
  bytes: Buffer,
  offset: number,
  length: number,
  position: null,
  done: (error: NodeJS.ErrnoException | null, count: number) => void,
) => void;

const STDOUT = 1;

/**
 * Standard output, in a way that a write to it does not wait for its reader: a thread that waits in the system can
 * neither be used nor ended, and would keep the process from exiting.
 *
 * A pipe or terminal is opened a second time, for the mode of the first opening is shared with every process that
 * inherited it, and each of them may set it back. A socket cannot be opened so; there Node's own stream sets the mode.
 * A file is written as it is, for a second opening would have a place of its own in it.
 */
export function openLogOutput(): number {
  try {
    const kind = fstatSync(STDOUT);
    if (kind.isFIFO() || isatty(STDOUT)) {
      return openSync(
        `/proc/self/fd/${STDOUT}`,
        constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY,
      );
    }
    if (kind.isSocket()) void process.stdout;
  } catch {
    // No such folder, no right to it, or no reader left: what a write says is told then.
    void process.stdout;
  }
  return STDOUT;
}

/**
 * A socket has one mode for all processes that inherited it, and whichever of them starts or ends sets it back: a worker
 * that goes would have the next write of the others wait for the reader. So it is set again each time.
 */
export const writeNow: Write = (fd, ...rest) => {
  if (fd === STDOUT && fstatSync(fd).isSocket()) {
    // There is no public way to it.
    const { _handle: handle } = process.stdout as { readonly _handle?: { setBlocking?(on: boolean): void } };
    handle?.setBlocking?.(false);
  }
  write(fd, ...rest);
};
