/**
 * Where log lines go: pino's own destination, on a descriptor whose reader may be slow, full or gone. Writing never waits.
 *
 * What pino would do by itself and must not here: it stops writing for good at a closed pipe, it waits for the reader at
 * the end of the process and after a fatal line, without end on a full disk, and it asks a slow reader ten times a second,
 * which is less than most readers read. It also measures what waits at each line, so it is given lines by the block.
 */
import { constants, fstatSync, openSync } from 'node:fs';
import { isatty } from 'node:tty';
import { pino } from 'pino';
import { startTicks, startTimer, stopTicks, stopTimer } from '../lib/time.js';

const STDOUT = 1;
/** What waits for a slow reader; further lines are dropped. */
const MAX_WAITING_BYTES = 4_194_304;
/** Lines are handed on in blocks of about so many characters, */
const BLOCK_CHARS = 65_536;
/** and wait at most so long for others to share their block. */
const HAND_ON_MS = 250;
/** Between tries to write what was refused, be it by a slow reader or a full disk: doubled from the first to the last. */
const [FIRST_RETRY_MS, LAST_RETRY_MS] = [1, 256];

export interface LogHealth {
  readonly ok: boolean;
  /** Why lines are not written, e.g. `ENOSPC`. */
  readonly reason?: string;
  /** Lines that were lost since the start. */
  readonly droppedLines: number;
}

export interface LogSink {
  write(line: string): void;
  health(): LogHealth;
  /** Tries to write what is left. Resolves when that is done, cannot be done, or time is up; never rejects. */
  close(withinMs: number): Promise<void>;
}

interface LogSinkOptions {
  /** Where to write; {@link openLogOutput} when absent. */
  readonly fd?: number;
  /** Called when the log has caught up, with the number of lines that were lost meanwhile. */
  readonly onRecovered?: (droppedLines: number) => void;
}

export function createLogSink({ fd = openLogOutput(), onRecovered }: LogSinkOptions = {}): LogSink {
  const output = openDestination(fd);
  const setMode = fd === STDOUT && isSocket(fd) ? setSocketMode : () => {};
  let block = '';
  let droppedLines = 0;
  /** Those of them that `onRecovered` was told of. */
  let toldLines = 0;
  /** Why lines are not written, or lost; null while all are written. */
  let fault: string | null = null;
  let retryMs = FIRST_RETRY_MS;
  let willRetry = false;

  function handOn(): void {
    if (block === '') return;
    setMode();
    const lines = block;
    block = '';
    output.write(lines);
  }

  function tryAgain(): void {
    willRetry = false;
    setMode();
    output.flush();
  }

  output.on('drop', (lines: string) => {
    droppedLines += lines.split('\n').length - 1;
    fault ??= 'its reader is too slow';
  });
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (!isSlow(error)) fault = error.code ?? error.message;
    if (willRetry) return;
    willRetry = true;
    // A log alone keeps no process alive; one that ends waits by a timer of its own.
    startTimer(tryAgain, retryMs).unref();
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
  });
  output.on('write', (bytes: number) => {
    if (bytes > 0) retryMs = FIRST_RETRY_MS;
  });
  output.on('drain', () => {
    fault = null;
    const lost = droppedLines - toldLines;
    toldLines = droppedLines;
    if (lost > 0) onRecovered?.(lost);
  });
  const ticks = startTicks(handOn, HAND_ON_MS).unref();

  return {
    write(line) {
      block += line;
      if (block.length >= BLOCK_CHARS) handOn();
    },
    health: () => ({ ok: fault === null, ...(fault === null ? {} : { reason: fault }), droppedLines }),
    async close(withinMs) {
      stopTicks(ticks);
      handOn();
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
    dest: fd,
    sync: false,
    // More than nothing: flush() does nothing otherwise.
    minLength: 1,
    maxLength: MAX_WAITING_BYTES,
    retryEAGAIN: () => false,
  });
  // See the header: pino's listener replaces the methods when a pipe is closed, and its exit handler calls flushSync.
  output.removeAllListeners('error');
  output.flushSync = () => {};
  return output;
}

/** The reader has not read what is there: there is no room now, and nothing is wrong. */
function isSlow({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAGAIN' || code === 'EBUSY' || code === 'EINTR';
}

/**
 * Standard output, in a way that a write to it does not wait for its reader: a thread that waits in the system can
 * neither be used nor ended, and would keep the process from exiting.
 *
 * A pipe or terminal is opened a second time, for the mode of the first opening is shared with every process that
 * inherited it, and each of them may set it back. A socket cannot be opened so; there Node's own stream sets the mode.
 * A file is written as it is, for a second opening would have a place of its own in it.
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
    // No such folder, no right to it, or no reader left: what a write says is told then.
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
 * A socket has one mode for all processes that inherited it, and whichever of them starts or ends sets it back: a worker
 * that goes would have the next write of the others wait for the reader. So it is set again each time.
 */
function setSocketMode(): void {
  // There is no public way to it.
  const { _handle: handle } = process.stdout as { readonly _handle?: { setBlocking?(on: boolean): void } };
  handle?.setBlocking?.(false);
}
