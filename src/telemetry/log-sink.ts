/**
 * Where log lines go: a file descriptor that may be slow, full, or gone. Writing never waits: lines are collected,
 * written one block at a time, and dropped and counted when they cannot be written.
 */
import { startTicks, startTimer, stopTicks, stopTimer, uptimeMs } from '../lib/time.js';
import { createBlockWriter, type WriteFailure } from './block-writer.js';
import { createLogBacklog } from './log-backlog.js';
import { openLogOutput, type Write, writeNow } from './log-output.js';

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
