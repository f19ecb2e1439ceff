import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createClock } from '../../../src/lib/clock.js';
import {
  createEmbeddedStore,
  type EmbeddedStoreOptions,
} from '../../../src/store/embedded/embedded-store.js';
import type { Store } from '../../../src/store/port.js';
import { createTestLog, type TestLog } from '../test-log.js';
import { QUICK_FOLDER } from './quick-folder.js';
// Opening a folder again starts a process that looks at it: what uses this is no quick test.
import './child.js';

/** Gives `use` a new folder, which is removed afterwards. */
export async function inFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(QUICK_FOLDER, 'dgw-embedded-'));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Opens the store in a folder, with a log that keeps its lines. */
export async function openIn(
  dataDir: string,
  options: Partial<EmbeddedStoreOptions> = {},
): Promise<Store & { readonly log: TestLog }> {
  const log = createTestLog();
  const clock = createClock();
  const store = await createEmbeddedStore({
    dataDir,
    cacheMaxBytes: 1_000_000,
    clock,
    logger: log,
    ...options,
  });
  return { ...store, log };
}
