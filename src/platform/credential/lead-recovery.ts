/** One replica recovers the credential at a time; the others wait for it. */
import type { Logger } from 'pino';
import type { Clock } from '../../lib/clock.js';
import { sleep } from '../../lib/time.js';
import type { Leases } from '../../store/port.js';
import { takeHold, whileHolding } from './hold-lease.js';

const LEASE_KEY = 'lease:{credential}:recover';
/** How long a replica waits for one that recovers, and lives. */
const WAIT_MS = 30_000;
const WAIT_STEP_MS = 100;
/** How often in a row the store may fail to say who leads: once it may only be late. */
const CLAIM_TRIES = 3;

export interface RecoveryLeadOptions {
  readonly leases: Leases;
  readonly owner: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What one replica does, and the others wait for. */
export interface LedWork {
  readonly isDone: () => boolean;
  /** @returns whether it is done */
  readonly attempt: () => Promise<boolean>;
  /** Called where it was not done, by this replica or in time by another one. */
  readonly failed: () => Promise<void>;
  /** Called where the store did not say who is to do it: nobody was asked for anything. */
  readonly storeAway: () => void;
}

/** @returns a function that does the work, or waits for the replica that does; and says whether it is done */
export function createRecoveryLead({
  leases,
  owner,
  clock,
  logger,
}: RecoveryLeadOptions): (work: LedWork) => Promise<boolean> {
  const hold = { leases, key: LEASE_KEY, owner, logger };

  async function claim(isDone: () => boolean): Promise<boolean> {
    const endsAtMs = clock.monotonicMs() + WAIT_MS;
    let failures = 0;
    for (;;) {
      try {
        if (await takeHold(hold)) return true;
        failures = 0;
      } catch (error) {
        failures += 1;
        // What is granted late is ours as well, and is found so by the next try.
        if (failures === CLAIM_TRIES) throw error;
      }
      if (clock.monotonicMs() >= endsAtMs) return false;
      await sleep(WAIT_STEP_MS);
      if (isDone()) return false;
    }
  }

  async function release(): Promise<void> {
    await leases.release([LEASE_KEY], owner).catch((error: unknown) => {
      logger.warn({ err: error }, 'the lease for recovery could not be released; it ends by itself');
    });
  }

  return async function lead({ isDone, attempt, failed, storeAway }) {
    const isMine = await claim(isDone).catch((error: unknown) => {
      storeAway();
      // It may be granted late. Whoever needs the token does not wait for that too.
      void release();
      throw error;
    });
    let done = false;
    try {
      done = isMine ? await whileHolding(hold, attempt) : isDone();
    } finally {
      try {
        // Before another may lead, so that it finds the rest.
        if (!done) await failed();
      } finally {
        await release();
      }
    }
    return done;
  };
}
