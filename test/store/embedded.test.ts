import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEmbeddedStore, type ProcessRole } from '../../src/store/embedded/embedded-store.js';
import { createStandingClock } from '../support/test-clock.js';
import { describeStore } from './conformance.js';
import type { HarnessOptions, StoreHarness } from './harness.js';
import { createTestLog } from './test-log.js';

describeStore('embedded', openEmbedded);

async function openEmbedded(options: HarnessOptions = {}): Promise<StoreHarness> {
  const dataDir = await mkdtemp(join(tmpdir(), 'dgw-embedded-'));
  const clock = createStandingClock();
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
    elapse: async (ms) => clock.pass(ms),
    async close() {
      await Promise.all(stores.map((store) => store.close()));
      await rm(dataDir, { recursive: true });
    },
  };
}
