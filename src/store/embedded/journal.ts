import { type FileHandle, open as openFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { StoreLog } from '../log.js';
import { StoreRefused } from '../refused.js';
import { encodeRecord, type JournalScan, scanJournal } from './journal-format.js';

export type OpenFile = (path: string, flags: string, mode?: number) => Promise<FileHandle>;

export interface JournalOptions {
  readonly path: string;
  readonly logger: StoreLog;
  /** How files are opened; given by tests that make a disk fail. */
  readonly open?: OpenFile;
}

/**
 * A file of records that only grows, until it is rewritten. One call at a time.
 *
 * When writing fails, the file is put back to where it was. Where that is not certain — the disk did not confirm,
 * so that what it holds is unknown — the journal is not `sound`: it must be rewritten before anything is appended.
 */
export interface Journal {
  readonly sound: boolean;
  /** The file's length. */
  readonly bytes: number;
  /** Resolves when the disk has the record. On an error the record is not in the journal. */
  append(value: unknown): Promise<void>;
  /**
   * Replaces the file as a whole, so that at every moment, and after a crash, there is the old one or the new one.
   */
  rewrite(values: Iterable<unknown>): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the journal, or starts one that is empty and not sound yet.
 *
 * @returns the journal, and the values it holds
 * @throws StoreRefused when its contents are damaged, naming the file and the offset.
 */
export async function openJournal(options: JournalOptions): Promise<{ journal: Journal; values: unknown[] }> {
  const { path, open = openFile } = options;
  // What a crash left of a rewrite that did not get as far as taking the journal's place.
  await rm(draftOf(path), { force: true });
  const found = await openExisting(path, open);
  if (found === null) return { journal: createJournal(options, null, 0), values: [] };
  try {
    const scan = scanJournal(await found.readFile());
    await settle(path, found, scan, options.logger);
    return { journal: createJournal(options, found, scan.end), values: scan.values };
  } catch (error) {
    await found.close();
    throw error;
  }
}

async function openExisting(path: string, open: OpenFile): Promise<FileHandle | null> {
  try {
    return await open(path, 'r+');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}

/** Cuts off a torn write; refuses what is no journal, or a damaged one. */
async function settle(path: string, file: FileHandle, scan: JournalScan, logger: StoreLog): Promise<void> {
  const { end, rest } = scan;
  if (rest === 'nothing') return;
  if (rest === 'foreign') throw new StoreRefused(`${path} is not a journal of this program`);
  if (rest === 'damaged') {
    throw new StoreRefused(
      `${path} is damaged at byte ${end}: whole records follow, so this is not a write that was cut off. Restore the file from a backup; cutting it at byte ${end} would lose every later change`,
    );
  }
  const { size } = await file.stat();
  logger.warn({ path, offset: end, bytes: size - end }, 'cut off a write that was never finished');
  await file.truncate(end);
  await file.sync();
}

function createJournal(options: JournalOptions, opened: FileHandle | null, length: number): Journal {
  const { path, open = openFile } = options;
  let file = opened;
  let bytes = length;
  let sound = opened !== null;

  async function append(value: unknown): Promise<void> {
    if (file === null || !sound) throw new Error('the journal must be rewritten first');
    const record = encodeRecord(value);
    let written = false;
    try {
      await writeAt(file, record, bytes);
      written = true;
      await file.sync();
    } catch (error) {
      // A failed fsync may have dropped the pages for good, and the next one would succeed without them.
      sound = (await putBack(file, bytes)) && !written;
      throw error;
    }
    bytes += record.length;
  }

  async function rewrite(values: Iterable<unknown>): Promise<void> {
    const { draft, written } = await writeDraft(path, values, open);
    try {
      await rename(draftOf(path), path);
    } catch (error) {
      await discardDraft(path, draft);
      throw error;
    }
    const previous = file;
    file = draft;
    bytes = written;
    // Until the folder is on the disk too, a crash could bring the old file back.
    sound = false;
    await previous?.close();
    await syncFolder(dirname(path), open);
    sound = true;
  }

  return {
    get sound() {
      return sound;
    },
    get bytes() {
      return bytes;
    },
    append,
    rewrite,
    async close() {
      await file?.close();
    },
  };
}

/** @returns whether the file surely is again as long as it was, and no longer */
async function putBack(file: FileHandle, bytes: number): Promise<boolean> {
  try {
    await file.truncate(bytes);
    await file.sync();
    return true;
  } catch {
    // The caller hears of the failure that led here.
    return false;
  }
}

const draftOf = (path: string) => `${path}.new`;

async function writeDraft(path: string, values: Iterable<unknown>, open: OpenFile) {
  await rm(draftOf(path), { force: true });
  const draft = await open(draftOf(path), 'wx', 0o600);
  try {
    let written = 0;
    for (const value of values) {
      const record = encodeRecord(value);
      await writeAt(draft, record, written);
      written += record.length;
    }
    await draft.sync();
    return { draft, written };
  } catch (error) {
    await discardDraft(path, draft);
    throw error;
  }
}

async function discardDraft(path: string, draft: FileHandle): Promise<void> {
  await draft.close();
  await rm(draftOf(path), { force: true });
}

/** Writes all of it: the disk may take a part and refuse the rest at the next try. */
export async function writeAt(file: FileHandle, bytes: Buffer, start: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, start + done);
    done += bytesWritten;
  }
}

/** Makes names created, renamed and removed in a folder survive a loss of power. */
export async function syncFolder(folder: string, open: OpenFile = openFile): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
