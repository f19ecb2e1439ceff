/**
 * One lmdb environment of the data folder, open in one process: ordered records, written in transactions. A second
 * process that opens it meanwhile would lose what is written.
 *
 * What lmdb-js offers beyond that is left alone. A synchronous transaction, or one that runs a callback, waits in the
 * event loop, and commits what else was queued half-way. A buffer that points into the map is not ours to keep.
 */

import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, open } from 'lmdb';
import { startTimer, stopTimer } from '../../lib/time.js';
import { newStamp } from '../entry-stamp.js';
import { type StoreHealth, StoreUnavailable } from '../port.js';
import type { StoreLog } from '../refused.js';
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

/** The longest key, bytes. */
export const KEY_MAX_BYTES = 511;

const WRITE_TIMEOUT_MS = 5_000;

export interface EnvironmentOptions {
  /** The folder of the environment; made when it is not there. It holds `data.mdb` and `lock.mdb`. */
  readonly folder: string;
  /** Address space set aside, bytes; the file is only as large as what is in it, and the map grows by itself. */
  readonly mapBytes: number;
  /** False: a write that is acknowledged may be lost with the machine, though not with the process. */
  readonly durable: boolean;
  readonly readOnly?: boolean;
  /** Longest time a write takes, milliseconds. */
  readonly timeoutMs?: number;
  /** Looked at before each write, which is refused unless it is true. */
  readonly held?: () => Promise<boolean>;
  readonly logger: StoreLog;
}

export interface StoredRecord {
  readonly key: Buffer;
  readonly value: Buffer;
}

export interface RecordWrite {
  readonly key: Buffer;
  /** Null deletes; nothing happens where there is nothing. Must not be written to afterwards. */
  readonly value: Buffer | null;
}

export interface RangeOptions {
  /** The first key. */
  readonly from: Buffer;
  /** Exclusive. */
  readonly to: Buffer;
  readonly limit?: number;
  /** From the end; the same keys. */
  readonly reverse?: boolean;
}

/** Records by their keys. */
export interface Reader {
  /** @throws RecordDamaged */
  get(key: Buffer): Buffer | null;
  /** Whether there is one, damaged or not. */
  has(key: Buffer): boolean;
  /** @returns another number for each time the record was written; 0 where there is none */
  stampOf(key: Buffer): number;
}

/** One committed state of the environment. */
export interface View extends Reader {
  /**
   * In the order of the keys.
   * @throws RecordDamaged, unless `onDamaged` is given: then it is told of each, and they are left out
   */
  range(options: RangeOptions, onDamaged?: (error: RecordDamaged) => void): StoredRecord[];
}

export interface Environment {
  /**
   * Shows the latest committed state. The view must not be used once `use` has returned: it
   * cannot be a function that waits.
   */
  read<T>(use: (view: View) => T): T;
  /**
   * Makes all writes in one transaction. Acknowledged when they are committed, and, where the environment is durable, on
   * the disk.
   * @throws RangeError for a key that is empty or too long; nothing is written then
   * @throws StoreUnavailable when they could not be written, with `no-room` when the disk is full; and, never with
   *   `no-room`, when they were not within the time limit: they may then be made later all the same
   */
  write(writes: readonly RecordWrite[]): Promise<void>;
  /**
   * Resolves when no write is under way, those that were given up as late among them.
   * @throws StoreUnavailable when that takes longer than a write may
   */
  settled(): Promise<void>;
  /** What came of the latest write; and not ok from the first damaged record on, which only a restore mends. */
  health(): StoreHealth;
  /**
   * Copies the latest committed state, compacted, into an empty folder. The environment may be written to meanwhile.
   * @throws StoreUnavailable
   */
  backup(to: string): Promise<void>;
  /** Waits for writes under way, but no longer than a write may take. */
  close(): Promise<void>;
}

/** The bytes of a record are not those that were written. */
export class RecordDamaged extends StoreUnavailable {
  constructor(
    folder: string,
    readonly key: Buffer,
    durable: boolean,
  ) {
    const todo = durable
      ? 'restore the folder from a backup'
      : 'nothing has to be restored: what it held is made anew, and a restart empties the folder';
    super(`a record in ${folder} is damaged (its checksum is wrong); ${todo}`);
  }
}

/**
 * Opens an environment, which must have been looked at before: lmdb crashes the process on a file that is damaged.
 * @throws Error of lmdb when it cannot be opened
 */
export async function openEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const { folder, durable, logger } = options;
  const { readOnly = false, timeoutMs = WRITE_TIMEOUT_MS, held = async () => true } = options;
  if (!readOnly) await makeFolders(folder);
  const db = openDatabase(options);
  // The names of its files, too, are to be there after a crash of the machine.
  if (!readOnly) await syncFolder(folder);
  const isOnDisk = durable && !readOnly ? await watchFile(folder) : async () => true;
  const faults = createFaults(folder, logger);
  const room = createDiskRoom(() => freeBytesOf(folder));
  const view = createView(db, (key) => faults.damaged(new RecordDamaged(folder, key, durable)));
  let closed = false;
  const writing = new Set<Promise<unknown>>();
  const copying = new Set<Promise<unknown>>();

  function admit(): void {
    if (closed) throw new StoreUnavailable('the store is closed');
  }

  return {
    read(use) {
      admit();
      db.resetReadTxn();
      return use(view);
    },
    async write(writes) {
      admit();
      for (const { key } of writes) checkKey(key);
      try {
        if (!(await held())) throw new Error('another process has taken over the folder');
        if (!(await isOnDisk()))
          throw new Error(
            'data.mdb was removed or replaced: stop the gateway, and put it back or restore a backup',
          );
        admit();
        const queued = room.take(writes, () => queue(db, writes));
        writing.add(queued);
        const over = () => writing.delete(queued);
        queued.then(over, over);
        await within(timeoutMs, queued);
        faults.written();
      } catch (error) {
        throw faults.failed(await unavailable(folder, error));
      }
    },
    async settled() {
      if (writing.size === 0) return;
      try {
        await within(timeoutMs, Promise.allSettled(writing));
      } catch (error) {
        throw faults.failed(await unavailable(folder, error));
      }
    },
    health: faults.health,
    async backup(to) {
      admit();
      const copied = db.backup(to, true);
      copying.add(copied);
      try {
        await copied;
      } catch (error) {
        throw await unavailable(to, error);
      } finally {
        copying.delete(copied);
      }
    },
    async close() {
      closed = true;
      // lmdb-js throws, with nobody to catch it, where a write is under way when it is closed.
      const closing = Promise.allSettled([...writing, ...copying]).then(() => db.close());
      await within(timeoutMs, closing).catch(() => {
        // Whoever waits for a write that hangs is told by itself; closing must not hang with it.
      });
    },
  };
}

/** What lmdb writes to a file whose name is gone is there for as long as the process is, and no longer. */
async function watchFile(folder: string): Promise<() => Promise<boolean>> {
  const path = join(folder, 'data.mdb');
  return isStill(path, await stat(path));
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

/** All is queued before lmdb's thread sees any of it: so that thread never waits for us, holding the lock of all. */
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
  // Its places of readers are mapped: where the disk has no room for them, the process is ended by SIGBUS.
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
    // A commit then is fsync of the data, then the page that makes it valid: nobody sees what is not on the disk yet.
    overlappingSync: false,
    // With it, lmdb-js makes a promise for each turn that nobody can take, and a full disk would end the process.
    eventTurnBatching: false,
    // Missing in the types of lmdb-js. No transaction begins before all of its writes are queued.
    ...{ permissionsMode: 0o600, batchStartThreshold: Number.MAX_SAFE_INTEGER },
  });
}

/** What is wrong now; logged once when it begins and once when it ends. */
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
    // Also of one that fails when nobody waits for it any more.
    void work.catch(commitError);
  });
}

/** It is still under way, and nothing is known of what becomes of it. */
class WriteLate extends Error {}

async function unavailable(folder: string, error: unknown): Promise<StoreUnavailable> {
  const cause = await commitError(error);
  const text = cause instanceof Error ? cause.message : String(cause);
  // A disk that takes a part of a write and no more shows as a failure of input and output.
  const full = /no space left|disk quota/i.test(text) || (await isDiskLow(folder).catch(() => false));
  if (full && !(error instanceof WriteLate))
    return new StoreUnavailable(`${folder} could not be written: the disk is full (${text})`, 'no-room');
  return new StoreUnavailable(`${folder} could not be written: ${text}`);
}

/** lmdb-js gives the reason as a promise, which rejects, and ends the process where nobody takes it. */
async function commitError(error: unknown): Promise<unknown> {
  if (!(error instanceof Error) || !('commitError' in error)) return error;
  try {
    await error.commitError;
    return error;
  } catch (cause) {
    return cause;
  }
}
