/** Copies of what the embedded store holds durably: made while the gateway runs, put back while it does not. */
import { chmod, copyFile, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { StoreLog } from '../log.js';
import { StoreRefused } from '../refused.js';
import { openDataFolder, refuseForeign } from './data-folder.js';
import { syncFolder } from './folder.js';
import { lockFolder } from './folder-lock.js';
import { copyState, openState, refuseDamage, refuseOtherSchema, stateFolder } from './state-folder.js';

const SILENT: StoreLog = { info() {}, warn() {}, error() {} };
const FILE = 'data.mdb';

/**
 * Copies the state of one moment, compacted, into a new folder. The gateway may run.
 * @param target made here; holds one file, `data.mdb`
 * @throws StoreRefused when there is no store, it is damaged, or the target is there already
 */
export async function backupState(dataDir: string, target: string): Promise<void> {
  const folder = stateFolder(resolve(dataDir));
  if (!(await isThere(join(folder, FILE))))
    throw new StoreRefused(`there is no embedded store in ${dataDir}`);
  if (await isThere(target)) throw new StoreRefused(`${target} is there already: name a folder that is not`);
  await refuseForeign(folder, 'all');
  const draft = `${target}.part`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await copyState(folder, draft);
  await settle(draft, `So is what it was copied from, ${folder}, unless the disk of the copy is at fault`);
  await rename(draft, target);
  await syncFolder(resolve(target, '..'));
}

/**
 * Puts a copy in the place of what is there, which is kept beside it. The gateway must not run.
 * @param nowMs tells folders set aside apart
 * @returns where what was there before is now; null when there was nothing
 * @throws StoreRefused when the folder is in use, or the copy is none or damaged; nothing is changed then
 */
export async function restoreState(dataDir: string, source: string, nowMs: number): Promise<string | null> {
  const folder = resolve(dataDir);
  if (!(await isThere(join(source, FILE)))) throw new StoreRefused(`${source} holds no backup (no ${FILE})`);
  await openDataFolder(folder, SILENT);
  const lock = await lockFolder(folder, { logger: SILENT });
  try {
    const draft = `${stateFolder(folder)}.new`;
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { mode: 0o700 });
    await copyFile(join(source, FILE), join(draft, FILE));
    await settle(draft, 'The copy is of no use; nothing was changed');
    const aside = await setAside(stateFolder(folder), `${stateFolder(folder)}.before-${nowMs}`);
    await rename(draft, stateFolder(folder));
    await syncFolder(folder);
    return aside;
  } finally {
    await lock.release();
  }
}

/**
 * Sees to it that a copy is whole, readable by us alone, and on the disk.
 * @param advice what follows when it is damaged
 */
async function settle(folder: string, advice: string): Promise<void> {
  const path = join(folder, FILE);
  await chmod(path, 0o600);
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  await refuseDamage(folder, advice);
  const environment = await openState(folder, { logger: SILENT, readOnly: true });
  try {
    refuseOtherSchema(folder, environment);
  } finally {
    await environment.close();
  }
  await rm(join(folder, 'lock.mdb'), { force: true });
  await syncFolder(folder);
}

async function setAside(folder: string, to: string): Promise<string | null> {
  if (!(await isThere(folder))) return null;
  await rename(folder, to);
  return to;
}

async function isThere(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
}
