/** Secrets generated with the embedded store: files of the data folder, readable only by their owner. */
import { closeSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { randomBuffer } from '../../lib/chance.js';

/**
 * Reads a secret from a file of an existing folder, or generates it.
 * @throws the system's error
 */
export function localSecret(
  folder: string,
  name: string,
  make: () => string,
): { readonly value: string; readonly path: string; readonly created: boolean } {
  const path = join(folder, name);
  const known = readIfThere(path);
  if (known !== null) return { value: known, path, created: false };
  const value = make();
  const draft = `${path}.${randomBuffer(6).toString('hex')}`;
  try {
    writeFileSync(draft, `${value}\n`, { flag: 'wx', mode: 0o600, flush: true });
    // A link replaces no file: of two processes that start together, one secret stays.
    linkSync(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return { value: readFileSync(path, 'utf8').trim(), path, created: false };
  } finally {
    rmSync(draft, { force: true });
  }
  syncFolder(folder);
  return { value, path, created: true };
}

function readIfThere(path: string): string | null {
  try {
    const value = readFileSync(path, 'utf8').trim();
    // Not generated again: everything sealed under it would be lost.
    if (value === '') throw new Error(`the file ${path} is empty`);
    return value;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
