/** The folder of the history: what lies in it cannot be fetched again, so what is damaged is set aside, not deleted. */
import { rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoreLog } from '../log.js';
import { checkDataFile } from './data-file.js';
import { refuseForeign } from './data-folder.js';
import { type Environment, openEnvironment } from './environment.js';
import { makeWhole } from './folder.js';
import { type Gate, NO_GATE } from './gate.js';

/** Address space, not memory and not disk; the map grows by itself. */
const MAP_BYTES = 4 * 1024 ** 3;

export interface HistoryFolderOptions {
  readonly dataDir: string;
  /** Whether this process opens it before all others, and may set aside what is damaged. */
  readonly isFirst: boolean;
  /** Tells folders set aside apart, epoch milliseconds. */
  readonly nowMs: number;
  readonly gate: Gate;
  readonly logger: StoreLog;
}

export async function openHistoryFolder(options: HistoryFolderOptions): Promise<Environment> {
  const { dataDir, isFirst, gate, logger } = options;
  const folder = join(dataDir, 'history');
  if (isFirst) {
    await setDamagedAside(folder, options);
    await makeWhole(folder, async (draft) => {
      const environment = await openHistory(draft, NO_GATE, logger);
      await environment.close();
    });
  }
  return await openHistory(folder, gate, logger);
}

const openHistory = (folder: string, gate: Gate, logger: StoreLog) =>
  openEnvironment({ folder, mapBytes: MAP_BYTES, durable: true, gate, logger });

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
