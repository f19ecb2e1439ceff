/**
 * One lmdb environment of the data folder: ordered records, written in transactions. Only one process may have it open,
 * or writes are lost.
 *
 * Other features of lmdb-js are avoided. A transaction that is synchronous or runs a callback blocks the event loop, and
 * commits other queued writes half-way. A buffer that points into the map must not be kept.
 */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, open } from 'lmdb';
import { startTimer, stopTimer, uptimeMs } from '../../lib/time.js';
import { type StoreHealth, StoreUnavailable } from '../port.js';
import type { StoreLog } from '../refused.js';
import { newStamp } from '../stamp.js';
import {
  createDiskRoom,
  freeBytesOf,
  isDiskLow,
  makeFolders,
  refuseFullDisk,
  syncFolder,
} from './data-folder.js';
import { isStill } from './folder-lock.js';
import { decodeRecord, encodeRecord } from './records.js';

export const KEY_MAX_BYTES = 511;

const WRITE_TIMEOUT_MS = 5_000;

export interface EnvironmentOptions {
  /** Made when it is not there. It holds `data.mdb` and `lock.mdb`. */
  readonly folder: string;
  /** Reserved address space, bytes. The file is only as large as its content, and the map grows by itself. */
  readonly mapBytes: number;
  /** False: an acknowledged write may be lost with the machine, but not with the process. */
  readonly durable: boolean;
  readonly readOnly?: boolean;
  /** Longest time of a write, milliseconds. */
  readonly timeoutMs?: number;
  /** Checked before each write, which is refused unless it is true. */
  readonly held?: () => Promise<boolean>;
  readonly logger: StoreLog;
}

export interface StoredRecord {
  readonly key: Buffer;
  readonly value: Buffer;
}

export interface RecordWrite {
  readonly key: Buffer;
  /** Null deletes. Must not be changed afterwards. */
  readonly value: Buffer | null;
}

export interface RangeOptions {
  readonly from: Buffer;
  /** Exclusive. */
  readonly to: Buffer;
  readonly limit?: number;
  /** From the end; the same keys. */
  readonly reverse?: boolean;
}

export interface Reader {
  /** @throws RecordDamaged */
  get(key: Buffer): Buffer | null;
  /** Whether there is a record, damaged or not. */
  has(key: Buffer): boolean;
  /** @returns another number for each write of the record; 0 where there is none */
  stampOf(key: Buffer): number;
}

/** One committed state of the environment. */
export interface View extends Reader {
  /**
   * In the order of the keys.
   * @param onDamaged called with each damaged record, which is then left out
   * @throws RecordDamaged without `onDamaged`
   */
  range(options: RangeOptions, onDamaged?: (error: RecordDamaged) => void): StoredRecord[];
}

/** The bytes of a record are not those that were written. */
export class RecordDamaged extends StoreUnavailable {
  constructor(
    folder: string,
    readonly key: Buffer,
    durable: boolean,
  ) {
    const remedy = durable
      ? 'restore the folder from a backup'
      : 'nothing has to be restored: its content can be fetched again, and a restart empties the folder';
    super(`a record in ${folder} is damaged (its checksum is wrong); ${remedy}`);
  }
}

export function orDamaged<T>(read: () => T): T | 'damaged' {
  try {
    return read();
  } catch (error) {
    if (error instanceof RecordDamaged) return 'damaged';
    throw error;
  }
}

export type Environment = Awaited<ReturnType<typeof openEnvironment>>;

/**
 * Opens an environment. Its file must have been checked before: lmdb crashes the process on a damaged one.
 * @throws Error of lmdb when it cannot be opened
 */
export async function openEnvironment(options: EnvironmentOptions) {
  const { folder, durable, logger } = options;
  const { readOnly = false, timeoutMs = WRITE_TIMEOUT_MS, held = async () => true } = options;
  if (!readOnly) await makeFolders(folder);
  const db = openDatabase(options);
  // The names of its files must survive a crash of the machine, too.
  if (!readOnly) await syncFolder(folder);
  const path = join(folder, 'data.mdb');
  // Writes to a file whose name is gone would be lost with the process.
  const isOnDisk = durable && !readOnly ? isStill(path, await stat(path)) : async () => true;
  const faults = createFaults(folder, logger);
  const room = createDiskRoom(() => freeBytesOf(folder), uptimeMs);
  const view = createView(db, (key) => faults.damaged(new RecordDamaged(folder, key, durable)));
  let closed = false;
  const writing = new Set<Promise<unknown>>();
  const copying = new Set<Promise<unknown>>();

  function refuseClosed(): void {
    if (closed) throw new StoreUnavailable('the store is closed');
  }
  async function during<T>(underWay: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
    underWay.add(work);
    return await work.finally(() => underWay.delete(work));
  }

  return {
    /** Shows the latest committed state. The view must not be used after `use` has returned, which cannot be async. */
    read<T>(use: (view: View) => T): T {
      refuseClosed();
      db.resetReadTxn();
      return use(view);
    },
    /**
     * Makes all writes in one transaction. Resolves when they are committed and, if durable, on the disk.
     * @throws RangeError for a key that is empty or too long; nothing is written then
     * @throws StoreUnavailable when they could not be written, with `no-room` when the disk is full; or, never with
     *   `no-room`, when they took too long: they may still be made later
     */
    async write(writes: readonly RecordWrite[]): Promise<void> {
      refuseClosed();
      for (const { key } of writes) checkKey(key);
      try {
        // Both at once: each takes a turn of the event loop, which may be long.
        const [isHeld, isStillThere] = await Promise.all([held(), isOnDisk()]);
        if (!isHeld) throw new Error('another process has taken over the folder');
        if (!isStillThere)
          throw new Error(
            'data.mdb was removed or replaced: stop the gateway, and put it back or restore a backup',
          );
        refuseClosed();
        await within(
          timeoutMs,
          during(
            writing,
            room.take(writes, () => queue(db, writes)),
          ),
        );
        faults.written();
      } catch (error) {
        throw faults.failed(await unavailable(folder, error));
      }
    },
    /**
     * Resolves when no write is under way, including those that took too long.
     * @throws StoreUnavailable when that takes longer than a write may
     */
    async settled(): Promise<void> {
      if (writing.size === 0) return;
      try {
        await within(timeoutMs, Promise.allSettled(writing));
      } catch (error) {
        throw faults.failed(await unavailable(folder, error));
      }
    },
    /** The result of the latest write; not ok from the first damaged record on, until the folder is restored. */
    health: faults.health,
    /**
     * Copies the latest committed state, compacted, into an empty folder. Writes may go on meanwhile.
     * @throws StoreUnavailable
     */
    async backup(to: string): Promise<void> {
      refuseClosed();
      await during(copying, db.backup(to, true)).catch(async (error: unknown) => {
        throw await unavailable(to, error);
      });
    },
    /** Waits for writes under way, but no longer than a write may take. */
    async close(): Promise<void> {
      closed = true;
      // lmdb-js throws an error that nobody can catch when it is closed during a write.
      const closing = Promise.allSettled([...writing, ...copying]).then(() => db.close());
      // The caller of a write that hangs is told by that write; closing must not hang as well.
      await within(timeoutMs, closing).catch(() => {});
    },
  };
}

function createView(db: Database<Buffer, Buffer>, damaged: (key: Buffer) => RecordDamaged): View {
  return {
    get(key) {
      const found = db.getEntry(key);
      if (found === undefined) return null;
      const value = decodeRecord(key, found.version ?? 0, found.value);
      if (value === null) throw damaged(key);
      return value;
    },
    has: (key) => db.doesExist(key),
    stampOf: (key) => db.getEntry(key)?.version ?? 0,
    range({ from, to, limit, reverse = false }, onDamaged) {
      const bounds = reverse
        ? { start: to, exclusiveStart: true, end: from, inclusiveEnd: true, reverse }
        : { start: from, end: to };
      const records: StoredRecord[] = [];
      const most = limit === undefined ? {} : { limit };
      for (const { key, value: bytes, version = 0 } of db.getRange({ ...bounds, ...most, versions: true })) {
        const value = decodeRecord(key, version, bytes);
        if (value !== null) records.push({ key, value });
        else if (onDamaged === undefined) throw damaged(key);
        else onDamaged(damaged(key));
      }
      return records;
    },
  };
}

/** Queues all writes before lmdb's thread sees any of them: it must not wait for us while it holds the lock. */
function queue(db: Database<Buffer, Buffer>, writes: readonly RecordWrite[]): Promise<boolean> {
  return db.batch(() => {
    for (const { key, value } of writes) {
      const stamp = newStamp();
      if (value === null) void db.remove(key);
      else void db.put(key, encodeRecord(key, stamp, value), stamp);
    }
  });
}

/** @throws RangeError */
export function checkKey(key: Buffer): void {
  if (key.length < 1 || key.length > KEY_MAX_BYTES) throw new RangeError(`a key of ${key.length} bytes`);
}

/** Far more than reads at one time. */
const READERS_MAX = 126;

/** @throws Error of lmdb when it cannot be opened; StoreRefused when it is to be made, and the disk is full */
function openDatabase(options: EnvironmentOptions): Database<Buffer, Buffer> {
  const { folder, mapBytes, durable, readOnly = false } = options;
  // The table of readers is mapped: without room for it on the disk, SIGBUS ends the process.
  if (!existsSync(join(folder, 'lock.mdb'))) refuseFullDisk(folder);
  return open<Buffer, Buffer>({
    path: folder,
    noSubdir: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    useVersions: true,
    mapSize: mapBytes,
    maxReaders: READERS_MAX,
    readOnly,
    noSync: !durable,
    // A commit is then fsync of the data, and after it the page that makes it valid: readers see only what is on the disk.
    overlappingSync: false,
    // With it, lmdb-js makes a promise that nobody can catch, and a full disk would end the process.
    eventTurnBatching: false,
    // Missing in the types of lmdb-js. No transaction begins before all of its writes are queued.
    ...{ permissionsMode: 0o600, batchStartThreshold: Number.MAX_SAFE_INTEGER },
  });
}

/** Logs each fault once when it begins, and once when it ends. */
function createFaults(folder: string, logger: StoreLog) {
  let writing: string | null = null;
  let damage: string | null = null;
  return {
    written(): void {
      if (writing !== null) logger.info({ path: folder }, 'the store can be written again');
      writing = null;
    },
    failed<E extends Error>(error: E): E {
      if (writing === null) logger.error({ err: error, path: folder }, 'the store could not be written');
      writing = error.message;
      return error;
    },
    damaged<E extends Error>(error: E): E {
      if (damage === null) logger.error({ err: error, path: folder }, 'the store is damaged');
      damage = error.message;
      return error;
    },
    health(): StoreHealth {
      const reason = damage ?? writing;
      return reason === null ? { ok: true } : { ok: false, reason };
    },
  };
}

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = () =>
      reject(
        new WriteLate(`not done within ${ms} ms; the disk is late, or another process has opened the file`),
      );
    const timer = startTimer(late, ms);
    work.then(resolve, reject).finally(() => stopTimer(timer));
    // Also when nobody waits for it any more.
    void work.catch(commitError);
  });
}

/** It is still under way; its outcome is unknown. */
class WriteLate extends Error {}

async function unavailable(folder: string, error: unknown): Promise<StoreUnavailable> {
  const cause = await commitError(error);
  const text = cause instanceof Error ? cause.message : String(cause);
  // A disk that takes only a part of a write shows as a failure of input and output.
  const full = /no space left|disk quota/i.test(text) || (await isDiskLow(folder).catch(() => false));
  if (full && !(error instanceof WriteLate))
    return new StoreUnavailable(`${folder} could not be written: the disk is full (${text})`, 'no-room');
  return new StoreUnavailable(`${folder} could not be written: ${text}`);
}

/** lmdb-js gives the reason as a promise that rejects, and ends the process if nobody catches it. */
async function commitError(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error;
  try {
    await error.commitError;
    return error;
  } catch (cause) {
    return cause;
  }
}
