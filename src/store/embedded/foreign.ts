import { access, constants, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { StoreRefused } from '../refused.js';

const { R_OK, W_OK } = constants;

/**
 * Looks whether this user can use a folder that is there: lmdb would end the process over a file that it cannot open.
 * @param what the folder alone, or `all` that lies in it too
 * @throws StoreRefused naming what cannot be read and written
 */
export async function refuseForeign(folder: string, what: 'alone' | 'all'): Promise<void> {
  await refuse(folder);
  if (what === 'alone') return;
  const names = await readdir(folder).catch(absent);
  for (const name of names ?? []) await refuse(join(folder, name));
}

async function refuse(path: string): Promise<void> {
  const error = await access(path, R_OK | W_OK).then(
    () => null,
    (reason: NodeJS.ErrnoException) => reason,
  );
  if (error === null || error.code === 'ENOENT') return;
  throw new StoreRefused(
    `${path} cannot be read and written (${error.code}): give it to the user that the gateway runs as, with all that is in it`,
  );
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}
