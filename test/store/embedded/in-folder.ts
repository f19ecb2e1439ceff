import { openSync, readFileSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
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

/** Flips a bit of the file at the first byte of each place with this text. */
export function flipBits(file: string, text: string): void {
  const bytes = readFileSync(file);
  const fd = openSync(file, 'r+');
  let found = 0;
  for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 1)) {
    writeSync(fd, Buffer.of((bytes[at] as number) ^ 1), 0, 1, at);
    found += 1;
  }
  expect(found).toBeGreaterThan(0);
}
