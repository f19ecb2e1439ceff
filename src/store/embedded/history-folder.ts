/** The folder of the history: what lies in it cannot be fetched again, so what is damaged is set aside, not deleted. */
import { rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreLog } from '../log.js';
import { checkDataFile } from './data-file.js';
import { refuseForeign } from './data-folder.js';
import { type Environment, openEnvironment } from './environment.js';
import { makeWhole } from './folder.js';

/** Address space, not memory and not disk; the map grows by itself. */
const MAP_BYTES = 4 * 1024 ** 3;

export interface HistoryFolderOptions {
  readonly dataDir: string;
  /** Tells folders set aside apart, epoch milliseconds. */
  readonly nowMs: number;
  readonly logger: StoreLog;
}

export async function openHistoryFolder(options: HistoryFolderOptions): Promise<Environment> {
  const { dataDir, logger } = options;
  const folder = join(dataDir, 'history');
  const open = (path: string) =>
    openEnvironment({ folder: path, mapBytes: MAP_BYTES, durable: true, logger });
  await setDamagedAside(folder, options);
  await makeWhole(folder, async (draft) => (await open(draft)).close());
  return await open(folder);
}

async function setDamagedAside(folder: string, { nowMs, logger }: HistoryFolderOptions): Promise<void> {
  if ((await stat(folder).catch(() => null)) === null) return;
  await refuseForeign(folder, 'all');
  try {
    checkDataFile(join(folder, 'data.mdb'));
  } catch (error) {
    const aside = `${folder}.damaged-${nowMs}`;
    await rename(folder, aside);
    logger.error(
      { err: error, folder, aside },
      'the history on the disk is damaged; it was set aside, and begins anew: what was known before cannot be asked for until the folder is restored from a backup',
    );
  }
}
