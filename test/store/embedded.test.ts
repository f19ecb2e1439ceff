import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/clock.js';
import { createEmbeddedStore, type ProcessRole } from '../../src/store/embedded/embedded-store.js';
import { describeStore } from './conformance.js';
import type { HarnessOptions, StoreHarness } from './harness.js';
import { createTestLog } from './test-log.js';

describeStore('embedded', openEmbedded);

async function openEmbedded(options: HarnessOptions = {}): Promise<StoreHarness> {
  const dataDir = await mkdtemp(join(tmpdir(), 'dgw-embedded-'));
  let passedMs = 0;
  const clock: Clock = { now: () => 1_700_000_000_000 + passedMs, monotonicMs: () => passedMs };
  const open = (role: ProcessRole) =>
    createEmbeddedStore({
      dataDir,
      cacheMaxBytes: 64 * 1024 * 1024,
      clock,
      logger: createTestLog(),
      role,
      ...options,
    });
  const stores = [await open('first')];
  return {
    store: stores[0] as StoreHarness['store'],
    async another() {
      const store = await open('further');
      stores.push(store);
      return store;
    },
    elapse: async (ms) => {
      passedMs += ms;
    },
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await rm(dataDir, { recursive: true });
    },
  };
}
