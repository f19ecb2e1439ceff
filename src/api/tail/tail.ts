/**
 * A line per answered request of the data plane, from all processes, while there are watchers. Watchers announce themselves
 * every second over the store's bus; a process makes lines only for a few seconds after an announcement.
 */
import type { Logger } from 'pino';
import type { Static } from 'typebox';
import type { Clock } from '../../lib/clock.js';
import { parseObject } from '../../lib/json.js';
import type { Frozen } from '../../lib/record.js';
import { startTicks, stopTicks, type Timer } from '../../lib/time.js';
import type { Bus } from '../../store/port.js';
import type { FailedRequest } from '../operations/overview.js';

/** `at`: the end of the request. */
export type TailLine = Omit<Frozen<Static<typeof FailedRequest>>, 'title'>;

export interface Watcher {
  /** @param line without its line break */
  readonly onLine: (line: TailLine) => void;
  readonly onDropped: (count: number) => void;
}

export type Tail = ReturnType<typeof createTail>;

export interface TailOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
}

const WANTED = 'tail-wanted';
const LINES = 'tail-lines';
const SAY_EVERY_MS = 1000;
/** Longer than several announcements, because some may be lost. */
const HOLDS_MS = 5000;
const SEND_EVERY_MS = 200;
/** Lines per process and batch; further ones are only counted. */
const MAX_LINES = 500;

export function createTail({ bus, clock, logger }: TailOptions) {
  const watchers = new Set<Watcher>();
  let wantedUntilMs = Number.NEGATIVE_INFINITY;
  let isOn = false;
  let lines: TailLine[] = [];
  let dropped = 0;
  let sending: Timer | null = null;
  let saying: Timer | null = null;
  let stopHearing: (() => void) | null = null;

  function publish(channel: string, message: string): void {
    bus.publish(channel, message).catch((error: unknown) => {
      logger.debug({ err: error }, 'failed to publish lines of the tail');
    });
  }

  function send(): void {
    if (lines.length > 0 || dropped > 0) publish(LINES, JSON.stringify({ lines, dropped }));
    [lines, dropped] = [[], 0];
    if (clock.monotonicMs() >= wantedUntilMs) stopSending();
  }

  function stopSending(): void {
    isOn = false;
    if (sending !== null) stopTicks(sending);
    sending = null;
  }

  const stopListening = bus.subscribe(WANTED, () => {
    wantedUntilMs = clock.monotonicMs() + HOLDS_MS;
    isOn = true;
    sending ??= startTicks(send, SEND_EVERY_MS).unref();
  });

  function hear(message: string): void {
    const batch = readBatch(message);
    if (batch === null) return;
    for (const watcher of watchers) {
      for (const line of batch.lines) watcher.onLine(line);
      if (batch.dropped > 0) watcher.onDropped(batch.dropped);
    }
  }

  function stopWatching(watcher: Watcher): void {
    if (!watchers.delete(watcher) || watchers.size > 0) return;
    if (saying !== null) stopTicks(saying);
    stopHearing?.();
    saying = stopHearing = null;
  }

  return {
    /** Whether there are watchers; read before a line is made. */
    get isOn(): boolean {
      return isOn;
    },
    /** Shows no query, so not what a report was asked for. */
    note({ report: _asked, ...line }: Omit<TailLine, 'at'>): void {
      if (lines.length < MAX_LINES) lines.push({ at: new Date(clock.now()).toISOString(), ...line });
      else dropped += 1;
    },
    /** @returns a function to stop */
    watch(watcher: Watcher): () => void {
      watchers.add(watcher);
      stopHearing ??= bus.subscribe(LINES, hear);
      saying ??= startTicks(() => publish(WANTED, ''), SAY_EVERY_MS).unref();
      publish(WANTED, '');
      return () => stopWatching(watcher);
    },
    close() {
      stopListening();
      stopSending();
      for (const watcher of [...watchers]) stopWatching(watcher);
    },
  };
}

interface Batch {
  readonly lines: readonly TailLine[];
  readonly dropped: number;
}

/** Lines may come from another release, with further members. */
function readBatch(message: string): Batch | null {
  const { lines, dropped } = parseObject(message) ?? {};
  return Array.isArray(lines) ? { lines, dropped: Number(dropped) || 0 } : null;
}
