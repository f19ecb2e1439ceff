/** The folder of the cache: nothing in it cannot be fetched again, so what is wrong with it is no reason not to start. */
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.js';
import { repeat } from '../../repeat.js';
import type { StoreLog } from '../log.js';
import { openCacheEnvironment } from './cache-environment.js';
import { sweepCache } from './cache-sweep.js';
import { checkDataFile } from './data-file.js';
import { refuseForeign } from './data-folder.js';
import { type Environment, openEnvironment } from './environment.js';
import { isDiskLow } from './file-system.js';
import { createLmdbCache } from './lmdb-cache.js';

const EVERY_MS = 30_000;
/** Written since the last sweep, as a part of the bound, that calls for another one. */
const SWEEP_AFTER_PART = 1 / 16;
/** A cache that is slow is none. */
const TIMEOUT_MS = 2_000;
/** Address space beyond what is counted: pages that are half empty, or wait to be used again. */
const MAP_SPARE_BYTES = 256 * 1024 ** 2;

/** Changes with the form of the records. */
const FORM = Buffer.from('2');
const FORM_KEY = Buffer.from('F');

export interface CacheFolderOptions {
  readonly dataDir: string;
  readonly maxBytes: number;
  readonly clock: Clock;
  readonly logger: StoreLog;
}

/** Opens the cache; a file that is damaged, or of another form, is deleted, with a warning. */
export async function openCacheFolder(options: CacheFolderOptions) {
  const { dataDir, maxBytes, clock, logger } = options;
  const folder = join(dataDir, 'cache');
  await clearDamaged(folder, logger);
  const environment = await openCacheEnvironment(folder, () => openForm(folder, options), logger);
  const state = { hasRoom: !(await isDiskLow(dataDir)), writtenBytes: 0 };
  const sweep = repeat(EVERY_MS, async () => {
    state.writtenBytes = 0;
    try {
      state.hasRoom = !(await isDiskLow(dataDir));
      await environment.retry();
      await sweepCache({ environment, maxBytes, clock });
    } catch (error) {
      logger.warn({ err: error }, 'cache entries that are over could not be removed');
    }
  });
  return {
    cache: createLmdbCache({
      environment,
      clock,
      hasRoom: () => state.hasRoom,
      onWritten(bytes) {
        state.writtenBytes += bytes;
        if (state.writtenBytes <= maxBytes * SWEEP_AFTER_PART) return;
        state.writtenBytes = 0;
        sweep.now();
      },
    }),
    async close() {
      await sweep.stop();
      await environment.close();
    },
  };
}

async function clearDamaged(folder: string, logger: StoreLog): Promise<void> {
  if ((await stat(folder).catch(() => null)) === null) return;
  try {
    // lmdb would crash the process on a file that is damaged, or is somebody else's.
    await refuseForeign(folder, 'all');
    checkDataFile(join(folder, 'data.mdb'));
  } catch (error) {
    logger.warn({ err: error, folder }, 'the cache on the disk is damaged, and begins empty');
    await rm(folder, { recursive: true, force: true });
  }
}

async function openForm(folder: string, options: CacheFolderOptions): Promise<Environment> {
  const { maxBytes, logger } = options;
  const open = () =>
    openEnvironment({
      folder,
      mapBytes: 2 * maxBytes + MAP_SPARE_BYTES,
      durable: false,
      timeoutMs: TIMEOUT_MS,
      logger,
    });
  const environment = await open();
  const form = environment.read((view) => view.get(FORM_KEY))?.value;
  if (form?.equals(FORM)) return environment;
  if (form === undefined) return await begin(environment);
  logger.warn({ folder }, 'the cache on the disk is of another release, and begins empty');
  await environment.close();
  await rm(folder, { recursive: true, force: true });
  return await begin(await open());
}

async function begin(environment: Environment): Promise<Environment> {
  await environment.write(null, [{ key: FORM_KEY, value: FORM }]);
  return environment;
}
