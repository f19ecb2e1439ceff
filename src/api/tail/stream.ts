/** The lines of a tail as a stream of NDJSON that never waits for its reader. */
import { Readable } from 'node:stream';
import { startTicks, stopTicks } from '../../lib/time.js';
import type { Tail, TailLine } from './tail.js';

export interface StreamOptions {
  readonly tail: Pick<Tail, 'watch'>;
  /** Which lines; null: all. */
  readonly team: string | null;
  readonly outcome: string | null;
  /** It ends after so long; null: when its reader leaves. */
  readonly lastsMs: number | null;
  /** Asked every so often; it ends with the first no. */
  readonly goesOn: () => boolean | Promise<boolean>;
  readonly monotonicMs: () => number;
}

const LOOK_EVERY_MS = 250;
/** A blank line, so that what lies between does not take the connection for dead. */
const BLANK_AFTER_MS = 10_000;
/** What a slow reader has not taken; then lines are dropped. */
const MAX_UNREAD_BYTES = 262_144;

export function createTailStream(options: StreamOptions): Readable {
  const { tail, team, outcome, lastsMs, goesOn, monotonicMs } = options;
  const stream = new Readable({ read() {}, highWaterMark: MAX_UNREAD_BYTES });
  const startedMs = monotonicMs();
  let saidMs = startedMs;
  let dropped = 0;
  let isAsking = false;

  function say(text: string): void {
    stream.push(text);
    saidMs = monotonicMs();
  }

  /** What was dropped is told where it was. */
  function sayDropped(): void {
    if (dropped === 0 || stream.readableLength >= MAX_UNREAD_BYTES) return;
    say(`${JSON.stringify({ dropped })}\n`);
    dropped = 0;
  }

  function onLine(line: TailLine): void {
    if ((team !== null && line.team !== team) || (outcome !== null && line.outcome !== outcome)) return;
    sayDropped();
    if (stream.readableLength >= MAX_UNREAD_BYTES) dropped += 1;
    else say(`${JSON.stringify(line)}\n`);
  }

  const unwatch = tail.watch({
    onLine,
    onDropped(count) {
      dropped += count;
      sayDropped();
    },
  });

  function end(): void {
    stopTicks(timer);
    unwatch();
    if (!stream.destroyed) stream.push(null);
  }

  async function look(): Promise<void> {
    if (isAsking) return;
    isAsking = true;
    const isOver = lastsMs !== null && monotonicMs() - startedMs >= lastsMs;
    const assertStillAllowed = !isOver && (await Promise.resolve(goesOn()).catch(() => false));
    isAsking = false;
    if (stream.destroyed) return;
    if (!assertStillAllowed) return end();
    sayDropped();
    if (monotonicMs() - saidMs >= BLANK_AFTER_MS && stream.readableLength === 0) say('\n');
  }

  const timer = startTicks(() => void look(), LOOK_EVERY_MS).unref();
  stream.once('close', end);
  // The head is sent with it.
  say('\n');
  return stream;
}
