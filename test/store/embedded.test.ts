import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/clock.js';
import { createEmbeddedStore } from '../../src/store/embedded/embedded-store.js';
import { describeStore } from './conformance.js';
import type { HarnessOptions, StoreHarness } from './harness.js';
import { createTestLog } from './test-log.js';

describeStore('embedded', openEmbedded);

async function openEmbedded(options: HarnessOptions = {}): Promise<StoreHarness> {
  const dataDir = await mkdtemp(join(tmpdir(), 'dgw-embedded-'));
  let passedMs = 0;
  const clock: Clock = { now: () => 1_700_000_000_000 + passedMs, monotonicMs: () => passedMs };
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
    elapse: async (ms) => {
      passedMs += ms;
    },
    async close() {
      await store.close();
      await rm(dataDir, { recursive: true });
    },
  };
}
