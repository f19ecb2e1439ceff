/** The cache of a folder alone, with a look at what it does there. */
import { sweepCache } from '../../../src/store/embedded/cache-folder.js';
import { type Environment, openEnvironment, type View } from '../../../src/store/embedded/environment.js';
import { createLmdbCache } from '../../../src/store/embedded/lmdb-cache.js';
import type { CachePlace, CacheStore, CacheWrite } from '../../../src/store/port.js';
import { createStandingClock, DAY, MINUTE, type TestClock } from '../../support/test-clock.js';
import { createTestLog } from '../test-log.js';
import { inFolder } from './in-folder.js';

export interface Rig {
  readonly cache: CacheStore;
  readonly environment: Environment;
  readonly written: number[];
  readonly clock: TestClock;
  hasRoom: boolean;
  /** Calls of a view. */
  readonly calls: string[];
  /** Bytes of each transaction. */
  readonly transactions: number[];
  sweep(maxBytes?: number): Promise<number>;
  /** The first letters of all keys. */
  kinds(): string;
}

/** The cache alone, on a folder and a clock of its own. */
export function withCache(use: (rig: Rig) => Promise<void>): Promise<void> {
  return inFolder(async (folder) => {
    const logger = createTestLog();
    const environment = await openEnvironment({
      folder,
      mapBytes: 2 ** 26,
      durable: false,
      logger,
    });
    const calls: string[] = [];
    const counted = (view: View): View => ({
      get(key) {
        calls.push('get');
        return view.get(key);
      },
      has(key) {
        calls.push('has');
        return view.has(key);
      },
      range(options, onDamaged) {
        calls.push('range');
        return view.range(options, onDamaged);
      },
    });
    const clock = createStandingClock();
    const rig = { clock, hasRoom: true };
    const written: number[] = [];
    const transactions: number[] = [];
    const watched: Environment = {
      ...environment,
      read: (use) => environment.read((view) => use(counted(view))),
      write(condition, writes) {
        transactions.push(writes.reduce((sum, { value }) => sum + (value?.length ?? 0), 0));
        return environment.write(condition, writes);
      },
    };
    const cache = createLmdbCache({
      environment: watched,
      clock,
      hasRoom: () => rig.hasRoom,
      onWritten: (bytes) => written.push(bytes),
    });
    const all = { from: Buffer.of(0), to: Buffer.of(0xff) };
    await use(
      Object.assign(rig, {
        cache,
        environment,
        written,
        calls,
        transactions,
        sweep: (maxBytes = 2 ** 30) => sweepCache({ environment: watched, maxBytes, clock }),
        kinds: () =>
          environment
            .read((view) => view.range(all).map(({ key }) => String.fromCharCode(key[0] ?? 0)))
            .join(''),
      }),
    );
    await environment.close();
  });
}

export const day = (at: number): CachePlace => {
  const date = new Date(Date.parse('2026-01-01') + at * DAY).toISOString();
  return { series: 's', group: date.slice(0, 7), field: date.slice(8, 10) };
};

export function writeOf(place: CachePlace, changes: Partial<CacheWrite> = {}): CacheWrite {
  const [header, facts] = [Buffer.from('header'), Buffer.from('{"columns":[]}')];
  return { ...place, version: 1, ttlMs: MINUTE, header, body: Buffer.alloc(1000, 'x'), facts, ...changes };
}
