/**
 * Writes blocks of lines to a descriptor whose reader may be slow: as often as it takes, and never waiting in the
 * system. After a line that was cut off the next block begins with a line of its own.
 */
import { startTimer } from '../lib/time.js';
import type { Write } from './log-output.js';

/** Between looks at a reader that has not read on: from the first to the second, doubled each time. */
const [SOON_MS, LATE_MS] = [1, 64];
/** A reader that takes nothing for so long is told of. */
const STALLED_MS = 5000;

export interface WriteFailure {
  /** E.g. `ENOSPC`. */
  readonly reason: string;
  /** Lines of the block that were not written, or in part only. */
  readonly lostLines: number;
}

type WriteDone = (failure: WriteFailure | null) => void;

export interface BlockWriterOptions {
  readonly fd: number;
  readonly writeTo: Write;
  readonly nowMs: () => number;
}

export function createBlockWriter({ fd, writeTo, nowMs }: BlockWriterOptions) {
  let slowSinceMs: number | null = null;
  let patienceMs = SOON_MS;
  /** The last byte that was written did not end its line. */
  let torn = false;

  function writeFrom(start: number, bytes: Buffer, done: WriteDone): void {
    writeTo(fd, bytes, start, bytes.length - start, null, (error, count) => {
      if (error !== null) {
        if (isSlow(error)) waitForReader(() => writeFrom(start, bytes, done));
        else {
          if (start > 0) torn = bytes[start - 1] !== NEW_LINE;
          done({ reason: error.code ?? error.message, lostLines: linesIn(bytes.subarray(start)) });
        }
        return;
      }
      slowSinceMs = null;
      patienceMs = SOON_MS;
      const end = start + count;
      if (end < bytes.length) writeFrom(end, bytes, done);
      else {
        torn = false;
        done(null);
      }
    });
  }

  function waitForReader(next: () => void): void {
    slowSinceMs ??= nowMs();
    // A log alone keeps no process alive; one that ends waits by a timer of its own.
    startTimer(next, patienceMs).unref();
    patienceMs = Math.min(patienceMs * 2, LATE_MS);
  }

  return {
    /** Calls back once, and not before the block is written or the system has refused it. One block at a time. */
    write: (text: string, done: WriteDone) => writeFrom(0, Buffer.from(torn ? `\n${text}` : text), done),
    /** Whether the reader has taken nothing for some seconds. */
    isStalled: () => slowSinceMs !== null && nowMs() - slowSinceMs >= STALLED_MS,
  };
}

/** The reader has not read what is there: there is no room now, and nothing is wrong. */
function isSlow({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAGAIN' || code === 'EWOULDBLOCK' || code === 'EBUSY' || code === 'EINTR';
}

const NEW_LINE = 10;

function linesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEW_LINE); at !== -1; at = bytes.indexOf(NEW_LINE, at + 1)) count += 1;
  return count;
}
