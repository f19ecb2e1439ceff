import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { StoreLog } from '../log.js';
import { type RegistryStore, type StoreHealth, StoreUnavailable } from '../port.js';
import { StoreRefused } from '../refused.js';
import type { RegistryLimits } from '../registry-limits.js';
import { createCommitQueue } from './commit-queue.js';
import type { FolderLock } from './folder-lock.js';
import { type Journal, type OpenFile, openJournal } from './journal.js';
import {
  type CommitEntry,
  createRegistryState,
  type RegistryState,
  type StateHeader,
  type StatePart,
} from './registry-state.js';

const FILE = 'registry.journal';
/** Changed when older releases could not read the journal. */
const FORMAT = 1;
/** The journal is rewritten when it has grown by as much as it was long then, and by this at least. */
const REWRITE_AFTER_BYTES = 4 * 1024 * 1024;

/** The first record of a journal. So many `parts` of the state follow, then commits, batch by batch. */
interface Head extends StateHeader {
  readonly format: number;
  readonly parts: number;
}

export interface JournalRegistryOptions {
  readonly folder: string;
  readonly lock: FolderLock;
  readonly limits: RegistryLimits;
  readonly logger: StoreLog;
  readonly rewriteAfterBytes?: number;
  readonly open?: OpenFile;
}

export interface JournalRegistry extends RegistryStore {
  health(): StoreHealth;
  /** Ends what has been begun; later commits are refused. */
  close(): Promise<void>;
}

/**
 * The registry in memory, and every commit in a journal on the disk before it is acknowledged. Commits that arrive
 * while the disk is busy share the next write.
 *
 * @throws StoreRefused when the journal is damaged, or of another program or release.
 */
export async function openJournalRegistry(options: JournalRegistryOptions): Promise<JournalRegistry> {
  const { folder, lock, limits, logger, rewriteAfterBytes = REWRITE_AFTER_BYTES, open } = options;
  const path = join(folder, FILE);
  const { journal, values } = await openJournal({ path, logger, ...(open === undefined ? {} : { open }) });
  const state = await start(path, journal, values, limits);
  const queue = createCommitQueue({ state, persist, afterwards: shorten });
  let longBytes = 2 * journal.bytes + rewriteAfterBytes;
  let fault: string | null = null;

  async function persist(entries: readonly CommitEntry[]): Promise<void> {
    try {
      if (!(await lock.held())) throw new Error('another process has taken over the folder');
      if (!journal.sound) await journal.rewrite(journalOf(state));
      await journal.append(entries);
      if (fault !== null) logger.info({ path }, 'the registry can be written again');
      fault = null;
    } catch (error) {
      fault = `${path} cannot be written: ${error instanceof Error ? error.message : error}`;
      logger.error({ err: error, path }, 'a registry change could not be written; it was not made');
      throw new StoreUnavailable(fault);
    }
  }

  /** Nobody waits for this; a failure leaves the journal as it was, only longer than it need be. */
  async function shorten(): Promise<void> {
    if (journal.bytes < longBytes) return;
    try {
      await journal.rewrite(journalOf(state));
    } catch (error) {
      logger.warn({ err: error, path }, 'the journal could not be shortened');
    }
    longBytes = 2 * journal.bytes + rewriteAfterBytes;
  }

  return {
    load: async () => state.snapshot(),
    changes: async (epoch, version) => state.changes(epoch, version),
    commit: queue.commit,
    readAudit: async (limit, before) => state.readAudit(limit, before),
    health: () => (fault === null ? { ok: true } : { ok: false, reason: fault }),
    async close() {
      await queue.close();
      await journal.close();
    },
  };
}

/** The state that the journal holds; the journal is begun if it holds nothing. */
async function start(
  path: string,
  journal: Journal,
  values: readonly unknown[],
  limits: RegistryLimits,
): Promise<RegistryState> {
  try {
    const state = replay(path, values, limits);
    if (values.length === 0) await journal.rewrite(journalOf(state));
    return state;
  } catch (error) {
    await journal.close();
    throw error;
  }
}

function journalOf(state: RegistryState): unknown[] {
  const parts = [...state.parts()];
  const head: Head = { format: FORMAT, ...state.header(), parts: parts.length };
  return [head, ...parts];
}

function replay(path: string, values: readonly unknown[], limits: RegistryLimits): RegistryState {
  const head = values[0] as Head | undefined;
  if (head === undefined) {
    return createRegistryState({ epoch: randomUUID(), version: 0, floor: 0, auditFrom: 1 }, limits);
  }
  if (head.format !== FORMAT) {
    throw new StoreRefused(
      `${path} has the format ${head.format} of another release; this one reads ${FORMAT}`,
    );
  }
  const parts = values.slice(1, 1 + head.parts) as StatePart[];
  if (parts.length < head.parts) {
    // Written to the disk as a whole before it took its name, this cannot be a write that was cut off.
    throw new StoreRefused(
      `${path} is damaged: it ends after ${parts.length} of the ${head.parts} records of its first part. Restore the file from a backup`,
    );
  }
  const state = createRegistryState(head, limits);
  for (const part of parts) state.restore(part);
  for (const entry of (values.slice(1 + head.parts) as CommitEntry[][]).flat()) {
    if (entry.version !== state.version + 1) {
      throw new StoreRefused(
        `${path} is damaged: version ${entry.version} follows ${state.version}. Restore the file from a backup`,
      );
    }
    state.apply(entry);
  }
  return state;
}
