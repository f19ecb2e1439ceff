import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
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

/**
 * Made under another name first: a folder of the right name has always been whole, also when the power was lost while it
 * was made, and one that is not is damaged.
 * @param make makes it under the name that it is given, and leaves nothing open
 * @returns whether it was made; else it was there
 */
export async function makeWhole(folder: string, make: (draft: string) => Promise<void>): Promise<boolean> {
  if ((await stat(folder).catch(() => null)) !== null) return false;
  const draft = `${folder}.new`;
  await rm(draft, { recursive: true, force: true });
  await make(draft);
  await rename(draft, folder);
  await syncFolder(dirname(folder));
  return true;
}
