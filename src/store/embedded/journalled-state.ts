import type { StoreLog } from '../log.js';
import { type StoreHealth, StoreUnavailable } from '../port.js';
import { StoreRefused } from '../refused.js';
import { createCommitQueue } from './commit-queue.js';
import type { FolderLock } from './folder-lock.js';
import { type Journal, type OpenFile, openJournal } from './journal.js';

/** Changed when older releases could not read the journals. */
const FORMAT = 1;
/** A journal is rewritten when it has grown by as much as it was long then, and by this at least. */
const REWRITE_AFTER_BYTES = 4 * 1024 * 1024;

/** A state as its journal is begun with it. */
interface Recorded {
  /** What stands first. */
  header(): object;
  /** The state in pieces that are quick to make and to encode. Nothing changes before the last is made. */
  parts(): readonly (() => unknown)[];
}

/** A state in memory, of which every change is an entry. Nothing in it touches a file or waits. */
export interface JournalledState<Change, Entry> extends Recorded {
  /** See commit-queue.ts. */
  prepare(changes: readonly Change[]): readonly (Entry | Error | null)[];
  apply(entry: Entry): void;
}

/** What a journal holds: a state as it was, in parts, and the entries since. */
export interface Image<Header, Part, Entry> {
  readonly header: Header;
  readonly parts: readonly Part[];
  readonly entries: readonly Entry[];
}

/** The first record of a journal, beside the state's header. So many `parts` follow, then entries, batch by batch. */
interface Head {
  readonly format: number;
  readonly parts: number;
}

/** What all that keeps files in the data folder is given. */
export interface FolderOptions {
  readonly folder: string;
  readonly lock: FolderLock;
  readonly logger: StoreLog;
  readonly open?: OpenFile;
}

export interface JournalOptions<State, Header, Part, Entry> extends Omit<FolderOptions, 'folder'> {
  readonly path: string;
  /** What one change is called in messages. */
  readonly change: string;
  readonly rewriteAfterBytes?: number | undefined;
  /**
   * Builds the state from what the journal holds; from null when that is nothing.
   * @throws StoreRefused when that cannot be
   */
  readonly restore: (image: Image<Header, Part, Entry> | null) => State;
}

export interface Journalled<State, Change, Entry> {
  readonly state: State;
  /** Resolves when the disk has the change. @returns its entry; null when there was nothing to be done */
  commit(change: Change): Promise<Entry | null>;
  health(): StoreHealth;
  /** Ends what has been begun; later commits are refused. */
  close(): Promise<void>;
}

/**
 * Keeps a state in memory, and every change of it in a journal on the disk before it is acknowledged. Changes that
 * arrive while the disk is busy share the next write.
 *
 * @throws StoreRefused when the journal is damaged, or of another program or release.
 */
export async function openJournalled<
  Change,
  Entry extends object,
  State extends JournalledState<Change, Entry>,
  Header,
  Part,
>(options: JournalOptions<State, Header, Part, Entry>): Promise<Journalled<State, Change, Entry>> {
  const { path, change, lock, logger, rewriteAfterBytes = REWRITE_AFTER_BYTES, open } = options;
  const { journal, values } = await openJournal({ path, logger, ...(open === undefined ? {} : { open }) });
  const state = await start(journal, values, options);
  let longBytes = 2 * journal.bytes + rewriteAfterBytes;
  let fault: string | null = null;

  async function persist(entries: readonly Entry[]): Promise<void> {
    try {
      if (!(await lock.held())) throw new Error('another process has taken over the folder');
      if (!journal.sound) await journal.rewrite(recordsOf(state));
      await journal.append(entries);
      if (fault !== null) logger.info({ path }, `${path} can be written again`);
      fault = null;
    } catch (error) {
      fault = `${path} cannot be written: ${error instanceof Error ? error.message : error}`;
      logger.error({ err: error, path }, `${change} could not be written; it was not made`);
      throw new StoreUnavailable(fault);
    }
  }

  /** Nobody waits for this; a failure leaves the journal as it was, only longer than it need be. */
  async function shorten(): Promise<void> {
    if (journal.bytes < longBytes) return;
    try {
      await journal.rewrite(recordsOf(state));
    } catch (error) {
      logger.warn({ err: error, path }, 'the journal could not be shortened');
    }
    longBytes = 2 * journal.bytes + rewriteAfterBytes;
  }

  const { prepare, apply } = state;
  const queue = createCommitQueue<Change, Entry>({ prepare, persist, apply, afterwards: shorten });
  return {
    state,
    commit: queue.commit,
    health: () => (fault === null ? { ok: true } : { ok: false, reason: fault }),
    async close() {
      await queue.close();
      await journal.close();
    },
  };
}

/** The state that the journal holds; the journal is begun if it holds nothing. */
async function start<State extends Recorded, Header, Part, Entry>(
  journal: Journal,
  values: readonly unknown[],
  { path, restore }: Pick<JournalOptions<State, Header, Part, Entry>, 'path' | 'restore'>,
): Promise<State> {
  try {
    const state = restore(readImage(path, values));
    if (values.length === 0) await journal.rewrite(recordsOf(state));
    return state;
  } catch (error) {
    await journal.close();
    throw error;
  }
}

/** Made one by one as they are written: at once, they would hold up all else that the process does. */
function* recordsOf(state: Recorded): Generator<unknown> {
  const parts = state.parts();
  const head: Head = { format: FORMAT, ...state.header(), parts: parts.length };
  yield head;
  for (const part of parts) yield part();
}

function readImage<Header, Part, Entry>(
  path: string,
  values: readonly unknown[],
): Image<Header, Part, Entry> | null {
  const head = values[0] as (Head & Header) | undefined;
  if (head === undefined) return null;
  if (head.format !== FORMAT) {
    throw new StoreRefused(
      `${path} has the format ${head.format} of another release; this one reads ${FORMAT}`,
    );
  }
  const parts = values.slice(1, 1 + head.parts) as Part[];
  if (parts.length < head.parts) {
    // Written to the disk as a whole before it took its name, this cannot be a write that was cut off.
    throw new StoreRefused(
      `${path} is damaged: it ends after ${parts.length} of the ${head.parts} records of its first part. Restore the file from a backup`,
    );
  }
  return { header: head, parts, entries: (values.slice(1 + head.parts) as Entry[][]).flat() };
}
