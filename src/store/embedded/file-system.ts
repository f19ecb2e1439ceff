import { statfs } from 'node:fs/promises';
import { StoreRefused } from '../refused.js';

/** As statfs(2) tells them. On these, a map and a lock of one machine mean nothing to another, or not in time. */
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

/**
 * @param type finds out the type of the file system that a folder lies on
 * @throws StoreRefused
 */
export async function refuseNetworkFolder(
  folder: string,
  type: (folder: string) => Promise<number> = async (path) => (await statfs(path)).type,
): Promise<void> {
  // Some types do not fit into 31 bits, and come out negative where they are read as signed.
  const name = REFUSED.get((await type(folder)) >>> 0);
  if (name === undefined) return;
  throw new StoreRefused(
    `GATEWAY_DATA_DIR: was ${JSON.stringify(folder)}, on a file system of type ${name}; allowed is a disk of this machine (the store maps its files into memory). Or use Redis (REDIS_URL)`,
  );
}

/** What is left free for what must not be refused, bytes. */
const DISK_FLOOR_BYTES = 32 * 1024 * 1024;

/** Whether less than the floor is free where the folder lies. */
export async function isDiskLow(folder: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize < DISK_FLOOR_BYTES;
}
