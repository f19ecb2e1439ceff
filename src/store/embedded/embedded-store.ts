import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Clock } from '../../clock.js';
import type { StoreLog } from '../log.js';
import type { Store } from '../port.js';
import { REGISTRY_LIMITS } from '../registry-limits.js';
import { type FolderLock, lockFolder } from './folder-lock.js';
import { syncFolder } from './journal.js';
import { type JournalRegistry, openJournalRegistry } from './journal-registry.js';
import { createLocalBus } from './local-bus.js';
import { createMemoryCache } from './memory-cache.js';
import { createMemoryLeases } from './memory-leases.js';

export interface EmbeddedStoreOptions {
  /** Made when it is not there. Holds the registry, and belongs to one process at a time. */
  readonly dataDir: string;
  readonly cacheMaxBytes: number;
  readonly clock: Clock;
  readonly logger: StoreLog;
  readonly auditMax?: number;
  readonly tombstonesMax?: number;
}

/**
 * The store of a gateway that is one process: the registry on the disk, all else in memory.
 *
 * @throws StoreRefused when another process uses the folder, or the registry in it is damaged.
 */
export async function createEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const { cacheMaxBytes, clock, logger } = options;
  const folder = resolve(options.dataDir);
  await makeFolder(folder, logger);
  const lock = await lockFolder(folder, { logger });
  const registry = await openRegistry(folder, lock, options);

  return {
    kind: 'embedded',
    cache: createMemoryCache(cacheMaxBytes, clock),
    leases: createMemoryLeases(clock),
    registry,
    bus: createLocalBus(logger),
    health: registry.health,
    async close() {
      await registry.close();
      await lock.release();
    },
  };
}

async function openRegistry(
  folder: string,
  lock: FolderLock,
  { logger, auditMax, tombstonesMax }: EmbeddedStoreOptions,
): Promise<JournalRegistry> {
  const limits = {
    auditMax: auditMax ?? REGISTRY_LIMITS.auditMax,
    tombstonesMax: tombstonesMax ?? REGISTRY_LIMITS.tombstonesMax,
  };
  try {
    return await openJournalRegistry({ folder, lock, limits, logger });
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function makeFolder(folder: string, logger: StoreLog): Promise<void> {
  const created = await mkdir(folder, { recursive: true, mode: 0o700 });
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
