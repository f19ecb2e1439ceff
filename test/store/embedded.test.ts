import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmbeddedStore } from '../../src/store/embedded/embedded-store.js';
import { createStandingClock } from '../support/test-clock.js';
import { describeStore } from './conformance.js';
import type { HarnessOptions, StoreHarness } from './harness.js';
import { createTestLog } from './test-log.js';

/** What is promised is held against lmdb without waiting for a disk, which other tests of it do. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

describeStore('embedded', openEmbedded);

async function openEmbedded(options: HarnessOptions = {}): Promise<StoreHarness> {
  const dataDir = await mkdtemp(join(FOLDER, 'dgw-embedded-'));
  const clock = createStandingClock();
  const store = await createEmbeddedStore({
    dataDir,
    cacheMaxBytes: 64 * 1024 * 1024,
    clock,
    logger: createTestLog(),
    ...options,
  });
  return {
    store,
    another: async () => store,
    elapse: async (ms) => clock.pass(ms),
    async close() {
      await store.close();
      await rm(dataDir, { recursive: true });
    },
  };
}
