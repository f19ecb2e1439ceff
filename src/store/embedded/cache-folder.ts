/** The folder of the cache: nothing in it cannot be fetched again, so what is wrong with it is no reason not to start. */
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.js';
import { repeat } from '../../lib/repeat.js';
import { turn } from '../../lib/time.js';
import type { StoreLog } from '../refused.js';
import { decodeEnd, endsAfter, readEnd } from './cache-records.js';
import { checkDataFile } from './data-file.js';
import { isDiskLow, refuseForeign } from './data-folder.js';
import {
  type Environment,
  openEnvironment,
  type RecordWrite,
  type StoredRecord,
  type View,
} from './environment.js';
import { createLmdbCache } from './lmdb-cache.js';
import { bodyNameOf, removalsOfBody } from './read-entries.js';

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

interface CacheFolderOptions {
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

/** The environment of the cache: where it is found to be damaged it is thrown away, and begins anew. */

/** What lmdb says where pages are missing or wrong; from then on it says the last of them to every read. */
const DAMAGED: ReadonlySet<unknown> = new Set([
  ...[-30_797, -30_796, -30_795, -30_793], // page not found, corrupted, panic, invalid
  -30_782, // bad transaction
]);

/** @param open also called when the folder is not there */
async function openCacheEnvironment(folder: string, open: () => Promise<Environment>, logger: StoreLog) {
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
      logger.warn({ err: fault, folder }, 'could not recreate the cache on the disk; trying again');
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

/** Small, so that no write waits long for one of a sweep. */
const AT_ONCE = 200;
/** Beyond the bound it goes down to this part of it, so that writes seldom have to wait for a sweep. */
const DOWN_TO = 0.9;

interface CacheSweepOptions {
  readonly environment: Pick<Environment, 'read' | 'write'>;
  /** Bytes that all entries may take on the disk. */
  readonly maxBytes: number;
  readonly clock: Clock;
}

/**
 * Removes what is over, and, where there is more than there may be, what ends next.
 * @returns bytes that are left
 */
export async function sweepCache({ environment, maxBytes, clock }: CacheSweepOptions): Promise<number> {
  const nowMs = clock.now();
  let left = 0;
  for await (const ends of endsInTurns(environment)) {
    const [over, kept] = [[] as StoredRecord[], [] as StoredRecord[]];
    for (const end of ends) (readEnd(end.key).endsAtMs <= nowMs ? over : kept).push(end);
    await removeEnded(environment, over);
    left += sizeOf(kept);
  }
  if (left <= maxBytes) return left;
  for await (const ends of endsInTurns(environment)) {
    await removeEnded(environment, ends);
    left -= sizeOf(ends);
    if (left <= maxBytes * DOWN_TO) break;
  }
  return left;
}

/** The index, from the earliest end on, a few at a time; others get a turn in between. */
async function* endsInTurns(environment: Pick<Environment, 'read'>): AsyncGenerator<StoredRecord[]> {
  let last: Buffer | null = null;
  for (;;) {
    const bounds = endsAfter(last);
    const damaged: Buffer[] = [];
    const ends = environment.read((view) =>
      view.range({ ...bounds, limit: AT_ONCE }, ({ key }) => damaged.push(key)),
    );
    // One whose size is damaged still says what it is the end of.
    const all = [...ends, ...damaged.map((key) => ({ key, stamp: 0, value: Buffer.alloc(0) }))];
    if (all.length === 0) return;
    last = all.map(({ key }) => key).reduce((one, other) => (Buffer.compare(one, other) > 0 ? one : other));
    yield all;
    await turn();
  }
}

function sizeOf(ends: readonly StoredRecord[]): number {
  return ends.reduce((sum, { value }) => sum + decodeEnd(value), 0);
}

/** Without a look at what ends: the index says which it is. An entry that is written anew just then is fetched again. */
async function removeEnded(
  environment: Pick<Environment, 'write'>,
  ends: readonly StoredRecord[],
): Promise<void> {
  if (ends.length === 0) return;
  const removals = ends.flatMap(({ key }): RecordWrite[] => {
    const { endsAtMs, of } = readEnd(key);
    const bodyName = bodyNameOf(of);
    if (bodyName !== null) return removalsOfBody(bodyName, endsAtMs);
    return [key, of].map((one) => ({ key: one, value: null }));
  });
  await environment.write(null, removals);
}
