import { open as openFile, readFile, rename, rm } from 'node:fs/promises';
import { type OpenFile, writeAt } from './journal.js';
import { encodeRecord, scanJournal } from './journal-format.js';

/** What a note's file holds: this, as one record of a journal. */
export interface NoteFile {
  readonly endsAtMs: number;
  readonly text: string;
}

export class NoteDamaged extends Error {
  override readonly name = 'NoteDamaged';
}

/** @returns null when there is no file. @throws NoteDamaged, for a file is whole before it takes its name */
export async function readNote(path: string): Promise<NoteFile | null> {
  const bytes = await readFile(path).catch(absent);
  if (bytes === null) return null;
  const { values, rest } = scanJournal(bytes);
  if (values.length !== 1 || rest !== 'nothing') {
    throw new NoteDamaged(`${path} is damaged: restore it from a backup, or remove it`);
  }
  return values[0] as NoteFile;
}

/** For what may not be there. */
export function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

const DRAFT = '.new';

export const isDraft = (name: string) => name.endsWith(DRAFT);

/**
 * Puts a note in the place of what was there, so that at every moment, and after a crash, there is the one or the
 * other. It is safe once the folder is synced too. The file's time of change is the note's end, which spares a
 * search for ended notes to open them all.
 */
export async function replaceNote(path: string, note: NoteFile, open: OpenFile = openFile): Promise<void> {
  const draft = path + DRAFT;
  await rm(draft, { force: true });
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await writeAt(file, encodeRecord(note), 0);
      await file.utimes(note.endsAtMs / 1_000, note.endsAtMs / 1_000);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
