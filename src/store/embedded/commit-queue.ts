import { type RegistryCommit, RegistryConflict, StoreUnavailable } from '../port.js';
import type { CommitEntry, RegistryState } from './registry-state.js';

export interface CommitQueueOptions {
  readonly state: RegistryState;
  /** Resolves when the entries are safe. */
  readonly persist: (entries: readonly CommitEntry[]) => Promise<void>;
  /** Run after each batch, before the next; must not fail. */
  readonly afterwards: () => Promise<void>;
}

/**
 * Makes commits in the order they come: safe first, then in memory, then acknowledged. Those that come while others
 * are being written wait, and are written together.
 */
export interface CommitQueue {
  commit(change: RegistryCommit): Promise<{ version: number }>;
  /** Ends what has been begun; later commits are refused. */
  close(): Promise<void>;
}

interface Pending {
  readonly change: RegistryCommit;
  readonly resolve: (done: { version: number }) => void;
  readonly reject: (error: unknown) => void;
}

export function createCommitQueue({ state, persist, afterwards }: CommitQueueOptions): CommitQueue {
  let waiting: Pending[] = [];
  let writing: Promise<void> | null = null;
  let closed = false;

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await write(batch);
      await afterwards();
    }
    writing = null;
  }

  async function write(batch: readonly Pending[]): Promise<void> {
    let outcomes: (CommitEntry | RegistryConflict)[];
    try {
      outcomes = state.prepare(batch.map(({ change }) => change));
      const entries = outcomes.filter((outcome) => !(outcome instanceof RegistryConflict)) as CommitEntry[];
      if (entries.length > 0) await persist(entries);
    } catch (error) {
      // Those in conflict too: it may be with a commit of this batch, which was not made.
      for (const { reject } of batch) reject(error);
      return;
    }
    for (const [at, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[at] as CommitEntry | RegistryConflict;
      if (outcome instanceof RegistryConflict) reject(outcome);
      else {
        state.apply(outcome);
        resolve({ version: outcome.version });
      }
    }
  }

  return {
    commit(change) {
      if (closed) return Promise.reject(new StoreUnavailable('the store is closed'));
      return new Promise((resolve, reject) => {
        waiting.push({ change, resolve, reject });
        writing ??= drain();
      });
    },
    async close() {
      closed = true;
      await writing;
    },
  };
}
