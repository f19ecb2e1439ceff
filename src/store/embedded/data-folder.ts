/** The folder of GATEWAY_DATA_DIR. */
import { statfsSync } from 'node:fs';
import { access, constants, mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type StoreLog, StoreRefused } from '../refused.js';

/** Files of the store before it was lmdb. */
const EARLIER = ['registry.journal', 'counters.journal', 'documents'];

/** Creates the folder unless it exists. @throws StoreRefused if that fails, or it must not be used */
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
  // Not changed, as it may be a mount or shared. Our files in it are private.
  logger.warn(
    { folder, mode: mode.toString(8) },
    'the data folder is open to other users; mode 700 is safer',
  );
}

async function refuseEarlierForm(folder: string): Promise<void> {
  const names = await readdir(folder);
  const found = EARLIER.filter((name) => names.includes(name));
  if (found.length > 0)
    throw new StoreRefused(
      `the data folder ${folder} holds a store of an earlier form (${found.join(', ')}), which this release does not read: name another folder (GATEWAY_DATA_DIR), or move these away to begin with an empty store`,
    );
}

/**
 * Checks that this user can use an existing folder: lmdb would end the process if it cannot open a file.
 * @param what only the folder (`alone`), or also its files (`all`)
 * @throws StoreRefused naming the folder or file
 */
export async function refuseForeign(folder: string, what: 'alone' | 'all'): Promise<void> {
  const check = (path: string) =>
    access(path, constants.R_OK | constants.W_OK).catch(({ code }: NodeJS.ErrnoException) => {
      if (code !== 'ENOENT')
        throw new StoreRefused(
          `${path} cannot be read and written (${code}): give it to the user that the gateway runs as, with all that is in it`,
        );
    });
  await check(folder);
  if (what === 'alone') return;
  const names = await readdir(folder).catch(nullAt('ENOENT'));
  for (const name of names ?? []) await check(join(folder, name));
}

/** @returns handles a rejection: null for an error with this code; throws others */
export function nullAt(code: string): (error: NodeJS.ErrnoException) => null {
  return (error) => {
    if (error.code === code) return null;
    throw error;
  };
}

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
 * Creates a private folder, with its missing parents, and syncs their names to the disk. Without `recursive`, which never ends
 * in a place such as /proc.
 * @returns whether it was created
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
 * Creates a folder under another name first, so that a folder of the right name is whole, even after a power cut.
 * @param make creates it under the given name, and closes everything
 * @returns whether it was created
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

/** By number in statfs(2). Maps and locks are not shared between their machines, or not in time. */
const REFUSED: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB'],
  [0x517b, 'SMB'],
  [0x01021997, '9p'],
  [0x65735546, 'FUSE'],
  [0x5346414f, 'AFS'],
  [0x00c36400, 'CephFS'],
  [0x0bd00bd0, 'Lustre'],
]);

/** @param type reads the file system's type. @throws StoreRefused */
export async function refuseNetworkFolder(
  folder: string,
  type: (folder: string) => Promise<number> = async (path) => (await statfs(path)).type,
): Promise<void> {
  // Some types are negative, read as signed.
  const name = REFUSED.get((await type(folder)) >>> 0);
  if (name === undefined) return;
  throw new StoreRefused(
    `GATEWAY_DATA_DIR: was ${JSON.stringify(folder)}, on a file system of type ${name}; allowed is a disk of this machine (the store maps its files into memory). Or use Redis (REDIS_URL)`,
  );
}

/** Kept free for writes that must not be refused. */
const DISK_FLOOR_BYTES = 32 * 1024 * 1024;

export async function isDiskLow(folder: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize < DISK_FLOOR_BYTES;
}

const FULL_BELOW_MIB = 8;
/** A disk with less counts as full, as others may fill it between our check and lmdb's write. */
export const FULL_BELOW_BYTES = FULL_BELOW_MIB * 1024 ** 2;

/** While a disk has this much more, its free space is read only every LOOK_EVERY_MS. */
const AMPLE_BYTES = 1024 ** 3;
const LOOK_EVERY_MS = 250;

/** Upper estimate of the pages that a record copies and frees. */
const PAGES_OF_RECORD_BYTES = 16 * 4096;

/**
 * Keeps lmdb from writing to a full disk: in lmdb-js 3.5.6 a failed write overflows a buffer of 100 bytes with its message,
 * and the process is aborted sooner or later.
 * @param freeBytes of the disk; null: unknown
 */
export function createDiskRoom(freeBytes: () => number | null, nowMs: () => number) {
  let takenBytes = 0;
  let [known, lookedAtMs]: [bytes: number | null, number] = [null, Number.NEGATIVE_INFINITY];

  function freeFor(bytes: number): number | null {
    if (known !== null) known -= bytes;
    const isAmple = known !== null && known >= FULL_BELOW_BYTES + AMPLE_BYTES;
    if (!isAmple || nowMs() - lookedAtMs >= LOOK_EVERY_MS) [known, lookedAtMs] = [freeBytes(), nowMs()];
    return known;
  }

  return {
    /** Calls `work` at once when there is room for these writes beside those under way. @throws Error naming the lack of room */
    async take<T>(writes: readonly { readonly value: Buffer | null }[], work: () => Promise<T>): Promise<T> {
      const bytes = writes.reduce(
        (sum, { value }) => sum + 2 * (value?.length ?? 0) + PAGES_OF_RECORD_BYTES,
        0,
      );
      const free = freeFor(bytes);
      if (free !== null && free < FULL_BELOW_BYTES + takenBytes + bytes)
        throw new Error(
          `no space left on the disk: ${free} bytes are free, and ${FULL_BELOW_MIB} MiB have to stay so`,
        );
      takenBytes += bytes;
      try {
        return await work();
      } finally {
        takenBytes -= bytes;
      }
    },
  };
}

/** @throws StoreRefused */
export function refuseFullDisk(folder: string): void {
  const free = freeBytesOf(folder);
  if (free === null || free >= FULL_BELOW_BYTES) return;
  throw new StoreRefused(
    `${folder} cannot be made: its disk is full (${free} bytes are free, ${FULL_BELOW_MIB} MiB are needed): free some, or name a folder on another disk (GATEWAY_DATA_DIR)`,
  );
}

/** Synchronous, so that writes stay in their order; it takes a few microseconds. */
export function freeBytesOf(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    // The folder was deleted, e.g. that of a cache; writes to its open file still work.
    return null;
  }
}
