import { type FileNotes, openFileNotes } from '../../../src/store/embedded/file-notes.js';
import { lockFolder } from '../../../src/store/embedded/folder-lock.js';
import type { OpenFile } from '../../../src/store/embedded/journal.js';
import { type JournalTallies, openJournalTallies } from '../../../src/store/embedded/journal-tallies.js';
import type { FolderOptions } from '../../../src/store/embedded/journalled-state.js';
import { createTestLog, type TestLog } from '../test-log.js';

export interface FileKnobs {
  readonly open?: OpenFile;
  readonly realTime?: () => number;
  readonly rewriteAfterBytes?: number;
}

/** Opens tallies and notes in a folder as the embedded store does, with knobs that it does not have. */
export async function openTalliesIn(
  folder: string,
  knobs: FileKnobs = {},
): Promise<{ tallies: JournalTallies; log: TestLog; close(): Promise<void> }> {
  const { opened, ...rest } = await openIn(folder, (options) =>
    openJournalTallies({ ...options, realTime: () => 0, ...knobs }),
  );
  return { tallies: opened, ...rest };
}

export async function openNotesIn(
  folder: string,
  { open, realTime = () => 0 }: FileKnobs = {},
): Promise<{ notes: FileNotes; log: TestLog; close(): Promise<void> }> {
  const { opened, ...rest } = await openIn(folder, (options) =>
    openFileNotes({ ...options, realTime, ...(open === undefined ? {} : { open }) }),
  );
  return { notes: opened, ...rest };
}

async function openIn<T extends { close(): Promise<void> }>(
  folder: string,
  openPart: (options: FolderOptions) => Promise<T>,
) {
  const log = createTestLog();
  const lock = await lockFolder(folder, { logger: log });
  try {
    const opened = await openPart({ folder, lock, logger: log });
    return {
      opened,
      log,
      async close() {
        await opened.close();
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}
