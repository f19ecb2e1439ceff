/**
 * Where log lines go: a file descriptor that may be slow, full, or gone. Writing never waits: lines are collected,
 * written one block at a time, and dropped and counted when they cannot be written.
 */
import { constants, fstatSync, openSync, write } from 'node:fs';
import { isatty } from 'node:tty';
import { startTicks, startTimer, stopTicks, stopTimer, uptimeMs } from '../lib/time.js';

// The file descriptor that log lines go to, and the one system call on it that does not wait.

type Write = (
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

/**
 * A socket has one mode for all processes that inherited it, and whichever of them starts or ends sets it back: a worker
 * that goes would have the next write of the others wait for the reader. So it is set again each time.
 */
const writeNow: Write = (fd, ...rest) => {
  if (fd === STDOUT && fstatSync(fd).isSocket()) {
    // There is no public way to it.
    const { _handle: handle } = process.stdout as { readonly _handle?: { setBlocking?(on: boolean): void } };
    handle?.setBlocking?.(false);
  }
  write(fd, ...rest);
};

// Writes blocks of lines to a descriptor whose reader may be slow: as often as it takes, and never waiting in the
// system. After a line that was cut off the next block begins with a line of its own.

/** Between looks at a reader that has not read on: from the first to the second, doubled each time. */
const [SOON_MS, LATE_MS] = [1, 64];
/** A reader that takes nothing for so long is told of. */
const STALLED_MS = 5000;

interface WriteFailure {
  /** E.g. `ENOSPC`. */
  readonly reason: string;
  /** Lines of the block that were not written, or in part only. */
  readonly lostLines: number;
}

type WriteDone = (failure: WriteFailure | null) => void;

interface BlockWriterOptions {
  readonly fd: number;
  readonly writeTo: Write;
  readonly nowMs: () => number;
}

function createBlockWriter({ fd, writeTo, nowMs }: BlockWriterOptions) {
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

// Log lines that wait to be written, collected into blocks; as many as there is room for.

/** Lines are handed to the system in blocks of about so many characters. */
const BLOCK_CHARS = 65_536;
/** What waits for a slow reader, in characters; further lines are dropped. */
const MAX_WAITING_CHARS = 4_194_304;

function createLogBacklog() {
  const whole: string[] = [];
  let open = '';
  let waitingChars = 0;
  return {
    /** Whether a whole block waits. */
    get hasBlock() {
      return whole.length > 0;
    },
    /** @returns false when there is no room for the line */
    add(line: string) {
      if (waitingChars >= MAX_WAITING_CHARS) return false;
      waitingChars += line.length;
      open += line;
      if (open.length >= BLOCK_CHARS) {
        whole.push(open);
        open = '';
      }
      return true;
    },
    /** The next block, be it whole or not; empty when no line waits. It keeps its room until it is released. */
    take() {
      const first = whole.shift();
      if (first !== undefined) return first;
      const text = open;
      open = '';
      return text;
    },
    /** @param chars length of a block that is written, or lost */
    release(chars: number) {
      waitingChars -= chars;
    },
  };
}

/** A line waits at most so long for others to share its block. */
const FLUSH_MS = 250;
/** Between tries after a fault of the system: a disk may be emptied, a named pipe read again. */
const FAULT_MS = 1000;

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

export interface LogSinkOptions {
  /** Where to write; {@link openLogOutput} when absent. */
  readonly fd?: number;
  /** The system's, unless a test has its own. */
  readonly writeTo?: Write;
  readonly nowMs?: () => number;
  /** Called when lines can be written again, with the number of those that were lost meanwhile. */
  readonly onRecovered?: (droppedLines: number) => void;
}

export function createLogSink(options: LogSinkOptions = {}): LogSink {
  const { fd = openLogOutput(), writeTo = writeNow, nowMs = uptimeMs } = options;
  const backlog = createLogBacklog();
  const writer = createBlockWriter({ fd, writeTo, nowMs });
  let droppedLines = 0;
  /** Those of them that `onRecovered` was told of. */
  let toldLines = 0;
  /** Why lines are not written, as the system said; null while they are. */
  let fault: string | null = null;
  let writing = false;
  /** Set once the sink is being closed: called when nothing is left, or nothing more can be written. */
  let drained: (() => void) | null = null;
  const timer = startTicks(() => writing || next(), FLUSH_MS);
  timer.unref();

  function next(): void {
    const text = backlog.take();
    if (text === '') {
      drained?.();
      return;
    }
    writing = true;
    writer.write(text, (failure) => {
      if (failure !== null) return lose(text.length, failure);
      release(text.length);
      recovered();
      if (!writing && (backlog.hasBlock || drained !== null)) next();
    });
  }

  function release(chars: number): void {
    backlog.release(chars);
    writing = false;
  }

  function recovered(): void {
    fault = null;
    if (droppedLines === toldLines) return;
    const lost = droppedLines - toldLines;
    toldLines = droppedLines;
    options.onRecovered?.(lost);
  }

  function lose(chars: number, { reason, lostLines }: WriteFailure): void {
    droppedLines += lostLines;
    fault = reason;
    if (drained !== null) {
      drained();
      return;
    }
    // Nothing else is tried until then, so that a fault costs one call a second.
    startTimer(() => {
      release(chars);
      next();
    }, FAULT_MS).unref();
  }

  return {
    write(line) {
      if (!backlog.add(line)) droppedLines += 1;
      else if (backlog.hasBlock && !writing) next();
    },
    health() {
      const reason = fault ?? (writer.isStalled() ? 'nobody reads it' : null);
      return { ok: reason === null, ...(reason === null ? {} : { reason }), droppedLines };
    },
    async close(withinMs) {
      stopTicks(timer);
      await new Promise<void>((resolve) => {
        const timeUp = startTimer(resolve, withinMs);
        drained = () => resolve(stopTimer(timeUp));
        if (!writing) next();
        else if (fault !== null) drained();
      });
    },
  };
}
