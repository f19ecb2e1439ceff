/** Whether a name still leads to the file it led to: one that is open goes on being written when its name is gone. */
import type { Stats } from 'node:fs';
import { stat } from 'node:fs/promises';

/**
 * @param file what was found under that name, while it is open or mapped: till then its number is not given to another
 * @returns whether the file of that name is still this one
 */
export function isStill(path: string, file: Pick<Stats, 'ino' | 'dev'>): () => Promise<boolean> {
  return async () => {
    const found = await stat(path).catch(absent);
    return found !== null && found.ino === file.ino && found.dev === file.dev;
  };
}

/** For what may be gone by the time it is looked at. */
export function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
