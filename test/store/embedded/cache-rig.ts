/** The disk cache alone, with a look at what it does there. */
import { join } from 'node:path';
import { open as openLmdb } from 'lmdb';
import { createDiskCache } from '../../../src/store/embedded/disk-cache.js';
import { type Environment, openEnvironment, type View } from '../../../src/store/embedded/environment.js';
import { createTable, type Table } from '../../../src/store/embedded/table.js';
import type { CacheStore, CacheWrite } from '../../../src/store/port.js';
import { createStandingClock, MINUTE, type TestClock } from '../../support/test-clock.js';
import { createTestLog } from '../test-log.js';
import { inFolder } from './in-folder.js';

export interface Rig {
  readonly cache: CacheStore;
  /** Of the newer generation. */
  readonly environment: Environment;
  /** The cache of a process that has just been started on the same generations. */
  another(): CacheStore;
  /** Opens a further generation, and lets go of the third. */
  rotate(): Promise<void>;
  readonly written: number[];
  readonly clock: TestClock;
  /** A promise of it: what asks waits. */
  hasRoom: boolean | Promise<boolean>;
  /** Calls of a view. */
  readonly calls: string[];
  /** Bytes of each transaction. */
  readonly transactions: number[];
  /** Flips a bit of a record of the newer generation. */
  damage(key: Buffer): Promise<void>;
  /** The first letters of all keys of the newer generation. */
  kinds(): string;
}

/** The cache alone, on a folder and a clock of its own. */
export function withCache(use: (rig: Rig) => Promise<void>): Promise<void> {
  return inFolder(async (folder) => {
    const [calls, written, transactions]: [string[], number[], number[]] = [[], [], []];
    const counted = (view: View): View => ({
      get(key) {
        calls.push('get');
        return view.get(key);
      },
      has(key) {
        calls.push('has');
        return view.has(key);
      },
      stampOf: (key) => view.stampOf(key),
      range(options, onDamaged) {
        calls.push('range');
        return view.range(options, onDamaged);
      },
    });
    const environments: Environment[] = [];
    let tables: readonly [Table, Table?];
    async function rotate(): Promise<void> {
      const path = join(folder, String(environments.length));
      const options = { folder: path, mapBytes: 2 ** 26, durable: false, logger: createTestLog() };
      const environment = await openEnvironment(options);
      environments.unshift(environment);
      const watched = createTable({
        ...environment,
        read: (use) => environment.read((view) => use(counted(view))),
        write(writes) {
          transactions.push(writes.reduce((sum, { value }) => sum + (value?.length ?? 0), 0));
          return environment.write(writes);
        },
      });
      tables = tables === undefined ? [watched] : [watched, tables[0]];
      await environments[2]?.close();
    }
    await rotate();
    const state: { clock: TestClock; hasRoom: boolean | Promise<boolean> } = {
      clock: createStandingClock(),
      hasRoom: true,
    };
    const another = () =>
      createDiskCache({
        generations: () => tables,
        clock: state.clock,
        hasRoom: async () => state.hasRoom,
        onWritten: (bytes) => written.push(bytes),
      });
    const all = { from: Buffer.of(0), to: Buffer.of(0xff) };
    const rig = Object.assign(state, {
      cache: another(),
      another,
      rotate,
      written,
      calls,
      transactions,
      environment: environments[0] as Environment,
      damage: (key: Buffer) => damageRecord(join(folder, String(environments.length - 1)), key),
      kinds: () =>
        rig.environment
          .read((view) => view.range(all).map(({ key }) => String.fromCharCode(key[0] ?? 0)))
          .join(''),
    });
    await use(Object.defineProperty(rig, 'environment', { get: () => environments[0] as Environment }));
    await Promise.all(environments.slice(0, 2).map((one) => one.close()));
  });
}

/** Flips the last bit of a record's value. @param folder of an environment, which stays open */
async function damageRecord(folder: string, key: Buffer): Promise<void> {
  const db = openLmdb<Buffer, Buffer>({
    path: folder,
    noSubdir: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    useVersions: true,
  });
  const found = db.getEntry(key);
  const bytes = Buffer.from(found?.value ?? []);
  bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1;
  await db.put(key, bytes, found?.version ?? 0);
  await db.close();
}

export const idOf = (at: number) => `{s}${at}`;

export function writeOf(at: number, changes: Partial<CacheWrite> = {}): CacheWrite {
  return { id: idOf(at), version: 1, ttlMs: MINUTE, bytes: Buffer.alloc(1000, 'x'), ...changes };
}
