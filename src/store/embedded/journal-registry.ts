import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { RegistryStore, StoreHealth } from '../port.js';
import { StoreRefused } from '../refused.js';
import type { RegistryLimits } from '../registry-limits.js';
import { type FolderOptions, type Image, openJournalled } from './journalled-state.js';
import {
  type CommitEntry,
  createRegistryState,
  type RegistryState,
  type StateHeader,
  type StatePart,
} from './registry-state.js';

const FILE = 'registry.journal';

export interface JournalRegistryOptions extends FolderOptions {
  readonly limits: RegistryLimits;
  readonly rewriteAfterBytes?: number;
}

export interface JournalRegistry extends RegistryStore {
  health(): StoreHealth;
  /** Ends what has been begun; later commits are refused. */
  close(): Promise<void>;
}

/**
 * The registry in memory and in a journal.
 *
 * @throws StoreRefused when the journal is damaged, or of another program or release.
 */
export async function openJournalRegistry(options: JournalRegistryOptions): Promise<JournalRegistry> {
  const path = join(options.folder, FILE);
  const { state, commit, health, close } = await openJournalled({
    ...options,
    path,
    change: 'a registry change',
    restore: (image: Image<StateHeader, StatePart, CommitEntry> | null) =>
      restore(path, image, options.limits),
  });
  return {
    load: async () => state.snapshot(),
    // A folder has its registry from the first moment on, and one process.
    create: async () => false,
    movedOn: () => false,
    changes: async (epoch, version) => state.changes(epoch, version),
    async commit(change) {
      // There is an entry for every commit that is not refused.
      const { version } = (await commit(change)) as CommitEntry;
      return { version };
    },
    readAudit: async (limit, before) => state.readAudit(limit, before),
    health,
    close,
  };
}

function restore(
  path: string,
  image: Image<StateHeader, StatePart, CommitEntry> | null,
  limits: RegistryLimits,
): RegistryState {
  if (image === null) {
    return createRegistryState({ epoch: randomUUID(), version: 0, floor: 0, auditFrom: 1 }, limits);
  }
  const state = createRegistryState(image.header, limits);
  for (const part of image.parts) state.restore(part);
  for (const entry of image.entries) {
    if (entry.version !== state.version + 1) {
      throw new StoreRefused(
        `${path} is damaged: version ${entry.version} follows ${state.version}. Restore the file from a backup`,
      );
    }
    state.apply(entry);
  }
  return state;
}
