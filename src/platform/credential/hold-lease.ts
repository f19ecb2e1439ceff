/** A lease held while something is done: short, and renewed, so that whoever dies with it is soon followed. */
import type { Logger } from 'pino';
import { startTicks, stopTicks } from '../../lib/time.js';
import type { Leases } from '../../store/port.js';

/** How long a dead holder keeps others from following. */
const HOLD_MS = 4000;
const RENEW_EVERY_MS = 1000;

export interface Hold {
  readonly leases: Leases;
  readonly key: string;
  readonly owner: string;
  readonly logger: Logger;
}

/** @returns whether it is ours now, for {@link HOLD_MS} or for as long as `whileHolding` works. @throws StoreUnavailable */
export async function takeHold({ leases, key, owner }: Hold): Promise<boolean> {
  const [mine] = await leases.claim([key], owner, HOLD_MS);
  return mine === true;
}

/** Works, and keeps the lease meanwhile. It is not released. */
export async function whileHolding<T>(
  { leases, key, owner, logger }: Hold,
  work: () => Promise<T>,
): Promise<T> {
  const beat = startTicks(() => {
    leases.renew([key], owner, HOLD_MS).catch((error: unknown) => {
      logger.warn(
        { err: error, lease: key },
        'a lease could not be renewed; another replica may take it over',
      );
    });
  }, RENEW_EVERY_MS);
  try {
    return await work();
  } finally {
    stopTicks(beat);
  }
}
