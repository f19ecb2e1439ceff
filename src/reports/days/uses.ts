/** Notes which months plain reports read, once a day for each month and process: without room, those unused for longest go. */
import type { Logger } from 'pino';
import { createLastUsed } from '../../lib/last-used.js';
import { startTimer } from '../../lib/time.js';
import type { DaysStore, MonthPlace } from '../../store/days-port.js';
import { placeName } from './open-months.js';

const DAY_MS = 86_400_000;
const BATCH_MS = 60_000;
/** A month that is forgotten here is noted again. */
const MAX_NOTED = 10_000;

export interface UsesOptions {
  readonly store: Pick<DaysStore, 'used'>;
  readonly now: () => number;
  readonly logger: Logger;
}

/** @returns notes the use of a month. Never throws: what is lost of it is harmless */
export function createNoteUse({ store, now, logger }: UsesOptions): (place: MonthPlace) => void {
  /** By place: the day on which it was noted. */
  const noted = createLastUsed<number>(MAX_NOTED);
  let waiting: MonthPlace[] = [];

  function send(): void {
    const batch = waiting;
    waiting = [];
    store.used(batch, dayOf(now())).catch((error: unknown) => {
      logger.debug({ err: error, months: batch.length }, 'failed to note the use of stored months');
    });
  }

  return (place) => {
    const [name, day] = [placeName(place), dayOf(now())];
    if (noted.get(name) === day) return;
    noted.set(name, day);
    if (waiting.push(place) === 1) startTimer(send, BATCH_MS).unref();
  };
}

const dayOf = (ms: number) => Math.floor(ms / DAY_MS);
