/** The folder that GATEWAY_DATA_DIR names. */
import { access, constants, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreLog } from '../log.js';
import { StoreRefused } from '../refused.js';
import { refuseNetworkFolder } from './file-system.js';
import { makeFolders } from './folder.js';

/** What the store was made of before it was lmdb. */
const EARLIER = ['registry.journal', 'counters.journal', 'documents'];

/**
 * Makes the folder when it is not there.
 * @throws StoreRefused when it cannot be made, or must not be used
 */
export async function openDataFolder(folder: string, logger: StoreLog): Promise<void> {
  const made = await makeFolders(folder).catch((error: NodeJS.ErrnoException) => {
    throw new StoreRefused(
      `GATEWAY_DATA_DIR: was ${JSON.stringify(folder)}; allowed is a folder that is there or can be made (${error.code})`,
    );
  });
  await refuseForeign(folder, 'alone');
  await refuseNetworkFolder(folder);
  await refuseEarlierForm(folder);
  if (made) return;
  const mode = (await stat(folder)).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  // Not ours to change: it may be a mount, or serve others too. What we put there only we can read.
  logger.warn(
    { folder, mode: mode.toString(8) },
    'the data folder is open to other users; mode 700 is safer',
  );
}

async function refuseEarlierForm(folder: string): Promise<void> {
  const names = await readdir(folder);
  const found = EARLIER.filter((name) => names.includes(name));
  if (found.length === 0) return;
  throw new StoreRefused(
    `the data folder ${folder} holds a store of an earlier form (${found.join(', ')}), which this release does not read: name another folder (GATEWAY_DATA_DIR), or move these away to begin with an empty store`,
  );
}

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
  const error = await access(path, constants.R_OK | constants.W_OK).then(
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
