/** Notes which months plain reports read, once a day for each month and process: without room, those unused for longest go. */
import type { Logger } from 'pino';
import { createLastUsed } from '../../lib/last-used.js';
import { startTimer, stopTimer, type Timer } from '../../lib/time.js';
import type { DaysStore, MonthPlace } from '../../store/days-port.js';
import { dayAt } from '../query/days.js';
import { placeName } from './open-months.js';

const BATCH_MS = 60_000;
/** A month that is forgotten here is noted again. */
const MAX_NOTED = 10_000;

export interface UsesOptions {
  readonly store: Pick<DaysStore, 'used'>;
  readonly now: () => number;
  readonly logger: Logger;
}

/** What is lost of uses is harmless. */
export function createUses({ store, now, logger }: UsesOptions) {
  /** By place: the day on which it was noted. */
  const noted = createLastUsed<number>(MAX_NOTED);
  let waiting: MonthPlace[] = [];
  let timer: Timer | undefined;
  let isClosed = false;

  async function send(): Promise<void> {
    stopTimer(timer);
    const batch = waiting;
    waiting = [];
    if (batch.length === 0) return;
    await store.used(batch, dayAt(now(), 'UTC')).catch((error: unknown) => {
      logger.debug({ err: error, months: batch.length }, 'failed to note the use of stored months');
    });
  }

  return {
    /** Notes the use of a month. Never throws. */
    note(place: MonthPlace): void {
      // Requests may outlast the close; their timer would use the closed store.
      if (isClosed) return;
      const [name, day] = [placeName(place), dayAt(now(), 'UTC')];
      if (noted.get(name) === day) return;
      noted.set(name, day);
      if (waiting.push(place) === 1) timer = startTimer(() => void send(), BATCH_MS).unref();
    },
    /** Sends the last ones; later ones are not noted. Never rejects. */
    close(): Promise<void> {
      isClosed = true;
      return send();
    },
  };
}
