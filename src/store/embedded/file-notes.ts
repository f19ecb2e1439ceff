import { createHash } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { checkNote } from '../note-text.js';
import { type Notes, type StoreHealth, StoreUnavailable } from '../port.js';
import { wholeMs } from '../whole-ms.js';
import { syncFolder } from './journal.js';
import type { FolderOptions } from './journalled-state.js';
import { isDraft, NoteDamaged, readNote, replaceNote } from './note-file.js';
import { createNoteSweep } from './note-sweep.js';
import type { RealTime } from './real-time.js';
import { createSyncedFolder } from './synced-folder.js';
import { createTurns } from './turns.js';

const FOLDER = 'notes';

export interface FileNotesOptions extends FolderOptions {
  readonly realTime: RealTime;
}

export interface FileNotes extends Notes {
  health(): StoreHealth;
  /** Ends what has been begun; later calls are refused. */
  close(): Promise<void>;
}

/**
 * Each note in a file of its own, named by the hash of its key: notes may be large and many, so they are not kept in
 * memory, and one that changes does not move the others.
 */
export async function openFileNotes(options: FileNotesOptions): Promise<FileNotes> {
  const folder = join(options.folder, FOLDER);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await syncFolder(options.folder, options.open);
  for (const name of await readdir(folder)) if (isDraft(name)) await rm(join(folder, name));

  const turns = createTurns();
  const sweep = createNoteSweep({ ...options, folder, turns });
  const files = createNoteFiles({ ...options, folder });
  const guard = createGuard({ ...options, folder });
  const pathOf = (key: string) => join(folder, createHash('sha256').update(key).digest('hex'));

  async function inTurn<T>(key: string, work: (path: string) => Promise<T>): Promise<T> {
    const path = pathOf(key);
    guard.admit();
    return await turns.take(path, () => guard.run(path, work));
  }

  return {
    async create(key, text, ttlMs) {
      checkNote(text);
      const ms = wholeMs(ttlMs, 1);
      sweep.nowAndThen();
      return await inTurn(key, async (path) => {
        const found = await files.read(path);
        if (found === null) await files.write(path, text, ms);
        return found;
      });
    },
    get: (key) => inTurn(key, files.read),
    async replace(key, before, after, ttlMs) {
      if (after !== null) checkNote(after);
      const ms = after === null ? 0 : wholeMs(ttlMs, 1);
      return await inTurn(key, async (path) => {
        if ((await files.read(path)) !== before) return false;
        await files.write(path, after, ms);
        return true;
      });
    },
    health: guard.health,
    async close() {
      guard.close();
      await turns.ended();
      await sweep.ended();
    },
  };
}

/** The files, each by its path. One call at a time for each. */
function createNoteFiles({ folder, lock, realTime, open }: FileNotesOptions) {
  const names = createSyncedFolder(folder, open);
  return {
    /** Shows nothing whose name may not be on the disk. */
    async read(path: string): Promise<string | null> {
      await names.settle();
      const note = await readNote(path);
      return note !== null && realTime() < note.endsAtMs ? note.text : null;
    },
    /** Resolves when the disk has it. */
    async write(path: string, text: string | null, ttlMs: number): Promise<void> {
      if (!(await lock.held())) throw new Error('another process has taken over the folder');
      if (text === null) await rm(path);
      else await replaceNote(path, { endsAtMs: realTime() + ttlMs, text }, open);
      await names.confirm();
    },
  };
}

/** Turns whatever fails into a StoreUnavailable, and remembers it until something succeeds. */
function createGuard({ folder, logger }: FolderOptions) {
  let closed = false;
  let fault: string | null = null;
  return {
    /** @throws StoreUnavailable once it is closed */
    admit(): void {
      if (closed) throw new StoreUnavailable('the store is closed');
    },
    async run<T>(path: string, work: (path: string) => Promise<T>): Promise<T> {
      try {
        const done = await work(path);
        if (fault !== null) logger.info({ path: folder }, 'notes can be read and written again');
        fault = null;
        return done;
      } catch (error) {
        const reason = `${folder} fails: ${error instanceof Error ? error.message : error}`;
        // A note that is damaged is no fault of the others.
        if (!(error instanceof NoteDamaged)) fault = reason;
        logger.error({ err: error, path }, 'a note could not be read or written');
        throw new StoreUnavailable(reason);
      }
    },
    health: (): StoreHealth => (fault === null ? { ok: true } : { ok: false, reason: fault }),
    close(): void {
      closed = true;
    },
  };
}
