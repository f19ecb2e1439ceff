import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../../clock.js';
import type { StoreLog } from '../log.js';
import type { Store } from '../port.js';
import { StoreRefused } from '../refused.js';
import { REGISTRY_LIMITS } from '../registry-limits.js';
import { openFileNotes } from './file-notes.js';
import { type FolderLock, lockFolder } from './folder-lock.js';
import { syncFolder } from './journal.js';
import { openJournalRegistry } from './journal-registry.js';
import { openJournalTallies } from './journal-tallies.js';
import { createLocalBus } from './local-bus.js';
import { createMemoryCache } from './memory-cache.js';
import { createMemoryLeases } from './memory-leases.js';
import { createMemoryPresence } from './memory-presence.js';
import { createMemoryQuotas } from './memory-quotas.js';
import { createRealTime } from './real-time.js';

export interface EmbeddedStoreOptions {
  /** Made when it is not there. Holds all that is durable, and belongs to one process at a time. */
  readonly dataDir: string;
  readonly cacheMaxBytes: number;
  readonly clock: Clock;
  readonly logger: StoreLog;
  readonly auditMax?: number;
  readonly tombstonesMax?: number;
}

/**
 * The store of a gateway that is one process: registry, tallies and notes on the disk, all else in memory.
 *
 * @throws StoreRefused when another process uses the folder, or what lies in it is damaged.
 */
export async function createEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const { cacheMaxBytes, clock, logger } = options;
  const folder = resolve(options.dataDir);
  await makeFolder(folder, logger);
  const lock = await lockFolder(folder, { logger });
  const { registry, tallies, notes, close } = await openFiles(folder, lock, options);

  return {
    kind: 'embedded',
    cache: createMemoryCache(cacheMaxBytes, clock),
    leases: createMemoryLeases(clock),
    registry,
    tallies,
    notes,
    quotas: createMemoryQuotas(clock),
    presence: createMemoryPresence(clock),
    bus: createLocalBus(logger),
    health: () =>
      [registry, tallies, notes].map(({ health }) => health()).find(({ ok }) => !ok) ?? { ok: true },
    close,
  };
}

/** Opens all that lies in the folder, and gives up the folder when any of it cannot be opened. */
async function openFiles(folder: string, lock: FolderLock, options: EmbeddedStoreOptions) {
  const { clock, logger, auditMax, tombstonesMax } = options;
  const limits = {
    auditMax: auditMax ?? REGISTRY_LIMITS.auditMax,
    tombstonesMax: tombstonesMax ?? REGISTRY_LIMITS.tombstonesMax,
  };
  const realTime = createRealTime(clock);
  const opened: { close(): Promise<void> }[] = [];
  const keep = <T extends { close(): Promise<void> }>(part: T): T => {
    opened.push(part);
    return part;
  };
  async function close(): Promise<void> {
    await Promise.all(opened.map((part) => part.close()));
    await lock.release();
  }
  try {
    const registry = keep(await openJournalRegistry({ folder, lock, limits, logger }));
    const tallies = keep(await openJournalTallies({ folder, lock, logger, realTime }));
    const notes = keep(await openFileNotes({ folder, lock, logger, realTime }));
    return { registry, tallies, notes, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Makes a folder and what is missing above it. Not with `recursive`, which never ends where nothing can be made, as
 * in /proc.
 * @returns the topmost folder that was made, or undefined when it was there
 */
async function makeFolders(folder: string): Promise<string | undefined> {
  try {
    await mkdir(folder, { mode: 0o700 });
    return folder;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(folder)).isDirectory()) return undefined;
    if (code !== 'ENOENT' || dirname(folder) === folder) throw error;
  }
  const above = await makeFolders(dirname(folder));
  await mkdir(folder, { mode: 0o700 });
  return above ?? folder;
}

async function makeFolder(folder: string, logger: StoreLog): Promise<void> {
  const created = await makeFolders(folder).catch((error: NodeJS.ErrnoException) => {
    throw new StoreRefused(
      `GATEWAY_DATA_DIR: was ${JSON.stringify(folder)}; allowed is a folder that is there or can be made (${error.code})`,
    );
  });
  if (created !== undefined) {
    for (let made = folder; made.length >= created.length; made = dirname(made))
      await syncFolder(dirname(made));
    return;
  }
  const mode = (await stat(folder)).mode & 0o777;
  if ((mode & 0o077) === 0) return;
  // Not ours to change: it may be a mount, or serve others too. What we put there only we can read.
  logger.warn(
    { folder, mode: mode.toString(8) },
    'the data folder is open to other users; mode 700 is safer',
  );
}
