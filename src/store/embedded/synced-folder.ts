import { type OpenFile, syncFolder } from './journal.js';

/** A folder whose names are to be on the disk. */
export interface SyncedFolder {
  /** Resolves when the disk has all names as they were when this was called. */
  confirm(): Promise<void>;
  /** Does so where it has failed and was not made good since. */
  settle(): Promise<void>;
}

export function createSyncedFolder(folder: string, open?: OpenFile): SyncedFolder {
  let calls = 0;
  // The latest call that succeeded covers all before it, but none that began after it and failed.
  let confirmed = 0;
  let failed = 0;

  async function confirm(): Promise<void> {
    calls += 1;
    const call = calls;
    try {
      await syncFolder(folder, open);
      confirmed = Math.max(confirmed, call);
    } catch (error) {
      failed = Math.max(failed, call);
      throw error;
    }
  }

  return {
    confirm,
    async settle() {
      if (failed > confirmed) await confirm();
    },
  };
}
