/** How many guarded writes of unknown outcome wait to be settled, for the metrics. */
import type { Logger } from 'pino';
import { repeat } from '../../lib/repeat.js';
import { StoreUnavailable } from '../../store/port.js';
import type { ReservationBook } from './reservations.js';

/** Often enough for an alert, and seldom enough for a list of thousands. */
const LOOK_MS = 30_000;

export interface UnknownCount {
  /** As of the last look; null before the first, and while the store cannot tell. */
  count(): number | null;
  /** Looks now. Never rejects. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

export function countUnknown(book: Pick<ReservationBook, 'unknown'>, logger: Logger): UnknownCount {
  let last: number | null = null;
  async function look(): Promise<void> {
    try {
      last = (await book.unknown()).length;
    } catch (error) {
      last = null;
      if (!(error instanceof StoreUnavailable))
        logger.error({ err: error }, 'writes of unknown outcome could not be counted');
    }
  }
  const looking = repeat(LOOK_MS, look);
  looking.now();
  return { count: () => last, look, stop: looking.stop };
}
