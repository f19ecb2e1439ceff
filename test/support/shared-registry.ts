/** Registries of one or several replicas on one store, closed with the test. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/lib/clock.js';
import { createEmbeddedStore } from '../../src/store/embedded/embedded-store.js';
import type { Store } from '../../src/store/port.js';
import { openRegistry } from '../../src/store/registry/replica.js';
import type { SuccessionRules } from '../../src/store/registry/succession.js';
import { createMemoryServer } from './memory/memory-store.js';
import { createRecordedLog } from './recorded-log.js';
import { createTestClock } from './test-clock.js';

/** An embedded store in a folder of its own. */
export async function openEmbedded(clock: Clock = createTestClock()): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-registry-'));
  const store = await createEmbeddedStore({
    dataDir: folder,
    cacheMaxBytes: 1_000_000,
    clock,
    logger: createRecordedLog().logger,
  });
  onTestFinished(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });
  return store;
}

/** A store that replicas share in memory, as they share a Redis: for what is about no store of its own. */
export async function openInMemory(clock: Clock = createTestClock()): Promise<Store> {
  return createMemoryServer({ clock, logger: createRecordedLog().logger }).handle();
}

/** Any registry with records takes the place of the one known. */
const PLAIN_RULES: SuccessionRules = {
  refuse: (known, found) => (known.size > 0 && found.size === 0 ? 'it holds no records' : null),
  carryOver: () => new Map(),
};

export interface ReplicaOptions {
  readonly clock?: Clock;
  /** So long that no poll comes unless a test wants one. */
  readonly pollMs?: number;
  readonly graceMs?: number;
}

/** A replica's mirror of a store's registry. */
export async function openReplica(store: Store, options: ReplicaOptions = {}) {
  const { clock = createTestClock(), pollMs = 3_600_000, graceMs = 0 } = options;
  const log = createRecordedLog();
  const { logger } = log;
  const registry = await openRegistry({ store, clock, logger, pollMs, graceMs, rules: PLAIN_RULES });
  onTestFinished(() => registry.stop());
  return { registry, store, log, clock };
}

/** A store whose messages never arrive. */
export function withoutBus(store: Store): Store {
  return { ...store, bus: { publish: async () => {}, subscribe: () => () => {} } };
}
