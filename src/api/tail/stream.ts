/** Tail lines as an NDJSON stream that never waits for its reader. */
import { Readable } from 'node:stream';
import { startTicks, stopTicks } from '../../lib/time.js';
import type { Tail, TailLine } from './tail.js';

export interface StreamOptions {
  readonly tail: Pick<Tail, 'watch'>;
  /** Filters; null: all. */
  readonly team: string | null;
  readonly outcome: string | null;
  /** Null: until the reader disconnects. */
  readonly durationMs: number | null;
  /** Checked regularly; the stream ends with the first false or rejection. */
  readonly mayContinue: () => boolean | Promise<boolean>;
  readonly monotonicMs: () => number;
}

const CHECK_EVERY_MS = 250;
/** Keeps idle connections open through proxies, by a blank line. */
const BLANK_AFTER_MS = 10_000;
/** Beyond this, lines for a slow reader are dropped. */
const MAX_UNREAD_BYTES = 262_144;

export function createTailStream(options: StreamOptions): Readable {
  const { tail, team, outcome, durationMs, mayContinue, monotonicMs } = options;
  const stream = new Readable({ read() {}, highWaterMark: MAX_UNREAD_BYTES });
  const startedMs = monotonicMs();
  let writtenMs = startedMs;
  let dropped = 0;
  let isChecking = false;

  function write(text: string): void {
    stream.push(text);
    writtenMs = monotonicMs();
  }

  function writeDropped(): void {
    if (dropped === 0 || stream.readableLength >= MAX_UNREAD_BYTES) return;
    write(`${JSON.stringify({ dropped })}\n`);
    dropped = 0;
  }

  function onLine(line: TailLine): void {
    if ((team !== null && line.team !== team) || (outcome !== null && line.outcome !== outcome)) return;
    writeDropped();
    if (stream.readableLength >= MAX_UNREAD_BYTES) dropped += 1;
    else write(`${JSON.stringify(line)}\n`);
  }

  const unwatch = tail.watch({
    onLine,
    onDropped(count) {
      dropped += count;
      writeDropped();
    },
  });

  function end(): void {
    stopTicks(timer);
    unwatch();
    if (!stream.destroyed) stream.push(null);
  }

  async function check(): Promise<void> {
    if (isChecking) return;
    isChecking = true;
    const isOver = durationMs !== null && monotonicMs() - startedMs >= durationMs;
    const continues = !isOver && (await Promise.resolve(mayContinue()).catch(() => false));
    isChecking = false;
    if (stream.destroyed) return;
    if (!continues) return end();
    writeDropped();
    if (monotonicMs() - writtenMs >= BLANK_AFTER_MS && stream.readableLength === 0) write('\n');
  }

  const timer = startTicks(() => void check(), CHECK_EVERY_MS).unref();
  stream.once('close', end);
  // Sends the headers.
  write('\n');
  return stream;
}
