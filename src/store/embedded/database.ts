/** How lmdb-js is asked for an environment: what it would do by itself is not what is relied on here. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Database, open } from 'lmdb';
import { refuseFullDisk } from './disk-room.js';

/** Far more than reads at one time. */
const READERS_MAX = 126;

export interface DatabaseOptions {
  readonly folder: string;
  readonly mapBytes: number;
  readonly durable: boolean;
  readonly readOnly?: boolean;
}

/** @throws Error of lmdb when it cannot be opened; StoreRefused when it is to be made, and the disk is full */
export function openDatabase(options: DatabaseOptions): Database<Buffer, Buffer> {
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
