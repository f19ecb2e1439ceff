/** The environment of the cache: where it is found to be damaged it is thrown away, and begins anew. */
import { rm } from 'node:fs/promises';
import type { StoreLog } from '../log.js';
import type { Environment, View } from './environment.js';

/** What lmdb says where pages are missing or wrong; from then on it says the last of them to every read. */
const DAMAGED: ReadonlySet<unknown> = new Set([
  ...[-30_797, -30_796, -30_795, -30_793], // page not found, corrupted, panic, invalid
  -30_782, // bad transaction
]);

/** @param open also called when the folder is not there */
export async function openCacheEnvironment(
  folder: string,
  open: () => Promise<Environment>,
  logger: StoreLog,
) {
  let environment = await open();
  let closed = false;
  let isGone = false;
  let mending: Promise<void> | null = null;

  /** Closed first: lmdb-js gives what is open already to whoever opens the same path. Until then nothing is found. */
  async function beginAnew(): Promise<void> {
    isGone = true;
    try {
      await environment.close();
      await rm(folder, { recursive: true, force: true });
      environment = await open();
      isGone = false;
    } catch (fault) {
      logger.warn({ err: fault, folder }, 'the cache on the disk could not be begun anew; trying again');
    } finally {
      mending = null;
    }
  }

  return {
    read<T>(use: (view: View) => T): T {
      try {
        return environment.read(use);
      } catch (error) {
        if (!closed && mending === null && DAMAGED.has((error as { code?: unknown }).code)) {
          logger.warn({ err: error, folder }, 'the cache on the disk is damaged, and begins empty');
          mending = beginAnew();
        }
        throw error;
      }
    },
    write: (...change: Parameters<Environment['write']>) => environment.write(...change),
    /** Begins anew where that has failed. */
    async retry() {
      if (!isGone || closed) return;
      mending ??= beginAnew();
      await mending;
    },
    async close() {
      closed = true;
      await mending;
      await environment.close();
    },
  };
}
