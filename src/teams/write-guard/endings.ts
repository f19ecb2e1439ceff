/** Tells the store what became of charges, and goes on trying while it does not answer. */
import type { Logger } from 'pino';
import { repeat } from '../../lib/repeat.js';
import type { ChargeAsk, Charges } from '../../store/charges-port.js';
import { StoreUnavailable } from '../../store/port.js';

/** Its end; or one that stays open, with what is known of it, and whole, for the store may have lost it meanwhile. */
export type Ending = { readonly how: 'kept' | 'back' } | { readonly anew: ChargeAsk };

export interface Endings {
  /** Never rejects: what the store does not take now is tried again behind the caller's back. */
  write(id: string, ending: Ending): Promise<void>;
  /** The same, but not now: the store has just failed. */
  writeLater(id: string, ending: Ending): void;
  /** Tries what is left once more. What the store does not take then stays charged, and is listed as unknown. */
  settled(): Promise<void>;
}

export interface EndingsOptions {
  readonly charges: Pick<Charges, 'charge' | 'end' | 'note'>;
  readonly logger: Logger;
}

const AGAIN_MS = 2_000;
/** So many wait for the store at most; as many charges may be open. */
const WAITING_MAX = 10_000;

export function createEndings({ charges, logger }: EndingsOptions): Endings {
  const waiting = new Map<string, Ending>();

  /** A write that nobody knows the outcome of must not be lost with its charge; one that was settled is not charged anew. */
  async function putBack(charge: ChargeAsk): Promise<void> {
    const { kind } = await charges.charge(charge);
    if (kind === 'made')
      logger.warn(
        { charge: charge.id },
        'the store had lost a write of unknown outcome; it is charged and listed again',
      );
  }

  /** @returns whether the store took it */
  async function attempt(id: string, ending: Ending): Promise<boolean> {
    try {
      if ('how' in ending) await charges.end(id, ending.how);
      else if (!(await charges.note(id, ending.anew.note))) await putBack(ending.anew);
      return true;
    } catch (error) {
      if (!(error instanceof StoreUnavailable))
        logger.error({ err: error, charge: id }, 'what became of a guarded write could not be written down');
      return false;
    }
  }

  /** One after the other, until the store does not answer. */
  async function attemptAll(): Promise<void> {
    for (const [id, ending] of waiting) {
      if (!(await attempt(id, ending))) return;
      waiting.delete(id);
    }
  }

  const again = repeat(AGAIN_MS, attemptAll);

  function writeLater(id: string, ending: Ending): void {
    if (waiting.size === 0)
      logger.warn('the store does not take what became of guarded writes; trying again until it does');
    if (waiting.size < WAITING_MAX) waiting.set(id, ending);
    else logger.error({ charge: id }, 'what became of a guarded write is not written down: too many wait');
  }

  return {
    async write(id, ending) {
      if (!(await attempt(id, ending))) writeLater(id, ending);
    },
    writeLater,
    async settled() {
      await again.stop();
      await attemptAll();
      if (waiting.size === 0) return;
      logger.error(
        { charges: waiting.size },
        'the store did not take what became of guarded writes: they stay charged, and are listed as unknown',
      );
    },
  };
}
