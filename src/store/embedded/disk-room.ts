/**
 * Keeps lmdb from writing to a disk that has no room. Of lmdb-js 3.5.6 a write that fails spoils the heap: it puts its
 * message, with numbers from beyond what it wrote, into 100 bytes, and the process is aborted now or later.
 */
import { statfsSync } from 'node:fs';
import { StoreRefused } from '../refused.js';

const FULL_BELOW_MIB = 8;
/** What others may take of the disk between our look and lmdb's write. A disk with less counts as full. */
export const FULL_BELOW_BYTES = FULL_BELOW_MIB * 1024 ** 2;

/** Pages that are copied on the way to one record, and noted as free: far more than there are. */
const PAGES_OF_RECORD_BYTES = 16 * 4096;

interface Written {
  readonly value: Buffer | null;
  readonly front?: Buffer;
}

interface DiskRoom {
  /**
   * Calls `work` when there is room for these writes, beside those that are under way. Calls are begun in their order.
   * @throws Error that names the lack of room
   */
  take<T>(writes: readonly Written[], work: () => Promise<T>): Promise<T>;
}

/** @param freeBytes of the disk, null where it is not known */
export function createDiskRoom(freeBytes: () => number | null): DiskRoom {
  let takenBytes = 0;
  return {
    async take(writes, work) {
      const bytes = writes.reduce(
        (sum, { value, front }) =>
          sum + 2 * ((value?.length ?? 0) + (front?.length ?? 0)) + PAGES_OF_RECORD_BYTES,
        0,
      );
      const free = freeBytes();
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

/**
 * To be called before files are made.
 * @throws StoreRefused
 */
export function refuseFullDisk(folder: string): void {
  const free = freeBytesOf(folder);
  if (free === null || free >= FULL_BELOW_BYTES) return;
  throw new StoreRefused(
    `${folder} cannot be made: its disk is full (${free} bytes are free, ${FULL_BELOW_MIB} MiB are needed): free some, or name a folder on another disk (GATEWAY_DATA_DIR)`,
  );
}

/** At once, so that writes stay in their order; a few microseconds on a disk of this machine. */
export function freeBytesOf(folder: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  } catch {
    // The folder was thrown away, as that of a cache may be: its open file is written all the same.
    return null;
  }
}
