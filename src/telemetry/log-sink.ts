/**
 * The output of the log: pino's destination, on a descriptor whose reader may be slow, full or gone. Writing never blocks.
 *
 * Defaults of pino that are changed here: it stops writing after a closed pipe, blocks at exit and after a fatal line
 * (forever on a full disk), and retries a slow reader only ten times a second. Lines are passed on in blocks, as pino
 * measures its buffer at each write.
 */
import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { pino } from 'pino';
import { startTicks, startTimer, stopTicks, stopTimer } from '../lib/time.js';

const STDOUT = 1;
/** Buffer for a slow reader; further lines are dropped. */
const MAX_WAITING_BYTES = 4_194_304;
/** Lines are handed on in blocks of this size. */
const BLOCK_BYTES = 65_536;
/** Maximum size of a UTF-16 unit in UTF-8. */
const UNIT_BYTES = 3;
/** Maximum delay of a line. */
const HAND_ON_MS = 250;
/** Backoff of retries for a slow reader or full disk; doubles. */
const [FIRST_RETRY_MS, LAST_RETRY_MS] = [1, 256];

export interface LogHealth {
  readonly ok: boolean;
  /** Why lines are not written, e.g. `ENOSPC`. */
  readonly reason?: string;
  /** Lines lost since startup. */
  readonly droppedLines: number;
}

/** @param onRecovered called when the log has caught up, with the number of lost lines */
export function createLogSink({
  fd = openLogOutput(),
  onRecovered,
}: {
  readonly fd?: number;
  readonly onRecovered?: (droppedLines: number) => void;
} = {}) {
  const output = openDestination(fd);
  const setMode = fd === STDOUT && isSocket(fd) ? setSocketMode : () => {};
  // As bytes: pino would measure a string, then convert it.
  const block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  let heldBytes = 0;
  let droppedLines = 0;
  /** Lost lines reported to `onRecovered`. */
  let reportedLines = 0;
  /** Why lines are not written; null: all are written. */
  let fault: string | null = null;
  let retryMs = FIRST_RETRY_MS;
  let willRetry = false;

  function passOn(): void {
    if (heldBytes === 0) return;
    setMode();
    const lines = Buffer.from(block.subarray(0, heldBytes));
    heldBytes = 0;
    output.write(lines);
  }

  function tryAgain(): void {
    willRetry = false;
    setMode();
    output.flush();
  }

  output.on('drop', (lines: Buffer) => {
    for (let at = lines.indexOf(10); at >= 0; at = lines.indexOf(10, at + 1)) droppedLines += 1;
    fault ??= 'its reader is too slow';
  });
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (!isSlow(error)) fault = error.code ?? error.message;
    if (willRetry) return;
    willRetry = true;
    // The log does not keep the process alive; `close` has its own timer.
    startTimer(tryAgain, retryMs).unref();
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
  });
  output.on('write', (bytes: number) => {
    if (bytes > 0) retryMs = FIRST_RETRY_MS;
  });
  output.on('drain', () => {
    fault = null;
    const lost = droppedLines - reportedLines;
    reportedLines = droppedLines;
    if (lost > 0) onRecovered?.(lost);
  });
  const ticks = startTicks(passOn, HAND_ON_MS).unref();

  return {
    write(line: string): void {
      const mostBytes = line.length * UNIT_BYTES;
      if (mostBytes > BLOCK_BYTES - heldBytes) passOn();
      if (mostBytes > BLOCK_BYTES) output.write(Buffer.from(line));
      else heldBytes += block.write(line, heldBytes);
    },
    health: (): LogHealth => ({
      ok: fault === null,
      ...(fault === null ? {} : { reason: fault }),
      droppedLines,
    }),
    /** Flushes. Resolves when done, impossible, or time is up; never rejects. */
    async close(withinMs: number): Promise<void> {
      stopTicks(ticks);
      passOn();
      await new Promise<void>((resolve) => {
        const timeUp = startTimer(resolve, withinMs);
        const done = () => resolve(stopTimer(timeUp));
        output.once('drain', done);
        output.on('error', (error) => isSlow(error) || done());
        tryAgain();
      });
    },
  };
}

function openDestination(fd: number) {
  const output = pino.destination({
    contentMode: 'buffer',
    dest: fd,
    sync: false,
    // Not 0: flush() would do nothing.
    minLength: 1,
    maxLength: MAX_WAITING_BYTES,
    retryEAGAIN: () => false,
  });
  // pino's listener replaces the methods when a pipe is closed, and its exit handler calls flushSync.
  output.removeAllListeners('error');
  output.flushSync = () => {};
  // The types of pino know only strings.
  return output as unknown as Omit<typeof output, 'write'> & { write(lines: Buffer): boolean };
}

/** The reader is slow; not an error. */
function isSlow({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAGAIN' || code === 'EBUSY' || code === 'EINTR';
}

/**
 * Standard output in non-blocking mode: a blocked thread could not be ended and would keep the process from exiting.
 *
 * A pipe or terminal is opened a second time, as the mode of the first descriptor is shared with processes that inherited it.
 * For a socket, Node's stream sets the mode. A file is used as is: a second descriptor would have its own offset.
 */
function openLogOutput(): number {
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
    // No /proc, no permission, or no reader: a write will report it.
    void process.stdout;
  }
  return STDOUT;
}

function isSocket(fd: number): boolean {
  try {
    return fstatSync(fd).isSocket();
  } catch {
    return false;
  }
}

/**
 * Set before each write: the mode of a socket is shared with processes that inherited it, and reset when one starts or ends.
 */
function setSocketMode(): void {
  // There is no public API.
  const { _handle: handle } = process.stdout as { readonly _handle?: { setBlocking?(on: boolean): void } };
  handle?.setBlocking?.(false);
}
