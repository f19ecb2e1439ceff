/**
 * Where log lines go: a file descriptor that may be slow, full, or gone. Writing never waits: lines are collected,
 * written one block at a time, and dropped and counted when they cannot be written.
 */
import { constants, fstatSync, openSync, write } from 'node:fs';
import { isatty } from 'node:tty';

/** Lines are handed to the system in blocks of about so many characters. */
const BLOCK_CHARS = 65_536;
/** What waits for a slow reader, in characters; further lines are dropped. */
const MAX_WAITING_CHARS = 4_194_304;
/** A line waits at most so long for others to share its block. */
const FLUSH_MS = 250;
/** Between looks at a reader that has not read on: from the first to the second, doubled each time. */
const [SOON_MS, LATE_MS] = [1, 64];
/** Between tries after a fault of the system: a disk may be emptied, a named pipe read again. */
const FAULT_MS = 1000;
/** A reader that takes nothing for so long is told of. */
const STALLED_MS = 5000;

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

type Write = (
  fd: number,
  bytes: Buffer,
  offset: number,
  length: number,
  position: null,
  done: (error: NodeJS.ErrnoException | null, count: number) => void,
) => void;

export interface LogSinkOptions {
  /** Where to write; {@link openLogOutput} when absent. */
  readonly fd?: number;
  /** The system's, unless a test has its own. */
  readonly writeTo?: Write;
  readonly nowMs?: () => number;
  /** Called when lines can be written again, with the number of those that were lost meanwhile. */
  readonly onRecovered?: (droppedLines: number) => void;
}

interface Block {
  readonly bytes: Buffer;
  readonly chars: number;
  written: number;
}

export function createLogSink(options: LogSinkOptions = {}): LogSink {
  const { fd = openLogOutput(), writeTo = writeNow, nowMs = () => performance.now() } = options;
  const full: string[] = [];
  let open = '';
  let waiting = 0;
  let current: Block | null = null;
  let fault: string | null = null;
  let slowSinceMs: number | null = null;
  let patienceMs = SOON_MS;
  let dropped = 0;
  let told = 0;
  /** The last byte that was written did not end its line. */
  let torn = false;
  let drained: (() => void) | null = null;
  const timer = setInterval(() => current ?? next(), FLUSH_MS);
  timer.unref();

  function next(): void {
    const text = takeText();
    if (text === '') {
      drained?.();
      return;
    }
    current = { bytes: Buffer.from(torn ? `\n${text}` : text), chars: text.length, written: 0 };
    put(current);
  }

  function takeText(): string {
    const first = full.shift();
    if (first !== undefined) return first;
    const text = open;
    open = '';
    return text;
  }

  function put(block: Block): void {
    writeTo(fd, block.bytes, block.written, block.bytes.length - block.written, null, (error, count) => {
      if (error !== null) return isSlow(error) ? waitForReader(block) : drop(block, error);
      block.written += count;
      slowSinceMs = null;
      patienceMs = SOON_MS;
      if (block.written < block.bytes.length) return put(block);
      torn = false;
      done(block);
      recovered();
      if (current === null && (full.length > 0 || drained !== null)) next();
    });
  }

  function waitForReader(block: Block): void {
    slowSinceMs ??= nowMs();
    later(() => put(block), patienceMs);
    patienceMs = Math.min(patienceMs * 2, LATE_MS);
  }

  function drop(block: Block, error: NodeJS.ErrnoException): void {
    const rest = block.bytes.subarray(block.written);
    if (block.written > 0) torn = block.bytes[block.written - 1] !== NEW_LINE;
    dropped += linesIn(rest);
    fault = error.code ?? error.message;
    if (drained !== null) {
      drained();
      return;
    }
    // Nothing else is tried until then, so that a fault costs one call a second.
    later(() => {
      done(block);
      next();
    }, FAULT_MS);
  }

  function done(block: Block): void {
    waiting -= block.chars;
    current = null;
  }

  function recovered(): void {
    fault = null;
    if (dropped === told) return;
    const lost = dropped - told;
    told = dropped;
    options.onRecovered?.(lost);
  }

  /** A log alone keeps no process alive; one that ends waits by a timer of its own. */
  function later(what: () => void, ms: number): void {
    setTimeout(what, ms).unref();
  }

  return {
    write(line) {
      if (waiting >= MAX_WAITING_CHARS) {
        dropped += 1;
        return;
      }
      waiting += line.length;
      open += line;
      if (open.length < BLOCK_CHARS) return;
      full.push(open);
      open = '';
      if (current === null) next();
    },
    health() {
      const stalled = slowSinceMs !== null && nowMs() - slowSinceMs >= STALLED_MS;
      const reason = fault ?? (stalled ? 'nobody reads it' : null);
      return { ok: reason === null, ...(reason === null ? {} : { reason }), droppedLines: dropped };
    },
    async close(withinMs) {
      clearInterval(timer);
      await new Promise<void>((resolve) => {
        const timeUp = setTimeout(resolve, withinMs);
        drained = () => {
          clearTimeout(timeUp);
          resolve();
        };
        if (current === null) next();
        else if (fault !== null) drained();
      });
    },
  };
}

const STDOUT = 1;
const NEW_LINE = 10;

function linesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEW_LINE); at !== -1; at = bytes.indexOf(NEW_LINE, at + 1)) count += 1;
  return count;
}

/** The reader has not read what is there: there is no room now, and nothing is wrong. */
function isSlow({ code }: NodeJS.ErrnoException): boolean {
  return code === 'EAGAIN' || code === 'EWOULDBLOCK' || code === 'EBUSY' || code === 'EINTR';
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
