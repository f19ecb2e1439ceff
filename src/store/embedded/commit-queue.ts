import { StoreUnavailable } from '../port.js';

export interface CommitQueueOptions<Change, Entry> {
  /**
   * Tells what to write, as if the changes were made one after the other, without making them: for each an entry,
   * null when there is nothing to be done, or the error that refuses it.
   */
  readonly prepare: (changes: readonly Change[]) => readonly (Entry | Error | null)[];
  /** Resolves when the entries are safe. */
  readonly persist: (entries: readonly Entry[]) => Promise<void>;
  /** Makes a change whose entry is safe; must not fail. */
  readonly apply: (entry: Entry) => void;
  /** Run after each batch, before the next; must not fail. */
  readonly afterwards: () => Promise<void>;
}

/**
 * Makes commits in the order they come: safe first, then in memory, then acknowledged. Those that come while others
 * are being written wait, and are written together.
 */
export interface CommitQueue<Change, Entry> {
  /** @returns the entry that was made; null when there was nothing to be done */
  commit(change: Change): Promise<Entry | null>;
  /** Ends what has been begun; later commits are refused. */
  close(): Promise<void>;
}

interface Pending<Change, Entry> {
  readonly change: Change;
  readonly resolve: (entry: Entry | null) => void;
  readonly reject: (error: unknown) => void;
}

export function createCommitQueue<Change, Entry extends object>(
  options: CommitQueueOptions<Change, Entry>,
): CommitQueue<Change, Entry> {
  const { prepare, persist, apply, afterwards } = options;
  let waiting: Pending<Change, Entry>[] = [];
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

  async function write(batch: readonly Pending<Change, Entry>[]): Promise<void> {
    let outcomes: readonly (Entry | Error | null)[];
    try {
      outcomes = prepare(batch.map(({ change }) => change));
      const entries = outcomes.filter(
        (outcome) => outcome !== null && !(outcome instanceof Error),
      ) as Entry[];
      if (entries.length > 0) await persist(entries);
    } catch (error) {
      // Those refused, and those with nothing to do, too: it may be for a commit of this batch, which was not made.
      for (const { reject } of batch) reject(error);
      return;
    }
    for (const [at, { resolve, reject }] of batch.entries()) {
      const outcome = outcomes[at] as Entry | Error | null;
      if (outcome instanceof Error) reject(outcome);
      else {
        if (outcome !== null) apply(outcome);
        resolve(outcome);
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
