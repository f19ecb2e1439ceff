/** The environment of the cache: it may be thrown away while processes use it, and each of them then begins anew. */
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreLog } from '../log.js';
import { createTurns } from '../turns.js';
import type { Environment } from './environment.js';

export interface CacheEnvironment extends Pick<Environment, 'read' | 'write' | 'clearDeadReaders' | 'close'> {
  /** After a crash: throws away what lies on the disk. Other processes find that out by {@link follow}. */
  discard(): Promise<void>;
  /** Opens what another process has begun anew, if one has. */
  follow(): Promise<void>;
}

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
): Promise<CacheEnvironment> {
  let environment = await open();
  let file = await fileIn(folder);
  let closed = false;
  let isMending = false;
  const turns = createTurns();

  /** Closed first: lmdb-js gives what is open already to whoever opens the same path. Until then nothing is found. */
  async function begin(prepare: () => Promise<void>): Promise<void> {
    if (closed) return;
    file = null;
    await environment.close();
    await prepare();
    environment = await open();
    file = await fileIn(folder);
  }

  const follow = async (): Promise<boolean> => {
    if (file !== null && (await fileIn(folder)) === file) return false;
    await begin(async () => {});
    return true;
  };
  const clear = () => begin(() => rm(folder, { recursive: true, force: true }));

  /** Whoever finds the damage first throws it away; not what another has put in its place since. */
  async function damaged(error: unknown): Promise<void> {
    if (closed || isMending) return;
    isMending = true;
    try {
      await turns('', async () => {
        if (await follow()) return;
        logger.warn({ err: error, folder }, 'the cache on the disk is damaged, and begins empty');
        await clear();
      });
    } catch (fault) {
      logger.warn({ err: fault, folder }, 'the cache on the disk could not be begun anew; trying again');
    } finally {
      isMending = false;
    }
  }

  return {
    read(use) {
      try {
        return environment.read(use);
      } catch (error) {
        if (DAMAGED.has((error as { code?: unknown }).code)) void damaged(error);
        throw error;
      }
    },
    write: (condition, writes) => environment.write(condition, writes),
    clearDeadReaders: () => environment.clearDeadReaders(),
    discard: () =>
      turns('', async () => {
        logger.warn({ folder }, 'a process crashed, maybe over the cache on the disk, which begins empty');
        await clear();
      }),
    async follow() {
      await turns('', follow);
    },
    close: () =>
      turns('', async () => {
        closed = true;
        await environment.close();
      }),
  };
}

/** Another for another file, though it has the same name. */
async function fileIn(folder: string): Promise<string | null> {
  const found = await stat(join(folder, 'data.mdb')).catch(() => null);
  return found && `${found.dev} ${found.ino}`;
}
