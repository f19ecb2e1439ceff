/** Folders of durable environments: created whole, and checked before lmdb opens them. */
import { type ExecFileException, execFile } from 'node:child_process';
import { rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Type from 'typebox';
import { PACKAGE_ROOT } from '../../lib/package-root.js';
import { type StoreLog, StoreRefused } from '../refused.js';
import { checkDataFile, checkMeta } from './data-file.js';
import { makeWhole, refuseForeign } from './data-folder.js';
import { type Environment, type EnvironmentOptions, openEnvironment } from './environment.js';
import { fromBytes, toBytes } from './records.js';

/** Address space, not memory and not disk. */
const MAP_BYTES = 4 * 1024 ** 3;
const SCHEMA_VERSION = 1;
const SCHEMA = Buffer.from('S');
const Schema = Type.Object({ version: Type.Integer() });

/** A separate process needs the build, even in tests, which run the sources. */
const scriptOf = (name: string) => fileURLToPath(new URL(`dist/store/embedded/${name}`, PACKAGE_ROOT));

export const stateFolder = (dataDir: string) => join(dataDir, 'state');

/** @returns whether it was created */
export async function makeState(dataDir: string, logger: StoreLog): Promise<boolean> {
  const folder = stateFolder(dataDir);
  return await makeWhole(folder, async (draft) => {
    const environment = await openState(draft, { logger });
    await environment.write([{ key: SCHEMA, value: toBytes({ version: SCHEMA_VERSION }) }]);
    await environment.close();
  });
}

/**
 * @param advice what to do if the environment is damaged
 * @param look arguments of the Node process that checks it
 * @throws StoreRefused naming the file
 */
export async function refuseDamage(
  folder: string,
  advice: string,
  look: readonly string[] = [scriptOf('check-state.js'), folder],
): Promise<void> {
  const path = join(folder, 'data.mdb');
  const damaged = (why: string) => new StoreRefused(`${path} is damaged: ${why}. ${advice}`);
  try {
    checkMeta(path);
    await promisify(execFile)(process.execPath, look);
  } catch (error) {
    const { message, signal, code, stdout } = error as Error & Partial<ExecFileException>;
    // The process ended by a signal, printed what is wrong, or did not start.
    if (typeof signal === 'string') throw damaged(`looking at it ended by ${signal}`);
    throw damaged(code === 1 && stdout ? stdout : message);
  }
}

export async function openState(
  folder: string,
  options: Pick<EnvironmentOptions, 'logger' | 'held' | 'readOnly'>,
): Promise<Environment> {
  return await openEnvironment({ folder, mapBytes: MAP_BYTES, durable: true, ...options });
}

/** @throws StoreRefused if another release has written it */
export function refuseOtherSchema(folder: string, environment: Environment): void {
  const found = environment.read((view) => view.get(SCHEMA));
  const version = fromBytes(Schema, found)?.version;
  if (version === SCHEMA_VERSION) return;
  throw new StoreRefused(
    `${folder} was written by another release (form ${version ?? 'unknown'}; this one reads ${SCHEMA_VERSION}): use that release, or another GATEWAY_DATA_DIR`,
  );
}

/**
 * Opens the history, which cannot be fetched again: a damaged folder is set aside, not deleted.
 * @param nowMs distinguishes folders set aside, epoch milliseconds
 */
export async function openHistoryFolder(
  dataDir: string,
  nowMs: number,
  logger: StoreLog,
): Promise<Environment> {
  const folder = join(dataDir, 'history');
  if ((await stat(folder).catch(() => null)) !== null) {
    await refuseForeign(folder, 'all');
    try {
      checkDataFile(join(folder, 'data.mdb'));
    } catch (error) {
      const aside = `${folder}.damaged-${nowMs}`;
      await rename(folder, aside);
      logger.error({ err: error, folder, aside }, HISTORY_DAMAGED);
    }
  }
  await makeWhole(folder, async (draft) => (await openState(draft, { logger })).close());
  return await openState(folder, { logger });
}

const HISTORY_DAMAGED =
  'the history on the disk is damaged; it was set aside, and a new one started: earlier days are not available until the folder is restored from a backup';
