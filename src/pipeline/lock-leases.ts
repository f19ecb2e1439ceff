/** Locks between replicas: leases of the store on their names, kept up while they are held. */
import type { Logger } from 'pino';
import type { Leases } from '../store/port.js';
import { startTimer, stopTimer, type Timer } from '../time.js';
import type { Patience } from './question.js';

const LEASE_MS = 4000;
/** Longest wait for the store to grant locks; after it they count as granted, as with a store that is away. */
const GRANT_MS = 250;
/** Where replicas are told of locks that were let go of. */
export const RELEASED = 'released';

export interface Grant {
  /** For each name, whether it is held now. */
  readonly held: readonly boolean[];
  /** Resolves when the store has answered whether they are held; null: it has. */
  readonly settled: Promise<unknown> | null;
}

/** What a lease is let go of with. */
export interface Release {
  /** Who holds it: one owner for each lock. */
  readonly owner: string;
  readonly settled: Grant['settled'];
  readonly patience: Patience;
}

export interface LockLeases {
  /** A store that is away, or late, locks nothing: every replica then fetches for itself. */
  take(names: readonly string[], owner: string, patience: Patience): Promise<Grant>;
  /** Never rejects. */
  renew(names: readonly string[], owner: string): Promise<void>;
  /** A release must not overtake the store's answer to the taking. Never rejects. */
  release(names: readonly string[], how: Release): Promise<void>;
}

export interface LockLeasesOptions {
  readonly leases: Leases;
  readonly logger: Logger;
}

export function createLockLeases({ leases, logger }: LockLeasesOptions): LockLeases {
  /** Never rejects. */
  async function tellReplicas(names: readonly string[], { owner, patience }: Release): Promise<void> {
    try {
      await leases.release(names.map(leaseOf), owner, { channel: RELEASED, message: names.join(' ') });
    } catch (error) {
      patience.isSpent = true;
      logger.debug({ err: error }, 'a fetch lock could not be released; it ends by itself');
    }
  }

  return {
    async take(names, owner, patience) {
      const all = names.map(() => true);
      if (names.length === 0) return { held: all, settled: null };
      const asked = leases.claim(names.map(leaseOf), owner, LEASE_MS).catch((error: unknown) => {
        patience.isSpent = true;
        logger.debug({ err: error }, 'fetch lock unavailable: replicas may ask twice');
        return all;
      });
      if (patience.isSpent) return { held: all, settled: asked };
      let late: Timer | undefined;
      const waited = new Promise<null>((resolve) => {
        late = startTimer(() => resolve(null), GRANT_MS);
      });
      const held = await Promise.race([asked, waited]);
      stopTimer(late);
      if (held !== null) return { held, settled: null };
      patience.isSpent = true;
      return { held: all, settled: asked };
    },
    async renew(names, owner) {
      await leases.renew(names.map(leaseOf), owner, LEASE_MS).catch((error: unknown) => {
        logger.debug({ err: error }, 'a fetch lock could not be renewed; another replica may ask too');
      });
    },
    async release(names, how) {
      if (names.length === 0) return;
      const tell = () => tellReplicas(names, how);
      const released = how.settled === null ? tell() : how.settled.then(tell);
      if (!how.patience.isSpent) await released;
    },
  };
}

/** Beside the entry, in its slot. */
function leaseOf(name: string): string {
  return `${name}:lease`;
}
