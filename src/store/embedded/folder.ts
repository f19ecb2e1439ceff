import { mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Resolves when the disk has all names in the folder. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Makes a folder for this user alone, and what is missing above it, and sees to it that the disk has their names. Not
 * with `recursive`, which never ends where nothing can be made, as in /proc.
 * @returns whether it was made
 */
export async function makeFolders(folder: string): Promise<boolean> {
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return false;
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error;
    await makeFolders(dirname(folder));
    await mkdir(folder, { mode: 0o700 });
  }
  await syncFolder(dirname(folder));
  return true;
}
