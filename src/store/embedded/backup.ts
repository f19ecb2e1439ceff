/** Backups of the embedded store: made by the process that has it open, restored while no process has. */
import { chmod, copyFile, mkdir, mkdtemp, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { BackupTargetRefused, type StoreLog, StoreRefused } from '../refused.js';
import { nullAt, openDataFolder, refuseForeign, syncFolder } from './data-folder.js';
import { openState, refuseDamage, refuseOtherSchema, stateFolder } from './durable-folders.js';
import type { Environment } from './environment.js';
import { lockFolder } from './folder-lock.js';

const SILENT: StoreLog = { info() {}, warn() {}, error() {} };
const FILE = 'data.mdb';

const historyFolder = (folder: string) => join(folder, 'history');

/**
 * Copies state and history, each of one moment, compacted, into a new folder, while both may be written.
 * @param target created; holds `data.mdb`, and `history/data.mdb` with a history
 * @param history null: only the state, which is small
 * @param begin called before the copy, if the folder can be created
 * @throws BackupTargetRefused, StoreRefused if the copy is damaged; it is then removed
 */
export async function copyStore(
  target: string,
  state: Pick<Environment, 'backup'>,
  history: Pick<Environment, 'backup'> | null,
  begin: () => Promise<void> = async () => {},
): Promise<void> {
  const draft = await makeDraft(target);
  try {
    await begin();
    await copyWhole(state, draft, 'state');
    if (history !== null) {
      await mkdir(historyFolder(draft), { mode: 0o700 });
      await copyWhole(history, historyFolder(draft), 'history');
    }
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  }
  await syncFolder(dirname(target));
}

/** Beside the target, under another name, so that a folder of the right name is complete. */
async function makeDraft(target: string): Promise<string> {
  if (!isAbsolute(target)) throw new BackupTargetRefused(target, 'which is not absolute');
  const found = await isThere(target).catch(() => true);
  if (found) throw new BackupTargetRefused(target, 'which is there already');
  return await mkdtemp(`${target}.part-`).catch(({ code }: NodeJS.ErrnoException) => {
    throw new BackupTargetRefused(target, `which cannot be made (${code})`);
  });
}

async function copyWhole(source: Pick<Environment, 'backup'>, draft: string, kind: Kind): Promise<void> {
  await source.backup(draft);
  const wayOut = kind === 'history' ? '; --without-history copies all else' : '';
  const advice = `So is the ${kind} of the store, unless the disk of the copy is at fault${wayOut}`;
  await settle(draft, kind, advice);
}

/** Copies a store that no process has open. @throws StoreRefused if there is none, or it is damaged; FolderInUse */
export async function backupState(dataDir: string, target: string, withHistory = true): Promise<void> {
  const data = resolve(dataDir);
  if (!(await isThere(join(stateFolder(data), FILE))))
    throw new StoreRefused(`there is no embedded store in ${dataDir}`);
  const lock = await lockFolder(data, { logger: SILENT });
  const opened: Environment[] = [];
  async function openWhole(folder: string, wayOut = ''): Promise<Environment> {
    await refuseForeign(folder, 'all');
    // lmdb would crash the process on a file that is damaged.
    await refuseDamage(folder, `Nothing was copied${wayOut}`);
    const environment = await openState(folder, { logger: SILENT, readOnly: true });
    opened.push(environment);
    return environment;
  }
  try {
    const state = await openWhole(stateFolder(data));
    const hasHistory = withHistory && (await isThere(join(historyFolder(data), FILE)));
    const history = hasHistory
      ? await openWhole(historyFolder(data), '; --without-history copies all else')
      : null;
    await copyStore(target, state, history);
  } finally {
    await Promise.all(opened.map((one) => one.close()));
    await lock.release();
  }
}

/**
 * Restores a copy, and sets the current folders aside. A copy without a history does not change the history.
 * @param nowMs distinguishes folders set aside
 * @returns the folders that were set aside; null: there was none
 * @throws StoreRefused, without a change, if the folder is in use, or the copy is missing or damaged
 */
export async function restoreState(dataDir: string, source: string, nowMs: number) {
  const folder = resolve(dataDir);
  if (!(await isThere(join(source, FILE)))) throw new StoreRefused(`${source} holds no backup (no ${FILE})`);
  await openDataFolder(folder, SILENT);
  const lock = await lockFolder(folder, { logger: SILENT });
  try {
    const hasHistory = await isThere(join(historyFolder(source), FILE));
    // Both are complete before either is moved to its place.
    const state = await draftOf(stateFolder(folder), source, 'state');
    const history = hasHistory
      ? await draftOf(historyFolder(folder), historyFolder(source), 'history')
      : async () => null;
    const aside = { state: await state(nowMs), history: await history(nowMs) };
    await syncFolder(folder);
    return aside;
  } finally {
    await lock.release();
  }
}

/** @returns replaces the current folder, and returns where that was set aside */
async function draftOf(folder: string, source: string, kind: Kind) {
  const draft = `${folder}.new`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await copyFile(join(source, FILE), join(draft, FILE));
  await settle(draft, kind, 'The copy is of no use; nothing was changed');
  return async (nowMs: number): Promise<string | null> => {
    const aside = (await isThere(folder)) ? `${folder}.before-${nowMs}` : null;
    if (aside !== null) await rename(folder, aside);
    await rename(draft, folder);
    return aside;
  };
}

type Kind = 'state' | 'history';

/** Makes sure that a copy is whole, private, and on the disk. @param advice if it is damaged */
async function settle(folder: string, kind: Kind, advice: string): Promise<void> {
  const path = join(folder, FILE);
  await chmod(path, 0o600);
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  await refuseDamage(folder, advice);
  if (kind === 'state') {
    const environment = await openState(folder, { logger: SILENT, readOnly: true });
    try {
      refuseOtherSchema(folder, environment);
    } finally {
      await environment.close();
    }
  }
  await rm(join(folder, 'lock.mdb'), { force: true });
  await syncFolder(folder);
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(nullAt('ENOENT'))) !== null;
}
