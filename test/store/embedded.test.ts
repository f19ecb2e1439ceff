import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createEmbeddedStore } from '../../src/store/embedded/embedded-store.js';
import { createStandingClock } from '../support/test-clock.js';
import { describeStore } from './conformance.js';
import { QUICK_FOLDER } from './embedded/quick-folder.js';
import type { HarnessOptions, StoreHarness } from './harness.js';
import { createTestLog } from './test-log.js';

describeStore('embedded', openEmbedded);

async function openEmbedded(options: HarnessOptions = {}): Promise<StoreHarness> {
  const dataDir = await mkdtemp(join(QUICK_FOLDER, 'dgw-embedded-'));
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
