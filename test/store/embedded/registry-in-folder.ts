import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lockFolder } from '../../../src/store/embedded/folder-lock.js';
import type { OpenFile } from '../../../src/store/embedded/journal.js';
import { type JournalRegistry, openJournalRegistry } from '../../../src/store/embedded/journal-registry.js';
import type { RegistrySnapshot } from '../../../src/store/port.js';
import { REGISTRY_LIMITS } from '../../../src/store/registry-limits.js';
import { createTestLog, type TestLog } from '../test-log.js';

export interface OpenedRegistry {
  readonly registry: JournalRegistry;
  readonly log: TestLog;
  close(): Promise<void>;
}

/** Opens the registry in a folder as the embedded store does, with knobs that it does not have. */
export async function openRegistryIn(
  folder: string,
  knobs: { open?: OpenFile; rewriteAfterBytes?: number } = {},
): Promise<OpenedRegistry> {
  const log = createTestLog();
  const lock = await lockFolder(folder, { logger: log });
  try {
    const registry = await openJournalRegistry({
      folder,
      lock,
      limits: REGISTRY_LIMITS,
      logger: log,
      ...knobs,
    });
    return {
      registry,
      log,
      async close() {
        await registry.close();
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

export async function inFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'dgw-folder-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

export const JOURNAL = 'registry.journal';

/** What the next process finds in the folder. */
export async function contents(folder: string): Promise<{ snapshot: RegistrySnapshot; audit: string[] }> {
  const { registry, close } = await openRegistryIn(folder);
  const snapshot = await registry.load();
  const audit = (await registry.readAudit(10_000)).map(({ text }) => text);
  await close();
  return { snapshot, audit };
}
