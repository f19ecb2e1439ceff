/** The folder of the cache, which can be fetched again: its faults never prevent a start. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.js';
import type { StoreLog } from '../refused.js';
import { checkDataFile } from './data-file.js';
import { isDiskLow, makeFolders, refuseForeign } from './data-folder.js';
import { createDiskCache, type Generations } from './disk-cache.js';
import { type Environment, openEnvironment } from './environment.js';
import { createTable, type Table } from './table.js';

/** Interval of checks for free disk space. */
const ROOM_EVERY_MS = 10_000;
/** Bytes written before the size of the file is checked again, as a share of a generation's bound. */
const LOOK_AFTER_PART = 1 / 16;
const TIMEOUT_MS = 2_000;
/** Address space beyond the bound of a generation (one of the two environments of the cache). */
const MAP_SPARE_BYTES = 256 * 1024 ** 2;
/** Form of the records, in the names of the generations' folders: those of another form are deleted. */
const FORM = 3;
const NAME = new RegExp(`^${FORM}-(\\d{1,15})$`);

/** Errors of lmdb for missing or wrong pages; after the first one, every read fails. */
const DAMAGED: ReadonlySet<unknown> = new Set([
  ...[-30_797, -30_796, -30_795, -30_793], // page not found, corrupted, panic, invalid
  -30_782, // bad transaction
]);

interface Generation {
  readonly number: number;
  readonly folder: string;
  readonly environment: Environment;
  readonly table: Table;
}

/**
 * Damaged generations, and files of another form, are deleted with a warning.
 * @param maxBytes approximate size of both generations on the disk
 */
export async function openCacheFolder(dataDir: string, maxBytes: number, clock: Clock, logger: StoreLog) {
  const folder = join(dataDir, 'cache');
  let closed = false;
  /** Both generations were deleted, and no new one could be made. */
  let isGone = false;
  let replacing: Promise<void> | null = null;
  let unseenBytes = 0;
  let [hasRoom, lookedAtMs] = [!(await isDiskLow(dataDir)), clock.monotonicMs()];

  async function open(number: number): Promise<Generation> {
    const path = join(folder, `${FORM}-${number}`);
    const environment = await openEnvironment({
      folder: path,
      mapBytes: maxBytes + MAP_SPARE_BYTES,
      durable: false,
      timeoutMs: TIMEOUT_MS,
      logger,
    });
    const read: Environment['read'] = (use) => {
      try {
        return environment.read(use);
      } catch (error) {
        if (!closed && DAMAGED.has((error as { code?: unknown }).code)) {
          if (replacing === null) logger.warn({ err: error, folder: path }, BEGINS_EMPTY);
          void replace(beginAnew);
        }
        throw error;
      }
    };
    return { number, folder: path, environment, table: createTable({ ...environment, read }) };
  }

  const numbers = await generationsIn(folder, logger);
  let newer = await open(numbers.at(-1) ?? 1);
  let older = numbers.length < 2 ? null : await open(numbers[0] as number);

  /** Runs one replacement at a time. One requested meanwhile is dropped, as its cause shows again. */
  function replace(work: () => Promise<void>): Promise<void> {
    replacing ??= work()
      .catch((error: unknown) => {
        logger.warn({ err: error, folder }, COULD_NOT_REPLACE);
      })
      .finally(() => {
        replacing = null;
      });
    return replacing;
  }

  async function remove({ environment, folder }: Generation): Promise<void> {
    await environment.close();
    await rm(folder, { recursive: true, force: true });
  }

  async function beginAnew(): Promise<void> {
    isGone = true;
    await Promise.all([newer, ...(older === null ? [] : [older])].map(remove));
    older = null;
    newer = await open(newer.number + 1);
    isGone = false;
  }

  async function rotateWhenFull(): Promise<void> {
    const { size } = await stat(join(newer.folder, 'data.mdb'));
    if (size <= maxBytes / 2) return;
    const [next, over] = [await open(newer.number + 1), older];
    [newer, older] = [next, newer];
    if (over !== null) await remove(over);
  }

  const generations = (): Generations => (older === null ? [newer.table] : [newer.table, older.table]);

  return {
    generations,
    cache: createDiskCache({
      clock,
      generations,
      async hasRoom() {
        await replacing;
        if (clock.monotonicMs() - lookedAtMs >= ROOM_EVERY_MS) {
          lookedAtMs = clock.monotonicMs();
          hasRoom = !(await isDiskLow(dataDir));
          if (isGone && !closed) await replace(beginAnew);
        }
        return hasRoom;
      },
      onWritten(bytes) {
        unseenBytes += bytes;
        if (unseenBytes < (maxBytes / 2) * LOOK_AFTER_PART || closed) return;
        unseenBytes = 0;
        void replace(rotateWhenFull);
      },
    }),
    async close() {
      closed = true;
      await replacing;
      await Promise.all([newer, older].map((one) => one?.environment.close()));
    },
  };
}

const BEGINS_EMPTY = 'the cache on the disk is damaged, and begins empty';
const COULD_NOT_REPLACE =
  'could not begin the cache on the disk anew, trying again; check the free space of the disk and the owner of the folder';

/** Deletes damaged and older generations, and other files. @returns the numbers of at most two generations, in order */
async function generationsIn(folder: string, logger: StoreLog): Promise<number[]> {
  await makeFolders(folder);
  const names = await readdir(folder);
  const all = names.flatMap((name) => NAME.exec(name)?.[1] ?? []).map(Number);
  const last = all.sort((one, other) => one - other).slice(-2);
  const kept: number[] = [];
  for (const number of last) if (await isWhole(join(folder, `${FORM}-${number}`), logger)) kept.push(number);
  const others = names.filter((name) => !kept.some((number) => name === `${FORM}-${number}`));
  if (others.some((name) => !NAME.test(name)))
    logger.warn({ folder }, 'the cache on the disk is of another release, and begins empty');
  for (const name of others) await rm(join(folder, name), { recursive: true, force: true });
  return kept;
}

/** @throws StoreRefused for a folder of another user, which cannot be deleted */
async function isWhole(folder: string, logger: StoreLog): Promise<boolean> {
  await refuseForeign(folder, 'alone');
  try {
    // lmdb would crash the process on a damaged or foreign file.
    await refuseForeign(folder, 'all');
    checkDataFile(join(folder, 'data.mdb'));
    return true;
  } catch (error) {
    logger.warn({ err: error, folder }, BEGINS_EMPTY);
    return false;
  }
}
