/** Sends counts to the store in batches, each of them once: with its id it is repeated until the store has taken it. */
import type { Logger } from 'pino';
import { randomId } from '../../lib/chance.js';
import type { Clock } from '../../lib/clock.js';
import type { CounterAdd, CounterRaise, Counters } from '../../store/port.js';
import { type Pending, toBatch } from './usage-day.js';

/** Days are kept so long, for a year to be compared with the one before. */
const KEPT_MS = 800 * 86_400_000;
/** The store knows a batch for 10 minutes; later a repetition might count twice. */
const REPEATED_MS = 9 * 60_000;

export interface UsageBatches {
  /** Sends once more what is not known to have arrived; nothing where all has. @throws StoreUnavailable */
  resend(): Promise<void>;
  /** Sends these counts; after a failure they wait for {@link resend}. @throws StoreUnavailable */
  send(counts: Pending): Promise<void>;
}

interface Batch {
  readonly id: string;
  readonly adds: readonly CounterAdd[];
  readonly raises: readonly CounterRaise[];
  /** Monotonic time of its first try. */
  readonly sinceMs: number;
}

export function createUsageBatches(counters: Counters, clock: Clock, logger: Logger): UsageBatches {
  /** Sent, and not known to have arrived. */
  let sent: Batch | null = null;

  async function send(batch: Batch): Promise<void> {
    if (clock.monotonicMs() - batch.sinceMs > REPEATED_MS) {
      sent = null;
      logger.error(
        { counts: batch.adds.length },
        'a batch of usage is lost: the store was away for too long',
      );
      return;
    }
    sent = batch;
    await counters.add(batch.id, batch.adds, batch.raises, KEPT_MS);
    sent = null;
  }

  return {
    async resend() {
      if (sent !== null) await send(sent);
    },
    send: (counts) => send({ id: randomId(), ...toBatch(counts), sinceMs: clock.monotonicMs() }),
  };
}
